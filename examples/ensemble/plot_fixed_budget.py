"""
============================
The best forest for a budget
============================

When computation is limited, cheaper splits mean more trees. ``max_insertions`` fixes
the number of histogram insertions for a whole forest; trees are grown until it is used
up.
"""

# %%
# 200,000 rows and forty features, of which twenty matter, the last of them little. An
# exact split puts every row of a node into a histogram of each feature that is drawn.
# The bandit does so for a sample, and for all rows of the one feature it chooses.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.ensemble import RandomForestRegressor

rng = np.random.default_rng(0)
n_train, n_test = 200_000, 20_000
X = rng.standard_normal((n_train + n_test, 40), dtype=np.float32)
weights = np.concatenate([np.linspace(1, 0.1, 20), np.zeros(20)])
y = X @ weights + 2 * rng.standard_normal(len(X))
X_test, y_test = X[n_train:], y[n_train:]

budgets = [15_000_000, 30_000_000, 60_000_000]
n_runs = 4
trees, scores = {}, {}
for solver in ("exact", "mab"):
    for budget in budgets:
        forests = [
            RandomForestRegressor(
                n_estimators=100,
                max_depth=4,
                max_features=20,
                solver=solver,
                max_insertions=budget,
                random_state=seed,
            ).fit(X[:n_train], y[:n_train])
            for seed in range(n_runs)
        ]
        trees[solver, budget] = np.mean([len(f.estimators_) for f in forests])
        scores[solver, budget] = np.mean([f.score(X_test, y_test) for f in forests])
        print(
            f"{solver:5} {budget:12,} insertions: {trees[solver, budget]:5.1f} trees, "
            f"R2 {scores[solver, budget]:.3f}"
        )

# %%
# The same budget grows about three times as many trees, and more trees are a better
# forest: the bandit's R² is at least that of exact splits with twice the budget.
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.5), layout="constrained")
for axis, values, label in zip(
    axes, (trees, scores), ("trees", "test R²"), strict=True
):
    for solver in ("mab", "exact"):
        axis.plot(
            budgets, [values[solver, budget] for budget in budgets], "o-", label=solver
        )
    axis.set(xlabel="budget (million insertions)", ylabel=label, xscale="log")
    axis.minorticks_off()
    axis.set_xticks(budgets, [f"{budget / 1e6:g}" for budget in budgets])
axes[0].legend()
plt.show()
