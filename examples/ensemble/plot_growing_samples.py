"""
================================
Boosted trees on growing samples
================================

With many rows, most of the time of gradient boosting goes into histograms of all of
them, for every tree. ``solver="mab"`` grows each tree on a sample, drawn by how much
rows matter. Its size is decided by what trees gain on other rows, compared with what
their samples promised: nearly as much in the first trees, whose splits are obvious, and
less as gains shrink.
"""

# %%
# A problem with main effects and interactions, and 100,000 rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from sklearn_bandit.ensemble import HistGradientBoostingClassifier

rng = np.random.default_rng(0)
n_train, n_test = 100_000, 20_000
X = rng.standard_normal((n_train + n_test, 10), dtype=np.float32)
signal = X[:, :8].sum(axis=1) / 3 + X[:, 0] * X[:, 1] + np.abs(X[:, 2])
y = signal + rng.logistic(size=len(X)) > 0.8
X_test, y_test = X[n_train:], y[n_train:]

# %%
# ``n_insertions_`` says what the search for splits has cost.
n_trees = np.array([5, 10, 20, 40])
settings = {"early_stopping": False, "random_state": 0}
arms = {
    "exact": {"solver": "exact"},
    "samples": {"solver": "mab", "batch_size": 8192},
    "samples of fixed size": {
        "solver": "mab",
        "batch_size": 8192,
        "sample_tol": np.inf,
    },
}
cost, loss = {}, {}
for name, parameters in arms.items():
    cost[name], loss[name] = [], []
    for max_iter in n_trees:
        model = HistGradientBoostingClassifier(
            max_iter=max_iter, **parameters, **settings
        ).fit(X[:n_train], y[:n_train])
        cost[name].append(model.n_insertions_)
        loss[name].append(log_loss(y_test, model.predict_proba(X_test)))
    print(
        f"{name:22} {n_trees[-1]} trees: {cost[name][-1] / 1e6:4.0f} million "
        f"insertions, test loss {loss[name][-1]:.4f}"
    )

# %%
# Forty trees on growing samples take a third of the insertions, and their loss is no
# higher than that of exact trees. Samples that keep their size are cheaper yet, and
# as good for so few trees.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for name in arms:
    axes[0].plot(n_trees, loss[name], marker="o", label=name)
    axes[1].plot(cost[name], loss[name], marker="o", label=name)
axes[0].set(xlabel="trees", ylabel="test log-loss")
axes[1].set(xlabel="insertions into histograms", xscale="log")
axes[0].legend()
plt.show()
