"""
Medoids and neighbours of a dask array
======================================

Ten medoids are chosen among 60,000 rows. The client is sent 4,096 of them and the best
candidates among the others; the nearest rows of each medoid are searched where the rows
are.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from sklearn_bandit import cluster as local_cluster
from sklearn_bandit.dask import BanditKMedoids, BanditNearestNeighbors

# %%
# The workers are threads of this process; in practice they are on other machines. The
# rows are made by the workers, block by block.

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
)
client = Client(cluster)


def make_rows(block_info=None):
    """Rows of a mixture of ten parts."""
    start, stop = block_info[None]["array-location"][0]
    rng = np.random.default_rng(start)
    angles = 2 * np.pi * rng.integers(10, size=stop - start) / 10
    centres = 4 * np.column_stack([np.cos(angles), np.sin(angles)])
    return centres + rng.standard_normal((stop - start, 2)) * 0.7


X = da.map_blocks(make_rows, chunks=((10_000,) * 6, (2,)), dtype=float)
X = client.persist(X)

# %%
# The medoids of a sample come first. Then there are rounds in which any row may take
# the place of any medoid: the workers drop most of their rows by few distances, and the
# client sees those that are left. The local class has all rows in one place, and its
# loss is about the same.

model = BanditKMedoids(10, max_rows=4096, random_state=0).fit(X)
local = local_cluster.BanditKMedoids(10, random_state=0).fit(X.compute())
print(f"rounds over all rows: {model.n_rounds_}")
print(f"loss over that of the local class: {model.inertia_ / local.inertia_:.4f}")
print(model.labels_)

# %%
# Every partition has an index of its own. A query goes to all of them, and the nearest
# of all answers are kept: each medoid, and the 200 rows around it.

search = BanditNearestNeighbors(n_neighbors=200).fit(X)
distances, ids = search.kneighbors(model.cluster_centers_)
print(f"farthest of the 200 nearest: {distances[:, -1].round(2)}")

# %%
# Rows can be taken out, by their numbers, without another fit.

search.remove(ids[:, 0])
print(f"{search.n_samples_fit_} rows are left")
nearest = search.kneighbors(model.cluster_centers_, n_neighbors=1)[1]
print("a medoid is still found:", bool(np.isin(nearest, model.medoid_indices_).any()))

# %%
# Only what is drawn comes here.

some = X[::20].compute()
around = X[ids.ravel()].compute()
plt.figure(figsize=(5, 5))
plt.scatter(*some.T, s=2, c="lightgrey", label="every twentieth row")
plt.scatter(*around.T, s=2, c=np.repeat(np.arange(10), 200), cmap="tab10")
plt.scatter(*model.cluster_centers_.T, c="black", marker="x", label="medoids")
plt.legend(loc="center", markerscale=2)
plt.title("200 nearest rows of each medoid")
plt.tight_layout()
plt.show()

del search
client.close()
cluster.close()
