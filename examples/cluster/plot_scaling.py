"""
===================================
How the work grows: PAM and bandits
===================================

PAM compares all pairs of samples. The searches of
:class:`~sklearn_bandit.cluster.BanditKMedoids` look at a sample of them that hardly
grows with the number of samples.
"""

# %%
# The number of distances for growing subsets of one data set, blobs in 20 dimensions.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from sklearn_bandit.cluster import BanditKMedoids

X, _ = make_blobs(10_000, 20, centers=8, cluster_std=6.0, random_state=0)
X = X.astype(np.float32)
sizes = [1000, 2000, 5000, 10_000]
counts = {"bandit": [], "eager": []}
for n in sizes:
    for algorithm, values in counts.items():
        model = BanditKMedoids(
            8, algorithm=algorithm, batch_size=128, random_state=0
        ).fit(X[:n])
        values.append(model.n_distance_evaluations_)

# %%
# PAM's count is the number of pairs, whatever the data.
plt.loglog(sizes, np.square(sizes), "k--", label="PAM: all pairs")
for algorithm, values in counts.items():
    plt.loglog(sizes, values, "o-", label=algorithm)
plt.xlabel("samples")
plt.ylabel("distances computed")
plt.legend()
plt.show()
