"""
The features that matter, from few predictions
==============================================

A linear model on 200 features, eight of which have an effect. Permutation importance
shuffles every feature on every held-out row: four million predictions. To know which
eight are the most important takes a fraction of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from sklearn_bandit.inspection import bandit_permutation_importance

rng = np.random.default_rng(0)
X = rng.standard_normal((25_000, 200))
effects = np.linspace(1, 0.3, 8)
y = X[:, :8] @ effects + rng.standard_normal(len(X))
model = Ridge().fit(X[:5000], y[:5000])
X_test, y_test = X[5000:], y[5000:]

full = bandit_permutation_importance(model, X_test, y_test, n_repeats=1, random_state=0)
top = bandit_permutation_importance(
    model, X_test, y_test, n_repeats=1, k=8, random_state=0
)
print("selected:", np.sort(top.selected))
print(f"{full.n_predictions:,} predictions, {top.n_predictions:,} for the top 8")

# %%
# What was computed is just enough: intervals are wide where nothing closer had to be
# known. The crosses are the full computation; all are within their intervals.

shown = np.arange(16)
low = top.importances_mean - top.importances_low
high = top.importances_high - top.importances_mean
colors = np.where(np.isin(shown, top.selected), "tab:red", "0.5")
plt.bar(shown, top.importances_mean[shown], color=colors, alpha=0.5)
plt.errorbar(
    shown,
    top.importances_mean[shown],
    [low[shown], high[shown]],
    fmt="none",
    color="0.2",
    capsize=3,
)
plt.plot(shown, full.importances_mean[shown], "kx", label="full computation")
plt.xlabel("feature (the other 184 have no effect either)")
plt.ylabel("loss of R2")
plt.title(f"{full.n_predictions / top.n_predictions:.0f} times fewer predictions")
plt.legend()
plt.tight_layout()
plt.show()

# %%
# Before there is a model, :class:`~sklearn_bandit.feature_selection.BanditSelectKBest`
# selects by scores of features with the target; how many rows that takes is in
# :ref:`sphx_glr_auto_examples_feature_selection_plot_rows_read.py`.
