"""
=======================
As many trees as needed
=======================

With ``n_estimators="auto"`` a forest grows until more trees would not change its
out-of-bag score by more than ``oob_tol``. How many that are depends on the data.
"""

# %%
# Two targets of the same features: one with little noise, one that is mostly noise. A
# single tree varies more where there is more noise, and more trees must be averaged.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_bandit.ensemble import RandomForestRegressor

X, signal = make_friedman1(3000, random_state=0)
noise = np.random.default_rng(0).normal(size=len(signal)) * signal.std()
tolerances = [0.1, 0.05, 0.02, 0.01, 0.005]
counts, scores = {}, {}
for name, share in (("little noise", 0.2), ("much noise", 2.0)):
    y = signal + share * noise
    models = [
        RandomForestRegressor(
            "auto", oob_tol=tol, oob_score=True, n_jobs=2, random_state=0
        ).fit(X, y)
        for tol in tolerances
    ]
    counts[name] = [model.n_estimators_ for model in models]
    scores[name] = [model.oob_score_ for model in models]
    print(name, counts[name], np.round(scores[name], 3))

# %%
# Half the tolerance takes twice the trees, because the variance of a mean is in inverse
# proportion to their number. The first look is at 32 trees, which is where the curve of
# the easy target starts.
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for name in counts:
    left.loglog(tolerances, counts[name], marker="o", label=name)
    right.semilogx(counts[name], scores[name], marker="o", label=name)
left.set(xlabel="oob_tol", ylabel="trees grown")
right.set(xlabel="trees grown", ylabel="out-of-bag R²", ylim=(0, 1))
left.set_xticks(tolerances, [f"{tolerance:g}" for tolerance in tolerances])
left.set_yticks([32, 64, 128, 256, 512], ["32", "64", "128", "256", "512"])
right.set_xticks([32, 64, 128, 256, 512], ["32", "64", "128", "256", "512"])
for axes in (left, right):
    axes.minorticks_off()
left.legend()
plt.show()
