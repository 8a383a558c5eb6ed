"""
=================================
How many samples a split looks at
=================================

The exact solver puts every sample of a node into a histogram of every feature. The
bandit stops as soon as the best feature is known, which takes a few thousand samples,
in a node of a million as in one of ten thousand. All samples go into the histogram of
this one feature, to place its threshold: that part still grows.
"""

# %%
# One split of ever larger data, twenty features. ``n_insertions_`` counts the samples
# that went into histograms, once for each feature.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
n_features = 20
X = rng.standard_normal((400_000, n_features), dtype=np.float32)
y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X)) > 0.3

sizes = np.array([12_500, 25_000, 50_000, 100_000, 200_000, 400_000])
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
growth = {solver: counts[-1] / counts[0] for solver, counts in insertions.items()}
print(
    f"32 times the samples: {growth['exact']:.0f} times the insertions exact, "
    f"{growth['mab']:.1f} times by the bandit"
)

# %%
# The search took the same 40,960 insertions each time: 2,048 samples for each of twenty
# features. What grows is the histogram that places the threshold: of all samples, and
# from 100,000 on, for so shallow a tree, of one in four.
#
# Further down a tree the nodes are smaller, and below some 8,000 samples the exact
# search is as cheap as any. The gain is at the top. In the middle the exact search
# takes fewer: it fills the histograms of the smaller child and subtracts them from
# those of the parent, which a sample has not got. A tree that is one level deeper tells
# what the last level has cost.
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
