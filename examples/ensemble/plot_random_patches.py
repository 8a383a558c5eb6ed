"""
=========================
Forests on a random patch
=========================

:class:`~sklearn_bandit.ensemble.RandomPatchesClassifier` shows a whole forest one
random part of the rows and one of the features, and nothing else is put into bins. How
small may the patch be?
"""

# %%
# 40,000 rows, sixty features: twenty matter, twenty are mixtures of these.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_bandit.ensemble import RandomForestClassifier, RandomPatchesClassifier

X, y = make_classification(
    50_000,
    60,
    n_informative=20,
    n_redundant=20,
    n_clusters_per_class=4,
    random_state=0,
)
X = X.astype(np.float32)
train, test = (X[:40_000], y[:40_000]), (X[40_000:], y[40_000:])

shares = [0.1, 0.25, 0.5, 0.75, 1.0]
grid = np.empty((len(shares), len(shares)))
for i, rows in enumerate(shares):
    for j, features in enumerate(shares):
        model = RandomPatchesClassifier(
            20, patch_samples=rows, patch_features=features, random_state=0
        ).fit(*train)
        grid[i, j] = model.score(*test)
forest = RandomForestClassifier(20, random_state=0).fit(*train).score(*test)
print(f"random forest on everything: {forest:.3f}")
print(np.round(grid, 3))

# %%
# Rows can be spared more easily than features: without half of the rows accuracy falls
# by one or two points, without half of the features by more than five, because every
# tree lacks the same ones. The whole patch is the random forest.
fig, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
image = ax.imshow(grid, origin="lower", cmap="viridis")
for i, j in np.ndindex(grid.shape):
    colour = "white" if grid[i, j] < 0.8 else "black"
    ax.text(
        j, i, f"{grid[i, j]:.2f}", ha="center", va="center", color=colour, fontsize=9
    )
ax.set_xticks(range(5), [f"{share:.0%}" for share in shares])
ax.set_yticks(range(5), [f"{share:.0%}" for share in shares])
ax.set(xlabel="features in the patch", ylabel="rows in the patch", title="accuracy")
fig.colorbar(image)
plt.show()
