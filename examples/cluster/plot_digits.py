"""
=========================================
Digits and the images that stand for them
=========================================

The centers of k-medoids are samples. For images this means that a cluster is
represented by one real image, where k-means shows a blurred average of many.
"""

# %%
# Ten clusters of handwritten digits, under the cosine distance.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from sklearn_bandit.cluster import BanditKMedoids

X, y = load_digits(return_X_y=True)
kmedoids = BanditKMedoids(10, metric="cosine", random_state=0).fit(X)
kmeans = KMeans(10, n_init=1, random_state=0).fit(X)

# %%
# The medoids are images of the data set; the means are not.
fig, axes = plt.subplots(2, 10, figsize=(10, 2.4))
centers = kmedoids.cluster_centers_, kmeans.cluster_centers_
for row, images, name in zip(axes, centers, ("medoids", "means"), strict=True):
    for axis, image in zip(row, images, strict=True):
        axis.imshow(image.reshape(8, 8), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
fig.tight_layout()
plt.show()

# %%
# A medoid has a label of its own, so clusters can be named by looking up one sample
# each: how many samples have the label of their medoid?
named = y[kmedoids.medoid_indices_][kmedoids.labels_]
print(f"{np.mean(named == y):.0%} of the samples have the digit of their medoid.")
