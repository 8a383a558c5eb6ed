"""Ctrl-C in the middle of a fit: soon seen, and as if the fit had not been called."""

import os
import signal
import time
from copy import copy

import numpy as np
import pytest
from fault_families import FAMILIES, answer, make_data, make_family
from fork_models import make_divided_tree, make_swaps

from sklearn_bandit.ensemble._boosting._data import bin_mapper
from sklearn_bandit.tree._building import subtrees

# Rows and features that keep two cores busy for some seconds.
LARGE = {
    "tree": (600_000, 10),
    "tree, absolute error": (150_000, 10),
    "tree, best first": (300_000, 10),
    "forest": (200_000, 12),
    "extra trees": (300_000, 12),
    "patches": (200_000, 12),
    "boosting": (300_000, 12),
    "boosting, samples": (500_000, 12),
    "k-medoids": (15_000, 100),
    "k-medoids, exact": (12_000, 100),
    "neighbors": (40_000, 100),
    "pursuit": (50_000, 300),
}

# Work that is seldom asked for, so that no fit is over before it is interrupted.
LONGER = {
    "tree": {"solver": "exact"},
    "forest": {"n_estimators": 500},
    "extra trees": {"n_estimators": 500},
    "patches": {"n_estimators": 500},
    "boosting": {"max_iter": 1000},
    "boosting, samples": {"max_iter": 2000},
    "k-medoids": {"n_clusters": 40},
    "k-medoids, exact": {"n_clusters": 40},
    "pursuit": {"n_nonzero_coefs": 300, "delta": 0.0},
}

MOST_CPU_SECONDS = 2.0

# Until which an interrupt must have come.
MOST_SECONDS = 60.0


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "search"])
def test_a_fit_is_interrupted(family, interrupt):
    model = make_family(family)
    X, y = make_data(family, 100, 5)
    model.fit(X, y)
    said = answer(model, X)
    parameters = model.get_params()
    before = vars(model).copy()
    more_X, more_y = make_data(family, *LARGE[family])
    model.set_params(**LONGER.get(family, {}))
    rng = np.random.default_rng(os.getpid())
    attempts = []

    def fit_again_and_again():
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            # A copy: an attempt that ends before the interrupt changes what it fits.
            attempts.append(copy(model))
            attempts[-1].fit(more_X, more_y)

    interrupt.send_after(rng.uniform(0.02, 1.2))
    with pytest.raises(KeyboardInterrupt):
        fit_again_and_again()
    assert interrupt.cpu_seconds < MOST_CPU_SECONDS
    model = attempts[-1].set_params(**parameters)
    after = vars(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before), "attributes changed"
    np.testing.assert_array_equal(answer(model, X), said)


@pytest.mark.parametrize(
    ("family", "n_features", "n_queries"),
    [("search", 2_500, 4_000), ("neighbors", 300, 20_000)],
)
def test_queries_are_interrupted(family, n_features, n_queries, interrupt):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((2_000, n_features), dtype=np.float32)
    model = make_family(family).fit(atoms)
    said = answer(model, atoms)
    queries = rng.standard_normal((n_queries, n_features), dtype=np.float32)

    def ask_again_and_again():
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            model.kneighbors(queries)

    interrupt.send_after(rng.uniform(0.05, 0.5))
    with pytest.raises(KeyboardInterrupt):
        ask_again_and_again()
    assert interrupt.cpu_seconds < MOST_CPU_SECONDS
    np.testing.assert_array_equal(answer(model, atoms), said)


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("forest", {"n_estimators": 50}),
        ("forest", {"n_estimators": 50, "predict_delta": 0.001}),
        ("boosting", {"max_iter": 50}),
    ],
)
def test_predictions_are_interrupted(family, parameters, interrupt):
    X, y = make_data(family, 5_000, 12)
    model = make_family(family).set_params(**parameters).fit(X, y)
    said = answer(model, X)
    rows = np.tile(X, (200, 1))

    def predict_again_and_again():
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            model.predict(rows)

    interrupt.send_after(np.random.default_rng(os.getpid()).uniform(0.05, 0.5))
    with pytest.raises(KeyboardInterrupt):
        predict_again_and_again()
    assert interrupt.cpu_seconds < MOST_CPU_SECONDS
    np.testing.assert_array_equal(answer(model, X), said)


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_subtrees_that_take_histograms_over_are_interrupted(
    n_calls, interrupt, monkeypatch
):
    """Ctrl-C comes when the leaves of a part are to become subtrees."""
    model, X, y = make_divided_tree()
    said = model.fit(X, y).predict_proba(X)
    before = vars(model).copy()
    divide = subtrees.divide
    kept = []

    def divide_and_interrupt(estimator, subtree, max_rows, sets):
        kept.append(len(sets))
        if len(kept) == n_calls:
            os.kill(os.getpid(), signal.SIGINT)
        divide(estimator, subtree, max_rows, sets)

    with monkeypatch.context() as patch:
        patch.setattr(subtrees, "divide", divide_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert kept[n_calls - 1] > 0
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), said)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binning_is_interrupted(dtype, interrupt):
    X = np.random.default_rng(0).standard_normal((100_000, 40)).astype(dtype)
    untouched = X.copy()

    def find_bins():
        return bin_mapper.fit_bin_mapper(
            X,
            None,
            max_bins=255,
            is_categorical=None,
            known_categories=None,
            n_threads=2,
        ).bin_thresholds_

    def find_again_and_again():
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            find_bins()

    found = find_bins()
    interrupt.send_after(np.random.default_rng(os.getpid()).uniform(0.02, 0.2))
    with pytest.raises(KeyboardInterrupt):
        find_again_and_again()
    assert interrupt.cpu_seconds < MOST_CPU_SECONDS
    np.testing.assert_array_equal(X, untouched)
    np.testing.assert_array_equal(find_bins(), found)


def test_swaps_on_a_sample_are_interrupted(interrupt):
    swaps, medoids, arms = make_swaps()
    before = vars(swaps).copy()
    said = swaps.changes(medoids, arms, 1_024)
    chosen = swaps.descend(medoids, arms[:500], 0.0)

    def swap_again_and_again():
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            swaps.changes(medoids, arms, 3_000)
            swaps.descend(medoids, arms, 0.0)

    interrupt.send_after(np.random.default_rng(os.getpid()).uniform(0.02, 0.5))
    with pytest.raises(KeyboardInterrupt):
        swap_again_and_again()
    assert interrupt.cpu_seconds < MOST_CPU_SECONDS
    assert all(vars(swaps)[name] is before[name] for name in before)
    np.testing.assert_array_equal(swaps.changes(medoids, arms, 1_024), said)
    np.testing.assert_array_equal(swaps.descend(medoids, arms[:500], 0.0), chosen)
