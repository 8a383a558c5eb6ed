"""
=================
How many clusters
=================

``n_clusters="auto"`` clusters with several numbers of medoids and keeps the one with
the largest mean silhouette, which is compared on a sample.
"""

# %%
# Six groups of points, which overlap.
import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from sklearn_bandit.cluster import BanditKMedoids

X, _ = make_blobs(20_000, 8, centers=6, cluster_std=2.5, random_state=0)
kmedoids = BanditKMedoids("auto", k_range=(2, 12), random_state=0).fit(X)
silhouettes = kmedoids.silhouettes_
print(f"{kmedoids.n_clusters_} clusters")
print("samples looked at:", *silhouettes.n_samples)

# %%
# Means and confidence intervals: 512 of the 20,000 samples are enough to see that six
# clusters are the best.
plt.errorbar(
    silhouettes.n_clusters, silhouettes.means, silhouettes.radii, fmt="o-", capsize=4
)
plt.axvline(silhouettes.best, color="tab:orange", linestyle="--")
plt.xlabel("number of clusters")
plt.ylabel("mean silhouette of medoids")
plt.show()
