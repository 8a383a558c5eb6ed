"""
Categories as numbers
=====================

A feature of many categories, as one-hot columns, as arbitrary codes, and in the order
of mean targets. The target adds an effect of the category and one of a number.
"""

# %%
# Codes put unlike categories side by side, one-hot columns part one category at a
# time. In the order of their mean targets one cut parts all that are high from all that
# are low.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_bandit.ensemble import RandomForestRegressor

numbers = [5, 20, 50, 100, 200]
scores = {"categorical_features=[0]": [], "codes": [], "one-hot columns": []}
for n_categories in numbers:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n_categories, 6000), rng.normal(size=6000)])
    effect = rng.normal(size=n_categories)
    y = effect[X[:, 0].astype(int)] + X[:, 1] + 0.5 * rng.normal(size=6000)
    forest = RandomForestRegressor(n_estimators=20, random_state=0)
    one_hot = make_column_transformer(
        (OneHotEncoder(sparse_output=False), [0]), remainder="passthrough"
    )
    models = {
        "categorical_features=[0]": RandomForestRegressor(
            n_estimators=20, random_state=0, categorical_features=[0]
        ),
        "codes": forest,
        "one-hot columns": make_pipeline(one_hot, forest),
    }
    for name, model in models.items():
        model.fit(X[:3000], y[:3000])
        scores[name].append(model.score(X[3000:], y[3000:]))

for name, values in scores.items():
    print(f"{name:25}", *(f"{score:.2f}" for score in values))
    plt.plot(numbers, values, marker="o", label=name)
plt.xlabel("categories")
plt.ylabel("R² of new samples")
plt.xscale("log")
plt.ylim(0, 1)
_ = plt.legend()

# %%
# With 5 categories all three reach about .78. With 200 of them, 15 samples each, the
# order of means reaches .81, one-hot columns .72 and codes .55.
