"""
====================================================
Finding the best of many candidates from few samples
====================================================

The most central of 2,000 points could be found by computing all four million distances.
:func:`~sklearn_bandit.bandit.best_arm` looks at a batch of reference points, drops
every candidate that cannot be the most central one any more, and goes on with the rest.
"""

# %%
# A cloud of points, and the distances as costs: each point is an *arm*, the points
# that it is compared with are the *references*.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import pairwise_distances

from sklearn_bandit.bandit import best_arm

rng = np.random.default_rng(0)
n_points = 2000
points = rng.multivariate_normal([0, 0], [[2, 1], [1, 1]], size=n_points)
n_looks = np.zeros(n_points)


def distances(arms, references):
    """Pull: and keep a tally of how often each arm is looked at."""
    n_looks[arms] += len(references)
    return pairwise_distances(points[arms], points[references])


result = best_arm(distances, n_points, n_points, batch_size=32, random_state=0)
print(result)

# %%
# It is the medoid that the full matrix gives, from a fraction of the distances.
exact = pairwise_distances(points).mean(axis=1).argmin()
print(
    f"exact answer: {exact}; computed {result.n_pulls / n_points**2:.1%} of the matrix"
)

# %%
# The effort went where it was needed: points on the rim were compared with at most 128
# of the others, and only some seventy near the centre with all 2,000.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
image = ax.scatter(*points.T, c=n_looks, s=6, norm="log", cmap="viridis")
ax.scatter(*points[result.best[0]], marker="*", s=150, color="tab:red")
ax.set_title("references looked at, by point")
fig.colorbar(image, ax=ax)

# %%
# What differs between arms decides how much has to be computed. The same search with
# other radii: the paired differences need the fewest distances, because a far-away
# reference is far from all arms alike. Normal intervals of each arm's own mean need
# more than twice as many. Both trust the variances that they see. Bounds that hold for
# any costs within a range need most of the matrix here, those of differences the least.
searches = {
    "paired": {},
    "paired,\nrange": {"cost_range": 12.0},
    "normal": {"radius": "normal"},
    "bernstein": {"radius": "bernstein", "cost_range": 12.0},
    "hoeffding": {"radius": "hoeffding", "cost_range": 12.0},
}
shares = {
    name: best_arm(
        distances, n_points, n_points, batch_size=32, random_state=0, **parameters
    ).n_pulls
    / n_points**2
    for name, parameters in searches.items()
}
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
bars = ax.bar(list(shares), list(shares.values()))
ax.bar_label(bars, fmt="{:.1%}")
ax.set(title="share of all distances computed", ylim=(0, 1))
plt.show()
