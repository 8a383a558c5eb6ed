"""
=================================
How many samples a split looks at
=================================

The exact solver puts every sample of a node into a histogram of every feature. The
bandit stops as soon as the best feature is known, which takes a few thousand samples,
in a node of 800,000 as in one of 25,000. All samples go into the histogram of
this one feature, to place its threshold: that part still grows.
"""

# %%
# One split of ever larger data, forty features. ``n_insertions_`` counts the samples
# that went into histograms, once for each feature.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
n_features = 40
X = rng.standard_normal((800_000, n_features), dtype=np.float32)
y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X)) > 0.3

sizes = np.array([12_500, 25_000, 50_000, 100_000, 200_000, 400_000, 800_000])
insertions = {
    solver: np.array(
        [
            DecisionTreeClassifier(max_depth=1, solver=solver, random_state=0)
            .fit(X[:size], y[:size])
            .n_insertions_
            for size in sizes
        ]
    )
    for solver in ("exact", "mab")
}
for size, exact, mab in zip(sizes, *insertions.values(), strict=True):
    print(f"{size:8,} samples: {exact:10,} insertions exact, {mab:8,} by the bandit")
# Without the smallest, which is not sampled.
growth = {solver: counts[-1] / counts[1] for solver, counts in insertions.items()}
print(
    f"32 times the samples: {growth['exact']:.0f} times the insertions exact, "
    f"{growth['mab']:.1f} times by the bandit"
)

# %%
# With forty features a node is sampled from some 21,000 samples on: the first is
# searched exactly. From then on the search took the same 81,920 insertions each time:
# 2,048 samples for each of forty features. What grows is the histogram that places the
# threshold: of all samples, and from 100,000 on, for so shallow a tree, of one in four.
#
# Further down a tree the nodes are smaller, and the exact search is as cheap as any.
# The gain is at the top: in the first three levels samples decide. In the fourth the
# exact search takes fewer insertions: it fills the histograms of the smaller child and
# subtracts them from those of the parent, which a sample has not got. Below that both
# are the same. A tree that is one level deeper tells what the last level has cost.
depths = np.arange(1, 11)
per_level = {}
for solver in ("exact", "mab"):
    total = [
        DecisionTreeClassifier(max_depth=int(depth), solver=solver, random_state=0)
        .fit(X[:200_000], y[:200_000])
        .n_insertions_
        for depth in depths
    ]
    per_level[solver] = np.diff(total, prepend=0)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for solver in ("mab", "exact"):
    left.plot(sizes, insertions[solver], "o-", label=solver)
    right.plot(depths, np.maximum(per_level[solver], 1), "o-", label=solver)
left.set(
    xscale="log",
    yscale="log",
    xlabel="samples in the node",
    ylabel="insertions into histograms",
    title="one split",
)
right.set(
    yscale="log",
    xlabel="level of the tree",
    ylabel="insertions into histograms",
    title="a tree of 200,000 samples",
)
left.minorticks_off()
left.set_xticks(sizes, [f"{n / 1000:g}k" for n in sizes])
left.legend()
plt.show()
