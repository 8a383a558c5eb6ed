"""
=======================================
Data on disk, packed once, fitted often
=======================================

A :class:`~sklearn_bandit.tree.PackedDataset` has the samples in bins of one byte, in
files that fits read in place. Trees, forests and boosting take it as ``X``. Where no
feature has more than 255 values, they fit what they fit to the array.
"""

# %%
# 200,000 rows of 20 features that are whole numbers, such as counts. ``write`` takes
# arrays and what reads like them, a memory-mapped file for example.
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.ensemble import RandomForestClassifier
from sklearn_bandit.tree import PackedDataset

rng = np.random.default_rng(0)
X = rng.poisson(6, size=(200_000, 20)).astype(np.float64)
y = X[:, 0] * X[:, 1] + 4 * X[:, 2] + rng.normal(scale=8, size=len(X)) > 62
folder = tempfile.TemporaryDirectory()
data = PackedDataset.write(Path(folder.name) / "counts", X)
files = [path for path in Path(folder.name).rglob("*") if path.is_file()]
n_bytes = sum(path.stat().st_size for path in files)
print(f"the array {X.nbytes / 1e6:.0f} MB, the folder {n_bytes / 1e6:.0f} MB")

# %%
# The same forest, for several depths. Where the array has to be put into bins in every
# fit, the data set is only opened.
depths = [2, 4, 6, 8, 10]
seconds = {"array": [], "data set": []}
scores = []
for depth in depths:
    models = {}
    for name, samples in (("array", X), ("data set", data)):
        forest = RandomForestClassifier(8, max_depth=depth, random_state=0)
        runs = []
        for _ in range(3):
            start = time.perf_counter()
            models[name] = forest.fit(samples, y)
            runs.append(time.perf_counter() - start)
        seconds[name].append(min(runs))
    same = all(
        np.array_equal(one.tree_.threshold, other.tree_.threshold)
        for one, other in zip(*(m.estimators_ for m in models.values()), strict=True)
    )
    scores.append(models["data set"].score(data, y))
    print(f"depth {depth:2}: the same trees: {same}, accuracy {scores[-1]:.3f}")

# %%
# A forest of few or shallow trees gains most: putting values into bins is about half of
# its work. Deep ones gain less: memory is then the reason to pack.
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name in ("data set", "array"):
    ax.plot(depths, seconds[name], "o-", label=name)
ax.set(xlabel="max_depth", ylabel="seconds of a fit", ylim=(0, None), xticks=depths)
ax.legend()
plt.show()

# %%
# The folder can be opened by other processes and on other days. Rows are read like
# those of an array.
again = PackedDataset(Path(folder.name) / "counts")
print(again.shape, again[[0, 1]][:, :4].tolist())
del data, again
folder.cleanup()
