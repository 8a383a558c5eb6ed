"""
============================
The best forest for a budget
============================

When computation is limited, cheaper splits mean more trees. ``max_insertions`` fixes
the number of histogram insertions for a whole forest; trees are grown until it is used
up. More trees mean a better forest, and a more stable answer to which features matter.
"""

# %%
# Twenty of sixty features matter, some of them little. With a budget that pays for a
# few exact trees, the bandit grows more of them.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_regression
from sklearn.model_selection import train_test_split

from sklearn_bandit.ensemble import RandomForestRegressor
from sklearn_bandit.inspection import feature_selection_stability, select_largest

X, y = make_regression(
    n_samples=60_000, n_features=60, n_informative=20, noise=100.0, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

budgets = [5_000_000, 10_000_000, 20_000_000]
n_runs = 5
trees, scores, stability = {}, {}, {}
for solver in ("exact", "mab"):
    for budget in budgets:
        forests = [
            RandomForestRegressor(
                n_estimators=100,
                max_depth=5,
                max_features=20,
                solver=solver,
                max_insertions=budget,
                random_state=seed,
            ).fit(X_train, y_train)
            for seed in range(n_runs)
        ]
        trees[solver, budget] = np.mean([len(f.estimators_) for f in forests])
        scores[solver, budget] = np.mean([f.score(X_test, y_test) for f in forests])
        importances = [f.feature_importances_ for f in forests]
        selected = select_largest(importances, 10)
        stability[solver, budget] = feature_selection_stability(selected).stability
        print(
            f"{solver:5} {budget:12,} insertions: {trees[solver, budget]:5.1f} trees, "
            f"R2 {scores[solver, budget]:.3f}, "
            f"stability {stability[solver, budget]:.2f}"
        )

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for axis, values, label in zip(
    axes,
    (trees, scores, stability),
    ("trees", "test R²", "stability of the ten best features"),
    strict=True,
):
    for solver in ("exact", "mab"):
        axis.plot(
            budgets, [values[solver, budget] for budget in budgets], "o-", label=solver
        )
    axis.set(xlabel="budget (insertions)", ylabel=label, xscale="log")
axes[0].legend()
plt.show()
