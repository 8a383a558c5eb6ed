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
from sklearn_bandit.inspection import SilhouetteDisplay

X, _ = make_blobs(20_000, 8, centers=6, cluster_std=2.5, random_state=0)
kmedoids = BanditKMedoids("auto", k_range=(2, 12), random_state=0).fit(X)
silhouettes = kmedoids.silhouettes_
print(f"{kmedoids.n_clusters_} clusters")
print("samples looked at:", *silhouettes.n_samples)

# %%
# The first 512 of the 20,000 samples decide. The mean silhouette is largest for six
# clusters, 0.58, and 0.56 for five. The intervals of these two overlap: what decides
# are the differences of their silhouettes on the same samples, which vary less. Beyond
# six a group is divided, and samples between its medoids have silhouettes near zero.
plt.errorbar(
    silhouettes.n_clusters, silhouettes.means, silhouettes.radii, fmt="o-", capsize=4
)
plt.axvline(silhouettes.best, color="tab:orange", linestyle="--")
plt.xlabel("number of clusters")
plt.ylabel("mean silhouette of medoids")
plt.show()

# %%
# The silhouettes of all samples, cluster by cluster. With four medoids two clusters are
# of twice the size: two groups each, whose samples are far from their medoid, and the
# mean is 0.49. With six all clusters are alike, and it is 0.58.
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for k, ax in zip((4, kmedoids.n_clusters_), axes, strict=True):
    model = BanditKMedoids(k, random_state=0).fit(X)
    display = SilhouetteDisplay.from_estimator(model, X, ax=ax)
    print(f"{k} clusters: mean silhouette {display.mean:.3f}")
plt.show()
