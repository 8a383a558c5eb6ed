"""
=================================
How many samples a split looks at
=================================

The exact solver puts every sample of a node into a histogram of every feature. The
bandit stops as soon as the best feature is known: for that it needs about as many
samples in a node of a million as in one of ten thousand. All samples go into the
histogram of this one feature, to place its threshold.
"""

# %%
# One split of ever larger data. ``n_insertions_`` counts the samples that went into
# histograms, once for each feature.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
n_features = 20
X = rng.standard_normal((800_000, n_features), dtype=np.float32)
y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X)) > 0.3

sizes = [12_500, 25_000, 50_000, 100_000, 200_000, 400_000, 800_000]
looked_at = {
    solver: [
        DecisionTreeClassifier(max_depth=1, solver=solver, random_state=0)
        .fit(X[:size], y[:size])
        .n_insertions_
        / n_features
        for size in sizes
    ]
    for solver in ("exact", "mab")
}
for size, exact, mab in zip(sizes, looked_at["exact"], looked_at["mab"], strict=True):
    print(f"{size:8,} samples: exact looks at {exact:9,.0f}, the bandit at {mab:8,.0f}")

# %%
# Further down a tree the nodes are smaller, and below some 8,000 samples the exact
# search is as cheap as any. The gain is at the top. A tree that is one level deeper
# tells what the last level has cost.
depths = np.arange(1, 11)
per_level = {}
for solver in ("exact", "mab"):
    total = [
        DecisionTreeClassifier(max_depth=int(depth), solver=solver, random_state=0)
        .fit(X[:200_000], y[:200_000])
        .n_insertions_
        for depth in depths
    ]
    per_level[solver] = np.diff(total, prepend=0) / n_features

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for solver in ("exact", "mab"):
    left.plot(sizes, looked_at[solver], "o-", label=solver)
    right.plot(depths, np.maximum(per_level[solver], 1), "o-", label=solver)
left.set(
    xscale="log",
    yscale="log",
    xlabel="samples in the node",
    ylabel="samples looked at, per feature",
    title="one split",
)
right.set(
    yscale="log",
    xlabel="level of the tree",
    ylabel="samples looked at, per feature",
    title="a tree of 200,000 samples",
)
left.legend()
plt.show()
