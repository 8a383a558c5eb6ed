"""
==================================
The same predictions, in less time
==================================

The trees of a forest are scikit-learn's own, so they can be asked both ways: through
scikit-learn, and through the packed copy that
:class:`~sklearn_bandit.ensemble.RandomForestClassifier` makes of them. The
probabilities are the same to the last bit.
"""

# %%
# A forest of a hundred full trees. scikit-learn's forest is given the same trees.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier as Theirs

from sklearn_bandit.ensemble import RandomForestClassifier

X, y = make_classification(
    30_000, 20, n_informative=10, n_classes=4, flip_y=0.05, random_state=0
)
X = X.astype(np.float32)
ours = RandomForestClassifier(100, random_state=0).fit(X[:10_000], y[:10_000])
theirs = Theirs(100, random_state=0).fit(X[:100], y[:100])
for name in ("estimators_", "classes_", "n_classes_", "n_outputs_"):
    setattr(theirs, name, getattr(ours, name))
assert (ours.predict_proba(X) == theirs.predict_proba(X)).all()

# %%
# Rows in a call, from one to twenty thousand.
sizes = [1, 10, 100, 1000, 20_000]
seconds = {"sklearn-bandit": [], "scikit-learn": []}
for size in sizes:
    rows = X[10_000 : 10_000 + size]
    for name, forest in (("scikit-learn", theirs), ("sklearn-bandit", ours)):
        forest.predict_proba(rows)
        runs = []
        for _ in range(3):
            start = time.perf_counter()
            forest.predict_proba(rows)
            runs.append(time.perf_counter() - start)
        seconds[name].append(min(runs))
for size, mine, other in zip(
    sizes, seconds["sklearn-bandit"], seconds["scikit-learn"], strict=True
):
    print(f"{size:6,} rows: {1000 * mine:8.2f} ms, scikit-learn {1000 * other:8.2f} ms")

# %%
# A single row gains most: scikit-learn prepares threads and arrays for every call,
# which takes longer than the trees themselves. The packed copy is made at the second
# call, and is not part of a pickle.
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, values in seconds.items():
    ax.loglog(sizes, np.array(values) / sizes * 1e6, "o-", label=name)
ax.set(xlabel="rows in a call", ylabel="microseconds for each row")
ax.legend()
plt.show()
