"""
Looking at a search
===================

Four displays, in the manner of scikit-learn's: which arms a search has left, when the
candidates of a race are dropped, what each level of a tree costs, and what a parameter
trades between time and quality.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from sklearn_bandit.bandit import best_arm
from sklearn_bandit.ensemble import HistGradientBoostingClassifier
from sklearn_bandit.inspection import (
    InsertionsDisplay,
    RacingDisplay,
    SpeedQualityDisplay,
    SurvivorsDisplay,
)
from sklearn_bandit.model_selection import BanditGridSearchCV
from sklearn_bandit.tree import DecisionTreeClassifier

# %%
# The medoid of 5,000 points: the point with the least mean distance to all others.

points = np.random.default_rng(0).standard_normal((5000, 10))


def distances(arms, references):
    """Distances of some points to others."""
    return np.linalg.norm(points[arms, None] - points[None, references], axis=2)


medoid = best_arm(distances, 5000, 5000, random_state=0, history=True)
display = SurvivorsDisplay.from_result(medoid)
display.ax_.set_title(f"{medoid.n_pulls:,} of 25,000,000 distances")
plt.show()

# %%
# A race of decision trees on the digits.

digits = load_digits(return_X_y=True)
grid = {"max_depth": [2, 4, 6, 8, 10, 12], "min_samples_leaf": [1, 4, 16]}
race = BanditGridSearchCV(SklearnTree(random_state=0), grid, cv=10).fit(*digits)
display = RacingDisplay.from_estimator(race)
display.ax_.set_title(f"{race.n_fits_} of 180 fits")
plt.show()

# %%
# A tree of 200,000 samples. The root and the next level have the largest nodes; there a
# sample of each saves nearly all insertions. Further down the features are nearly tied,
# and the exact search takes fewer: it subtracts the histograms of a child from those of
# the parent, which a sample has not filled. Nodes of the last two levels are too small
# to be sampled.

X, y = make_classification(200_000, 30, n_informative=8, random_state=0)
tree = DecisionTreeClassifier(random_state=0)
display = InsertionsDisplay.from_estimator(tree, X, y, max_depth=8)
plt.show()

# %%
# Time against quality over any parameter of any estimator; here the number of trees of
# a boosted model.

display = SpeedQualityDisplay.from_estimator(
    HistGradientBoostingClassifier(early_stopping=False, random_state=0),
    X[:20_000],
    y[:20_000],
    param_name="max_iter",
    param_range=[5, 10, 20, 40, 80],
    cv=3,
)
plt.show()
