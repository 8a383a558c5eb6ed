"""The engine itself: what pairing, growth and the fall-back are worth."""

import numpy as np
from sklearn.metrics import pairwise_distances

from sklearn_bandit.bandit import best_arm

from .data import load
from .harness import Comparison, Table, benchmark

N_POINTS = 10_000


def medoid_problem(points):
    """The 1-medoid problem: arms are points, costs are distances."""

    def distances(arms, references):
        return pairwise_distances(points[arms], points[references])

    return distances


@benchmark("engine.radii", data=["mnist"])
def radii(options):
    """Pulls that each radius needs to find the medoid of MNIST digits."""
    points = load("mnist").X_train[:N_POINTS].astype(np.float32) / 255
    pull = medoid_problem(points)
    truth = best_arm(pull, N_POINTS, N_POINTS, delta=0).best[0]
    rows = []
    for radius in ("paired", "normal", "bernstein", "hoeffding"):
        results = [
            best_arm(
                pull,
                N_POINTS,
                N_POINTS,
                radius=radius,
                cost_range=28.0,
                random_state=seed,
            )
            for seed in range(options.rounds or 3)
        ]
        pulls = np.mean([result.n_pulls for result in results])
        right = np.mean([result.best[0] == truth for result in results])
        rows.append([radius, pulls / N_POINTS**2, float(right)])
    yield Table(
        title=f"medoid of {N_POINTS:,} MNIST digits, delta = 0.01",
        columns=["radius", "share of all distances", "share of right answers"],
        rows=rows,
    )


@benchmark("engine.medoid", data=["mnist"])
def medoid(options):
    """best_arm against the full distance matrix."""
    points = load("mnist").X_train[:N_POINTS].astype(np.float32) / 255
    pull = medoid_problem(points)
    yield Comparison(
        title=f"medoid of {N_POINTS:,} MNIST digits, distances by scikit-learn",
        contenders={
            "best_arm": lambda seed: best_arm(
                pull, N_POINTS, N_POINTS, random_state=seed
            ).best[0],
            "full matrix": lambda seed: pairwise_distances(points).sum(axis=0).argmin(),
        },
        quality={"medoid": int},
        rounds=3,
    )
