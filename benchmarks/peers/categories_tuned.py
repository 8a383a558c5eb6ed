"""The best forest of each kind on Adult, whose parameters are chosen by folds.

Full trees overfit there, so that the encodings are compared at parameters that suit
them. These are chosen by three folds of the training set, and scored on the test set.
"""

from importlib.util import find_spec
from itertools import product

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_bandit.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn_bandit.tree import DecisionTreeClassifier

from ..harness import Table, benchmark
from .categories import N_TREES, adult

N_FOLDS, N_SEEDS = 3, 3
LEAVES = (1, 5, 10)


class OnTheOrder(ClassifierMixin, BaseEstimator):
    """Bagged trees, each of which sees a part of the features, on our order."""

    def __init__(self, columns, share=0.5, leaf=1, seed=0, n_jobs=None):
        self.columns = columns
        self.share = share
        self.leaf = leaf
        self.seed = seed
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Find the order, then bag trees."""
        model = RandomForestClassifier(1, categorical_features=self.columns)
        self.encoder_ = model.fit(X, y).category_encoder_
        tree = DecisionTreeClassifier(min_samples_leaf=self.leaf)
        self.model_ = BaggingClassifier(
            tree,
            N_TREES,
            max_features=self.share,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        ).fit(self.encoder_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        """Predict."""
        return self.model_.predict(self.encoder_.transform(X))


def families(columns, threads):
    """Return, by name: what makes a forest, its grid, and parameters of its fit."""
    common = {"n_estimators": N_TREES, "n_jobs": threads}

    def ours(kind, chosen):
        def make(leaf, features, seed):
            return kind(
                min_samples_leaf=leaf,
                max_features=features,
                categorical_features=chosen,
                random_state=seed,
                **common,
            )

        return make

    def one_hot(leaf, features, seed):
        encode = OneHotEncoder(handle_unknown="ignore")
        encode = ColumnTransformer([("c", encode, columns)], remainder="passthrough")
        forest = ours(RandomForestClassifier, None)(leaf, features, seed)
        return make_pipeline(encode, forest)

    def bagged(leaf, features, seed):
        return OnTheOrder(columns, features, leaf, seed, threads)

    def lightgbm(fraction):
        def make(leaf, features, seed):
            import lightgbm

            return lightgbm.LGBMClassifier(
                boosting_type="rf",
                num_leaves=512,
                min_child_samples=leaf,
                bagging_fraction=0.63,
                bagging_freq=1,
                random_state=seed,
                verbose=-1,
                **{fraction: features},
                **common,
            )

        return make

    shares = list(product(LEAVES, (0.5, 0.75)))
    by_node = list(product(LEAVES, ("sqrt", 0.5)))
    fit = {"categorical_feature": columns}
    found = {
        "our order": (ours(RandomForestClassifier, columns), by_node, {}),
        "our order, extra trees": (ours(ExtraTreesClassifier, columns), by_node, {}),
        "our order, features drawn by tree": (bagged, shares, {}),
        "ordinal codes": (ours(RandomForestClassifier, None), by_node, {}),
        "one-hot": (one_hot, list(product(LEAVES, ("sqrt", 0.3))), {}),
    }
    if find_spec("lightgbm") is None:
        return found
    found["LightGBM, rf, by tree"] = (lightgbm("feature_fraction"), shares, fit)
    found["LightGBM, rf, by node"] = (lightgbm("feature_fraction_bynode"), shares, fit)
    return found


@benchmark("categories.tuned", data=["adult"])
def tuned(options):
    """The best forest of each kind on Adult."""
    X, y, X_test, y_test, columns = adult()
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    rows = []
    for name, (make, grid, fit) in families(columns, options.threads).items():
        scores = [
            cross_val_score(make(*point, 0), X, y, cv=folds, params=fit).mean()
            for point in grid
        ]
        leaf, features = grid[int(np.argmax(scores))]
        tests = [
            make(leaf, features, seed).fit(X, y, **fit).score(X_test, y_test)
            for seed in range(options.rounds or N_SEEDS)
        ]
        rows.append([name, leaf, str(features), max(scores), np.mean(tests)])
        rows[-1] += [min(tests), max(tests)]
    yield Table(
        f"adult: forests of {N_TREES} trees, parameters chosen by {N_FOLDS} folds",
        [
            "forest",
            "samples a leaf",
            "features",
            "accuracy in the folds",
            "on new samples",
            "least",
            "most",
        ],
        rows,
        note=f"Mean of {N_SEEDS} seeds on new samples. Features are a share of them, "
        "drawn in each node, or for each tree where it says so.",
    )
