"""
==========================
Handing a forest to others
==========================

A fitted forest is scikit-learn's inside. What reads trees takes it as it is; what looks
at the class is given the result of
:meth:`~sklearn_bandit.ensemble.RandomForestClassifier.to_sklearn`. While a model is
fitted, scikit-learn's callbacks can watch.
"""

# %%
# scikit-learn's ``ScoringMonitor`` scores a boosted model after every iteration (on its
# training data). ``ProgressBar`` from the same module would draw a bar.
import pickle
import pickletools

import matplotlib.pyplot as plt
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_wine
from sklearn.tree import export_text, plot_tree

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

data = load_wine()
X, y = data.data, data.target
monitor = ScoringMonitor(scoring="neg_log_loss")
booster = HistGradientBoostingClassifier(max_iter=30, learning_rate=0.2, random_state=0)
booster.set_callbacks(monitor).fit(X, y)
rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
losses = [-row["neg_log_loss"] for row in rows]
print(f"log-loss after 1, 10 and 30 trees a class: {losses[0]:.2f}, ", end="")
print(f"{losses[9]:.3f}, {losses[29]:.4f}")

# %%
# The trees of a forest have scikit-learn's structure: ``export_text`` and ``plot_tree``
# need nothing else.
forest = RandomForestClassifier(50, max_depth=3, random_state=0).fit(X, y)
first = forest.estimators_[0]
print(export_text(first, feature_names=data.feature_names, max_depth=1))

# %%
# The pickle of what ``to_sklearn()`` returns names no class of this package: it is
# loaded where sklearn-bandit is not installed, and predicts the same.
theirs = forest.to_sklearn()
for name, model in (("ours", forest), ("theirs", theirs)):
    stored = pickle.dumps(model)
    modules = {
        argument.split(".")[0]
        for _, argument, _ in pickletools.genops(stored)
        if isinstance(argument, str) and argument.startswith("sklearn")
    }
    print(f"{name}: {type(model).__module__}, names of {', '.join(sorted(modules))}")
print("the same:", (theirs.predict_proba(X) == forest.predict_proba(X)).all())

# %%
# Conversion to ONNX (``sklearn_bandit.onnx.register()``), PMML and others is in
# :ref:`interoperability`.
fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.8), width_ratios=[1, 2], layout="constrained"
)
left.semilogy(range(1, len(losses) + 1), losses)
left.set(xlabel="iteration", ylabel="log-loss (training)", title="ScoringMonitor")
plot_tree(
    first,
    feature_names=data.feature_names,
    class_names=list(data.target_names),
    impurity=False,
    filled=True,
    fontsize=5,
    ax=right,
)
right.set_title("plot_tree of the first tree")
plt.show()
