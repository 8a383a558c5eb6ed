"""Section 5.2: whether MABSplit works better with missing values.

The thesis expects so of data where most features are dropped early, and measured
nothing. Values are taken away at random: from all features, or from those alone that
matter least, so that what a sample has to find out stays.
"""

import numpy as np

from sklearn_bandit import tree

from ..harness import Table, benchmark
from ..peers.forest import split
from ._summary import mean_and_error

N_ROWS = 200_000
DEPTH = 8
COLUMNS = ["missing in", "share", "insertions, exact", "mab", "times fewer"]
COLUMNS += ["accuracy, exact", "mab"]
SHARES = (0.0, 0.25, 0.5, 0.75)


def without(X, share, features, seed):
    """Return X with a share of the values of some features missing."""
    X = X.astype(np.float32)
    rng = np.random.default_rng(seed)
    for feature in features:
        X[rng.random(len(X)) < share, feature] = np.nan
    return X


@benchmark("thesis.forest.missing", data=["covtype"])
def missing(options):
    """Section 5.2: insertions of trees on data with missing values."""
    X, X_test, y, y_test = split("covtype")
    X, y = X[:N_ROWS], y[:N_ROWS]
    full = tree.DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X, y)
    by_importance = np.argsort(full.feature_importances_)
    groups = {
        "all features": np.arange(X.shape[1]),
        "the less important half": by_importance[: X.shape[1] // 2],
    }
    rows = []
    for group, features in groups.items():
        for share in SHARES:
            if share == 0.0 and group != "all features":
                continue
            found = {"exact": [], "mab": []}
            for seed in range(options.rounds or 3):
                part = without(X, share, features, seed)
                unseen = without(X_test, share, features, seed + 1000)
                for solver, answers in found.items():
                    model = tree.DecisionTreeClassifier(
                        max_depth=DEPTH, solver=solver, random_state=seed
                    ).fit(part, y)
                    answers.append((model.n_insertions_, model.score(unseen, y_test)))
            (exact, accuracy), (mab, mab_accuracy) = (
                np.array(answers).T for answers in found.values()
            )
            rows.append([group if share else "none", share])
            rows[-1] += [f"{np.mean(exact):.3g}", f"{np.mean(mab):.3g}"]
            rows[-1].append(float(np.mean(exact / mab)))
            rows[-1] += [mean_and_error(accuracy), mean_and_error(mab_accuracy)]
    yield Table(
        f"Section 5.2: one tree of depth {DEPTH}, covertype ({N_ROWS:,} x "
        f"{X.shape[1]}), values missing at random",
        COLUMNS,
        rows,
        note="Thesis: MABSplit is expected to work better with missing values; nothing "
        "was measured.",
    )
