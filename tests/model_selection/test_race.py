"""Races: who is dropped, and when."""

import numpy as np
import pytest

from sklearn_bandit._core.contributions import Contributions
from sklearn_bandit.model_selection._race import Race

K = 10


def run(losses, order=None, largest=np.nan, samples=True, **options):
    """Race on losses of shape (candidates, folds, samples)."""
    n_candidates, n_folds, _ = losses.shape
    options = {"delta": 0.05, "tol": 0.0, "min_folds": 1} | options
    race = Race(n_candidates, n_folds, **options)
    for fold in range(n_folds) if order is None else order:
        for i in np.flatnonzero(race.is_survivor):
            values = -losses[i, fold]
            parts = Contributions(values, largest) if samples else None
            race.add(i, fold, values.mean(), parts)
        race.eliminate()
    return race


def searches(n, seed, spread=0.1, fold_effect=0.0, size=40, n_candidates=12):
    """Yield losses: samples in common, effects of folds, candidates of two kinds."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        means = rng.normal(0, spread, size=(n_candidates, 1, 1))
        common = rng.gamma(1, size=(1, K, size))
        folds = fold_effect * rng.normal(size=(n_candidates, K, 1))
        yield means + common + folds + 0.5 * rng.normal(size=(n_candidates, K, size))


each_way = pytest.mark.parametrize("samples", [True, False], ids=["samples", "folds"])


@each_way
@pytest.mark.parametrize("fold_effect", [0.0, 0.05])
def test_the_best_survives(samples, fold_effect):
    failures = n_fits = 0
    for losses in searches(100, seed=0, fold_effect=fold_effect):
        race = run(losses, samples=samples)
        failures += race.winner() != losses.mean(axis=(1, 2)).argmin()
        n_fits += race.is_done.sum()
    assert failures <= 0.05 * 100
    assert n_fits < (0.6 if samples else 0.8) * 100 * 12 * K


@each_way
@pytest.mark.parametrize("fold_effect", [0.0, 0.1, 0.3])
def test_within_one_standard_error(samples, fold_effect):
    """Also where folds vary by three and fifteen times what their samples say."""
    failures = n_fits = 0
    for losses in searches(100, seed=1, spread=0.05, fold_effect=fold_effect):
        min_folds = 3 if fold_effect else 1
        race = run(losses, samples=samples, tol="one_se", min_folds=min_folds)
        means = losses.mean(axis=2)
        best = means.mean(axis=1).argmin()
        error = means[best].std(ddof=1) / np.sqrt(K)
        lost = means[race.winner()].mean() - means[best].mean()
        failures += lost > error
        n_fits += race.is_done.sum()
    assert failures <= 0.05 * 100
    assert n_fits < 0.9 * 100 * 12 * K


def rare_losses(seed):
    """The first candidate looks better until one of its rare losses shows."""
    rng = np.random.default_rng(seed)
    losses = 0.3 + 0.02 * rng.normal(size=(2, K, 60))
    losses[0] -= 0.02
    losses[0][rng.random((K, 60)) < 0.004] += 36.0
    return losses


def test_rare_losses_that_are_known_to_exist():
    wrong = {np.nan: 0, 36.0: 0}
    for seed in range(50):
        losses = rare_losses(seed)
        best = losses.mean(axis=(1, 2)).argmin()
        for largest in wrong:
            wrong[largest] += run(losses, largest=largest).winner() != best
    assert wrong[36.0] <= 2
    assert wrong[np.nan] > 10  # nothing can be done without


def test_tolerances_do_not_add_up():
    """Each candidate is .9 of the tolerance better than the one before."""
    rng = np.random.default_rng(0)
    steps = -0.09 * np.arange(6)[:, None, None]
    noise = 1e-4 * rng.normal(size=(6, K, 50))
    # The candidates lead one after the other, the worst ones first.
    drift = np.zeros((6, K, 1))
    for i in range(6):
        drift[i, : i + 1] = 0.5
        drift[i] -= drift[i].mean()
    losses = steps + noise + drift
    race = run(losses, tol=0.1)
    means = losses.mean(axis=(1, 2))
    assert means[race.winner()] - means.min() <= 0.1


def test_ties_are_never_dropped_without_a_tolerance():
    losses = np.repeat(np.random.default_rng(0).random((1, K, 30)), 3, axis=0)
    race = run(losses)
    assert race.is_survivor.all()
    assert race.winner() == 0


def test_folds_all_alike():
    """Differences without variance: one more could still turn the tables, or not."""
    losses = np.zeros((2, K, 1))
    losses[1] = 1.0
    race = run(losses, samples=False)
    assert race.winner() == 0
    assert 3 < race.is_done[1].sum() < K


def test_failed_candidates_fall():
    losses = np.random.default_rng(0).random((3, K, 30))
    losses[1, 2] = np.nan
    race = run(losses)
    assert not race.is_survivor[1]
    assert race.is_done[1].sum() == 3


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"min_folds": K}])
def test_nothing_is_dropped(options):
    losses = np.random.default_rng(0).random((3, K, 30))
    losses[1] += 10
    assert run(losses, **options).is_done.all()


def test_unequal_folds_count_alike():
    """The mean of fold scores decides, as in scikit-learn, not that of samples."""
    race = Race(2, 2, delta=0.05, tol=0.0, min_folds=1)
    for fold, size in enumerate((1000, 2)):
        for i in range(2):
            values = -np.full(size, float(i if fold == 0 else 1.5 * (1 - i)))
            race.add(i, fold, values.mean(), Contributions(values, np.nan))
        race.eliminate()
    assert race.winner() == 1


def test_neighbours_that_are_alike_widen_the_radius():
    """One fold in the order of time says less than one of shuffled samples."""
    rng = np.random.default_rng(0)
    n_left = {}
    for order in ("time", "shuffled"):
        n_left[order] = 0
        for _ in range(20):
            losses = np.repeat(rng.normal(size=(8, 2, 10)), 20, axis=2)
            losses += np.linspace(0, 2, 8)[:, None, None]
            if order == "shuffled":
                losses = rng.permuted(losses, axis=2)
            race = run(losses[:, :1].repeat(2, axis=1), order=[0])
            n_left[order] += np.count_nonzero(race.is_survivor)
    assert n_left["time"] > 1.5 * n_left["shuffled"]
