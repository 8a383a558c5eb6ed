"""
=======================================
A faster forest: change only the import
=======================================

The same random forest, twice: scikit-learn's and ours. The parameters have the same
names, meanings and defaults, and what is fitted is a list of scikit-learn's own trees.
"""

# %%
# Data with many samples: where the time goes into finding splits.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn import ensemble as sklearn_ensemble
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from sklearn_bandit import ensemble as bandit_ensemble

X, y = make_classification(
    n_samples=30_000,
    n_features=30,
    n_informative=10,
    n_clusters_per_class=4,
    n_classes=3,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X.astype(np.float32), y, random_state=0
)

# %%
# Time and accuracy as the trees are allowed to grow deeper. Each point is the mean of
# two forests; a first, small fit keeps imports and thread pools off the clock.
depths = [4, 8, 12, None]
seeds = [0, 1]
results = {}
for name, package in (
    ("scikit-learn", sklearn_ensemble),
    ("sklearn-bandit", bandit_ensemble),
):
    package.RandomForestClassifier(2).fit(X_train[:1000], y_train[:1000])
    for depth in depths:
        seconds, accuracy = [], []
        for seed in seeds:
            forest = package.RandomForestClassifier(
                n_estimators=20, max_depth=depth, random_state=seed
            )
            start = time.perf_counter()
            forest.fit(X_train, y_train)
            seconds.append(time.perf_counter() - start)
            accuracy.append(forest.score(X_test, y_test))
        results[name, depth] = np.mean(seconds), np.mean(accuracy)
        print(
            f"{name:15} depth {depth!s:5} {results[name, depth][0]:6.2f} s, "
            f"accuracy {results[name, depth][1]:.4f}"
        )

# %%
# The accuracies agree within the noise of two forests; the times do not.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
labels = [str(depth or "full") for depth in depths]
for name in ("sklearn-bandit", "scikit-learn"):
    left.plot(labels, [results[name, depth][0] for depth in depths], "o-", label=name)
    right.plot(labels, [results[name, depth][1] for depth in depths], "o-", label=name)
left.set(xlabel="max_depth", ylabel="fit time (s)", yscale="log")
right.set(xlabel="max_depth", ylabel="test accuracy")
left.legend()
plt.show()
