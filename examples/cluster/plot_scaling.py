"""
===================================
How the work grows: PAM and bandits
===================================

PAM compares all pairs of samples: its work is quadratic. The searches of
:class:`~sklearn_bandit.cluster.BanditKMedoids` compare each candidate with as many
samples as it takes to rule it out, which hardly depends on how many there are.
"""

# %%
# The number of distances for growing subsets of one data set, blobs in 20 dimensions.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from sklearn_bandit.cluster import BanditKMedoids

X, _ = make_blobs(32_000, 20, centers=8, cluster_std=6.0, random_state=0)
X = X.astype(np.float32)
sizes = np.array([2000, 4000, 8000, 16_000, 32_000])
counts = {"bandit": [], "eager": []}
for algorithm, values in counts.items():
    for n in sizes:
        model = BanditKMedoids(
            8, algorithm=algorithm, batch_size=128, random_state=0
        ).fit(X[:n])
        values.append(model.n_distance_evaluations_)
    shares = np.array(values) / sizes**2
    print(
        f"{algorithm}: {shares[0]:.0%} of all pairs at 2,000 samples, "
        f"{shares[-1]:.1%} at 32,000"
    )

# %%
# PAM's count is the number of pairs, whatever the data. At 2,000 samples there is
# little to save, and ``algorithm="auto"`` would take PAM itself. At 32,000 nearly all
# distances are never computed.
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.loglog(sizes, sizes.astype(float) ** 2, "k--", label="PAM: all pairs")
for algorithm, values in counts.items():
    left.loglog(sizes, values, "o-", label=algorithm)
    right.semilogx(sizes, np.array(values) / sizes, "o-", label=algorithm)
right.semilogx(sizes, sizes, "k--")
right.set(ylim=(0, 4000), xlabel="samples", ylabel="distances for each sample")
left.set(xlabel="samples", ylabel="distances computed")
for axes in (left, right):
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
left.legend()
plt.show()
