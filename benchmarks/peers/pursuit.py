"""Matching pursuit, beside scikit-learn's and an exact one."""

import numpy as np
import sklearn
from sklearn.linear_model import OrthogonalMatchingPursuit

from sklearn_bandit.datasets import make_simple_song
from sklearn_bandit.linear_model import BanditMatchingPursuit

from ..harness import Comparison, benchmark


@benchmark("mips.song")
def song(options):
    """Matching pursuit on SimpleSong of one, two and eight minutes (0.5 to 4 GB)."""
    for minutes in (1, 2, 8):
        if options.wants(f"{minutes} min"):
            yield from song_race(minutes)


def song_race(minutes):
    """Yield the comparison for one length of the song."""
    X, y, _ = make_simple_song(interval=30.0 * minutes)

    def exact(seed):
        residual, support = y.copy(), []
        for _ in range(5):
            products = X.T @ residual
            best = int(np.abs(products).argmax())
            atom = X[:, best]
            residual -= products[best] / (atom @ atom) * atom
            support.append(best)
        return support

    truth = exact(0)

    def pursue(**parameters):
        def run(seed):
            pursuit = BanditMatchingPursuit(
                n_nonzero_coefs=5,
                fit_intercept=False,
                random_state=seed,
                **parameters,
            )
            return list(pursuit.fit(X, y).support_)

        return run

    def scikit_learn(seed):
        pursuit = OrthogonalMatchingPursuit(n_nonzero_coefs=5, fit_intercept=False)
        strengths = -np.abs(pursuit.fit(X, y).coef_)
        return list(np.argsort(strengths, kind="stable")[:5])

    settings = {
        "matching pursuit": ({"orthogonal": False}, {"exact matching pursuit": 5.0}),
        "orthogonal matching pursuit": ({}, {"scikit-learn's OMP": 50.0}),
        "matching pursuit, sampled coefficients": (
            {"orthogonal": False, "coef": "sampled"},
            {"exact matching pursuit": 50.0},
        ),
    }
    for name, (parameters, goals) in settings.items():
        ours_by_default = pursue(**parameters)
        contenders = {
            f"sklearn-bandit, {name}": ours_by_default,
            "the same, assume_finite": finite_assumed(ours_by_default),
            "exact matching pursuit": exact,
        }
        # Eight minutes would take scikit-learn most of a minute and 4 GB more.
        if "scikit-learn's OMP" in goals and minutes == 1:
            contenders["scikit-learn's OMP"] = scikit_learn
        yield Comparison(
            title=f"SimpleSong, {minutes} min, 48 notes: {name}",
            contenders=contenders,
            quality={"same notes in the same order": lambda found: found == truth},
            goals=goals,
            rounds=3,
        )


def finite_assumed(run):
    """Return a contender that need not look for NaN and infinity."""

    def run_so(seed):
        with sklearn.config_context(assume_finite=True):
            return run(seed)

    return run_so
