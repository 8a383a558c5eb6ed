"""
==================================
Which importances select the same?
==================================

A forest ranks features by what splits on them gain (mean decrease in impurity, MDI) or
by what shuffling them loses on the samples that a tree has not seen (out-of-bag
permutation importance). Five of these 21 features have an effect, and all five have two
values. Eight of the others have two values, too, eight are continuous.
"""

# %%
# Eight forests, each on another half of the rows, select five features by both
# measures.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.ensemble import RandomForestClassifier
from sklearn_bandit.inspection import (
    feature_selection_stability,
    oob_permutation_importance,
    select_largest,
)

rng = np.random.default_rng(0)
n_rows, n_informative, n_runs = 1000, 5, 8
binary = rng.integers(0, 2, (n_rows, n_informative + 8))
X = np.column_stack([binary, rng.standard_normal((n_rows, 8))])
effects = np.linspace(1.0, 0.5, n_informative)
y = (binary[:, :n_informative] - 0.5) @ effects + rng.standard_normal(n_rows) > 0

# The first trees of a forest are a smaller one: both measures are means over trees.
sizes = [4, 8, 16, 32]
by_gain, by_shuffling = [], []
for seed in range(n_runs):
    half = rng.permutation(n_rows)[: n_rows // 2]
    forest = RandomForestClassifier(sizes[-1], random_state=seed).fit(X[half], y[half])
    gains = np.array([tree.feature_importances_ for tree in forest.estimators_])
    by_gain.append([gains[:n].mean(axis=0) for n in sizes])
    losses = oob_permutation_importance(forest, X[half], y[half], random_state=seed)
    by_shuffling.append([losses.importances[:, :n].mean(axis=1) for n in sizes])
measures = {
    "MDI": np.swapaxes(by_gain, 0, 1),
    "out-of-bag": np.swapaxes(by_shuffling, 0, 1),
}

stability, correct = {}, {}
for name, importances in measures.items():
    chosen = [select_largest(each, n_informative) for each in importances]
    stability[name] = [feature_selection_stability(each) for each in chosen]
    correct[name] = [each[:, :n_informative].mean() for each in chosen]
    print(f"{name}: stability", [f"{s.stability:.2f}" for s in stability[name]])
    print(f"{name}: of the five found", [f"{share:.0%}" for share in correct[name]])

# %%
# A continuous feature has many thresholds, and by chance a good one among them: MDI
# selects such features in nearly all runs, and finds less than one of the five that
# have an effect. Shuffling finds four of five with 32 trees, and only its selections
# clearly gain from more trees. A stable selection need not be right: with 8 trees the
# wrong ones are no less alike than the others. Shaded are 95% confidence intervals.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
kinds = [("effect", 5), ("two values", 8), ("continuous", 8)]
place = 0
colors = {"MDI": "tab:orange", "out-of-bag": "tab:blue"}
for name, importances in measures.items():
    mean = importances[-1].mean(axis=0)
    left.plot(mean / mean.max(), "o", color=colors[name], label=name)
    low, high = np.transpose([s.interval for s in stability[name]])
    right.fill_between(sizes, low, high, color=colors[name], alpha=0.2)
    right.plot(
        sizes,
        [s.stability for s in stability[name]],
        "o-",
        color=colors[name],
        label=name,
    )
for kind, n_features in kinds:
    left.text(place + n_features / 2 - 0.5, 1.08, kind, ha="center")
    place += n_features
    left.axvline(place - 0.5, color="grey", lw=0.8)
left.set_xticks(range(0, X.shape[1], 5))
left.set(xlabel="feature", ylabel="importance, of the largest", ylim=(-0.1, 1.2))
left.legend(loc="center", bbox_to_anchor=(0.42, 0.6))
right.set_xscale("log")
right.set_xticks(sizes, [str(n) for n in sizes])
right.minorticks_off()
right.set(xlabel="trees", ylabel="stability of the five selected", ylim=(0, 1))
right.legend(loc="lower right")
plt.show()
