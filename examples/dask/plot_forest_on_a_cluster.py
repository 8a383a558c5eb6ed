"""
The same forest, whatever the partitions
========================================

A forest is fitted to a dask array on a cluster of two workers, for several ways to cut
the array into partitions, and locally. All of them are the same forest.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from sklearn_bandit import ensemble
from sklearn_bandit.dask import RandomForestClassifier

# %%
# In practice the workers are processes on many machines. Here they are threads of this
# one, which still talk to each other through the network.

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
)
client = Client(cluster)

rng = da.random.default_rng(0)
X = rng.normal(size=(40_000, 8), chunks=(5_000, 8)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int8)
X, y = client.persist([X, y])

# %%
# The local forest, to compare with: only for this are all rows brought here.

parameters = {"n_estimators": 16, "max_depth": 10, "random_state": 0}
local = ensemble.RandomForestClassifier(**parameters).fit(X.compute(), y.compute())


def thresholds(forest):
    """All thresholds of all trees."""
    return np.concatenate([tree.tree_.threshold for tree in forest.estimators_])


# %%
# Partitions of one size, of another, and of very different sizes.

cuts = {
    "8 x 5,000": (5_000,) * 8,
    "4 x 10,000": (10_000,) * 4,
    "unequal": (100, 19_900, 0, 20_000),
}
for name, sizes in cuts.items():
    forest = RandomForestClassifier(**parameters)
    forest.fit(X.rechunk((sizes, 8)), y.rechunk(sizes))
    same = np.array_equal(thresholds(forest), thresholds(local))
    print(f"{name:>10}: the local forest: {same}")

# %%
# Predictions of dask arrays are dask arrays: nothing is computed until it is asked for.

probabilities = forest.predict_proba(X)
print(probabilities)
grid = np.linspace(-2, 2, 60, dtype=np.float32)
points = np.zeros((3600, 8), dtype=np.float32)
points[:, 1], points[:, 2] = np.meshgrid(grid, grid)[0].ravel(), np.repeat(grid, 60)
shown = forest.predict_proba(da.from_array(points, chunks=(1200, 8)))[:, 1].compute()

plt.figure(figsize=(5, 4))
plt.pcolormesh(grid, grid, shown.reshape(60, 60), cmap="RdBu", vmin=0, vmax=1)
plt.colorbar(label="probability of the second class")
plt.xlabel("feature 1")
plt.ylabel("feature 2")
plt.title("Predicted where the rows are")
plt.tight_layout()
plt.show()

# %%
# The model that is left needs no cluster, and its pickle needs no dask.

model = forest.to_local()
print(model)
client.close()
cluster.close()
