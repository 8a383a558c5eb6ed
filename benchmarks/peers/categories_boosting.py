"""Boosting of categories: equal numbers of trees, equal learning rates.

Boosting of ours takes sets of up to 255 categories, as scikit-learn's does. Where there
are more, scikit-learn's ``TargetEncoder`` can stand before it: it gives the training
samples the mean target of their category in other parts of the data.
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from ..data import load
from ..harness import Contender, Table, benchmark
from .categories import LARGEST_BOOSTING, SETS, Objects, as_objects, flights, qualities

LEARNING_RATE = 0.1


def movielens(n_samples=100_000):
    """Return ratings by the user and the film, 6,040 and 3,706 of them."""
    data = load("movielens_1m")
    drawn = np.random.default_rng(0).permutation(len(data.rating))[: 2 * n_samples]
    X = np.column_stack([data.user, data.item])[drawn].astype(np.float64)
    y = data.rating[drawn].astype(np.float64)
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:], [0, 1]


ALL_SETS = SETS | {"flights": lambda: flights(50_000), "movielens": movielens}


def contenders(X, y, columns, n_trees, threads):
    """Return who boosts the data."""
    is_class = y.dtype.kind in "iu"
    common = {"learning_rate": LEARNING_RATE}
    kind = HistGradientBoostingRegressor
    if is_class:
        kind = HistGradientBoostingClassifier
    ours = {"max_iter": n_trees, "early_stopping": False, "random_state": 0, **common}

    def sets(seed):
        return kind(categorical_features=columns, **ours).fit(X, y)

    def encoded(seed):
        encoder = TargetEncoder(
            target_type="binary" if is_class else "continuous",
            cv=KFold(5, shuffle=True, random_state=0),
        )
        encode = make_column_transformer((encoder, columns), remainder="passthrough")
        return make_pipeline(encode, kind(**ours)).fit(X, y)

    def lightgbm(seed):
        import lightgbm

        model = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
        model = model(
            n_estimators=n_trees, n_jobs=threads, random_state=0, verbose=-1, **common
        )
        return model.fit(X, y, categorical_feature=columns)

    def catboost(seed):
        import catboost

        model = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
        model = model(
            iterations=n_trees,
            cat_features=columns,
            thread_count=threads,
            random_seed=0,
            verbose=0,
            allow_writing_files=False,
            **common,
        )
        model.fit(as_objects(X, columns), y)
        return Objects(model, columns)

    found = {
        "sets of categories": sets,
        "on a TargetEncoder": encoded,
        "LightGBM": Contender(lightgbm, needs="lightgbm"),
        "CatBoost": Contender(catboost, needs="catboost"),
    }
    if max(len(np.unique(X[:, k])) for k in columns) > LARGEST_BOOSTING:
        found["sets of categories"] = None
    return found


@benchmark("categories.boosting", data=["adult", "flights2001_3m", "movielens_1m"])
def boosting(options):
    """Scores on new samples of 100 and of 300 trees, all at one learning rate."""
    rows, titles = [], []
    for name, make in ALL_SETS.items():
        if not options.wants(name):
            continue
        X, y, X_test, y_test, columns = make()
        score = next(iter(qualities(X_test, y_test).values()))
        for n_trees in (100, 300):
            found = []
            fits = contenders(X, y, columns, n_trees, options.threads)
            titles = list(fits)
            for fit in fits.values():
                fit = fit if fit is None or hasattr(fit, "run") else Contender(fit)
                is_there = fit is not None and fit.is_installed
                found.append(score(fit.run(0)) if is_there else None)
            rows.append([name, n_trees, *found])
    yield Table(
        f"Boosting at a learning rate of {LEARNING_RATE}: accuracy, or R2 of 200 "
        "categories and of movielens",
        ["data", "trees", *titles],
        rows,
    )
