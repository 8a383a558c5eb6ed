"""
A race of hyper-parameters
==========================

Twenty-four decision trees on the digits, ten folds. The full search fits 240 trees. A
race compares the candidates after every fold, on the same held-out samples, and goes on
with those that may still win.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from sklearn_bandit.model_selection import BanditGridSearchCV

X, y = load_digits(return_X_y=True)
grid = {"max_depth": [2, 4, 6, 8, 10, 12], "min_samples_leaf": [1, 2, 4, 16]}
tree = DecisionTreeClassifier(random_state=0)

full = GridSearchCV(tree, grid, cv=10).fit(X, y)
race = BanditGridSearchCV(tree, grid, cv=10, tol=0.0).fit(X, y)
print(f"full search: {full.best_params_}, 240 fits")
print(f"race:        {race.best_params_}, {race.n_fits_} fits")

# %%
# Running means of the fold scores, in the order of the folds that the race took. A line
# ends where its candidate was dropped. The dotted continuation is what the full search
# computed for it: none of the dropped lines would have come back.

# The fold that was done by all candidates came first, and so on.
splits = np.array([race.cv_results_[f"split{k}_test_score"] for k in range(10)])
every = np.array([full.cv_results_[f"split{k}_test_score"] for k in range(10)])
order = np.argsort(-np.isfinite(splits).sum(axis=1), kind="stable")
n_done = race.cv_results_["n_folds_done"]
running = np.cumsum(every[order], axis=0) / np.arange(1, 11)[:, None]

folds = np.arange(1, 11)
for i in np.argsort(n_done):
    color = "tab:red" if i == race.best_index_ else "0.5"
    plt.plot(folds, running[:, i], ":", color=color, linewidth=0.6)
    done = folds[: n_done[i]]
    plt.plot(done, running[: n_done[i], i], "-", color=color)
    plt.plot(done[-1], running[n_done[i] - 1, i], "o", color=color, markersize=4)
plt.xlabel("folds done")
plt.ylabel("mean accuracy so far")
plt.title(f"{race.n_fits_} of 240 fits; red: the winner")
plt.tight_layout()
plt.show()

# %%
# How many candidates are left after each fold.

left = [np.sum(n_done > s) for s in range(10)]
plt.bar(folds, left)
plt.xlabel("fold")
plt.ylabel("candidates fitted")
plt.tight_layout()
plt.show()
