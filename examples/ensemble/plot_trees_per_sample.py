"""
How many trees a sample needs
=============================

With `predict_delta` a forest asks trees until the class of a sample is clear. Most
samples are easy: ten to twenty trees agree. Those between two classes take all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_bandit.ensemble import RandomForestClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(200, random_state=0).fit(X_train, y_train)
by_all = model.predict(X_test)
probabilities = np.sort(model.predict_proba(X_test), axis=1)

# %%
# The parameter may be set on a fitted forest: only prediction reads it.
model.set_params(predict_delta=0.01)
by_few = model.predict(X_test)
n_trees = model.count_trees(X_test)
print(f"{n_trees.mean():.0f} of 200 trees on average")
print(f"{np.count_nonzero(by_few != by_all)} of {len(by_all)} classes differ")

# %%
# What decides is the margin between the two most likely digits.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.hist(n_trees, bins=np.arange(0, 210, 10))
left.set(xlabel="trees asked", ylabel="samples")
right.scatter(probabilities[:, -1] - probabilities[:, -2], n_trees, s=8)
right.set(xlabel="margin of the forest's probabilities", ylabel="trees asked")
plt.show()
