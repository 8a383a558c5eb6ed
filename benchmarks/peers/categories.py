"""Categories in forests: accuracy and time beside other encodings and other libraries.

The forest with `categorical_features` runs against the same forest on one-hot columns,
on ordinal codes (which is also the numerical fit that its time is compared with), and
against the categories of LightGBM and CatBoost, which boost. So that like is compared
with like, boosting of ours and LightGBM's forest are there, too; and bagged trees that
see half of the features each, as those of LightGBM's forest do. Smoothing and the
number of samples of a rare category were chosen on sets like these: adult, half of the
flights and synthetic ones with another seed.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ..data import load
from ..harness import Comparison, Contender, Table, benchmark

N_TREES = 100
SEED = 7


def adult():
    """Return the Adult data: 8 features of up to 42 categories, 32,561 samples."""
    data = load("adult")
    names = data.feature_names.tolist()
    columns = [k for k, name in enumerate(names) if f"cat__{name}" in data]
    samples = [data.X_train.astype(np.float64), data.X_test.astype(np.float64)]
    for X in samples:
        X[:, columns] = np.where(X[:, columns] < 0, np.nan, X[:, columns])
    return samples[0], data.y_train, samples[1], data.y_test, columns


def flights(n_samples=200_000):
    """Return flights between 229 airports; is one late by more than 15 minutes."""
    data = load("flights2001_3m")
    drawn = np.random.default_rng(0).permutation(len(data.delay))[: 2 * n_samples]
    X, y = data.X[drawn], (data.delay[drawn] > 15).astype(np.int64)
    columns = [data.feature_names.tolist().index(name) for name in AIRPORTS]
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:], columns


AIRPORTS = ("origin", "destination")


def effects(kind, n_samples=5000, n_test=20_000, n_categories=200):
    """Return a feature of 200 categories, one of 50, and four numbers.

    Parameters
    ----------
    kind : {"additive", "interaction"}
        Categories add to the target, or also are the slope of a number.
    """
    rng = np.random.default_rng(SEED)
    n = n_samples + n_test
    first = rng.integers(0, n_categories, n)
    second = rng.integers(0, n_categories // 4, n)
    numbers = rng.normal(size=(n, 4))
    effect, other = rng.normal(size=n_categories), rng.normal(size=n_categories // 4)
    y = effect[first] + 0.5 * other[second] + numbers[:, 0]
    if kind == "interaction":
        y = effect[first] * (1.0 + numbers[:, 0]) + 0.5 * other[second]
    y += 0.5 * rng.normal(size=n)
    X = np.column_stack([first, second, numbers])
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:], [0, 1]


def many(n_samples=30_000, n_test=30_000):
    """Return eight features of up to 7,500 categories, most of them rare."""
    rng = np.random.default_rng(SEED)
    n, columns, logit = n_samples + n_test, [], 2.5
    for n_categories in (7500, 4300, 4200, 2300, 440, 340, 120, 67):
        share = 1.0 / np.arange(1, n_categories + 1)
        drawn = rng.choice(n_categories, n, p=share / share.sum())
        columns.append(rng.permutation(n_categories)[drawn])
        logit = logit + 0.8 * rng.normal(size=n_categories)[drawn]
    pairs = (columns[0] * 31 + columns[5] * 7) % 3000
    logit += 0.7 * rng.normal(size=3000)[pairs]
    y = (logit + rng.logistic(size=n) > 0.0).astype(np.int64)
    X = np.column_stack(columns)
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:], list(range(8))


SETS = {
    "adult": adult,
    "flights": flights,
    "200 categories, additive": lambda: effects("additive"),
    "200 categories, interaction": lambda: effects("interaction"),
    "7,500 categories": many,
}
LARGEST_ONE_HOT = 1000
LARGEST_BOOSTING = 255


def contenders(X, y, columns, threads):
    """Return who fits the data; ours first."""
    is_class = y.dtype.kind in "iu"
    forest = RandomForestClassifier if is_class else RandomForestRegressor
    common = {"n_estimators": N_TREES, "n_jobs": threads}

    def ours(seed):
        model = forest(categorical_features=columns, random_state=seed, **common)
        return model.fit(X, y)

    def one_hot(seed):
        encode = OneHotEncoder(handle_unknown="ignore")
        encode = ColumnTransformer([("c", encode, columns)], remainder="passthrough")
        return make_pipeline(encode, forest(random_state=seed, **common)).fit(X, y)

    def lightgbm(seed):
        import lightgbm

        kind = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
        model = kind(n_jobs=threads, random_state=seed, verbose=-1)
        return model.fit(X, y, categorical_feature=columns)

    def lightgbm_forest(seed):
        import lightgbm

        kind = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
        model = kind(
            boosting_type="rf",
            n_estimators=N_TREES,
            num_leaves=512,
            min_child_samples=5,
            bagging_fraction=0.63,
            bagging_freq=1,
            feature_fraction=0.5,
            n_jobs=threads,
            random_state=seed,
            verbose=-1,
        )
        return model.fit(X, y, categorical_feature=columns)

    def boosting(seed):
        kind = HistGradientBoostingRegressor
        if is_class:
            kind = HistGradientBoostingClassifier
        model = kind(
            categorical_features=columns, early_stopping=False, random_state=seed
        )
        return model.fit(X, y)

    def encoder_of(seed):
        model = forest(1, categorical_features=columns, random_state=seed)
        return model.fit(X, y).category_encoder_

    def half_of_the_features(seed):
        encoder = encoder_of(seed)
        bagging = BaggingClassifier if is_class else BaggingRegressor
        tree = DecisionTreeClassifier() if is_class else DecisionTreeRegressor()
        model = bagging(tree, max_features=0.5, random_state=seed, **common)
        return Encoded(model.fit(encoder.transform(X), y), encoder)

    def on_the_order(seed):
        encoder = encoder_of(seed)
        kind = HistGradientBoostingRegressor
        if is_class:
            kind = HistGradientBoostingClassifier
        model = kind(early_stopping=False, random_state=seed)
        return Encoded(model.fit(encoder.transform(X), y), encoder)

    def leaves_of_five(seed):
        model = forest(
            categorical_features=columns,
            min_samples_leaf=5,
            random_state=seed,
            **common,
        )
        return model.fit(X, y)

    def catboost(seed):
        import catboost

        kind = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
        model = kind(
            iterations=300,
            cat_features=columns,
            thread_count=threads,
            random_seed=seed,
            verbose=0,
            allow_writing_files=False,
        )
        model.fit(as_objects(X, columns), y)
        return Objects(model, columns)

    found = {
        "sklearn-bandit": ours,
        "ordinal codes": lambda seed: forest(random_state=seed, **common).fit(X, y),
        "one-hot": one_hot,
        "sklearn-bandit, min_samples_leaf=5": leaves_of_five,
        "sklearn-bandit, half of the features a tree": half_of_the_features,
        "sklearn-bandit, boosting": boosting,
        "sklearn-bandit, boosting on the order": on_the_order,
        "LightGBM, forest": Contender(lightgbm_forest, needs="lightgbm"),
        "LightGBM": Contender(lightgbm, needs="lightgbm"),
        "CatBoost, 300 trees": Contender(catboost, needs="catboost"),
    }
    n_categories = [len(np.unique(X[:, k])) for k in columns]
    if sum(n_categories) > LARGEST_ONE_HOT:
        del found["one-hot"]
    if max(n_categories) > LARGEST_BOOSTING:
        del found["sklearn-bandit, boosting"]
    return found


class Objects:
    """A model of CatBoost, which wants categories as integers or strings."""

    def __init__(self, model, columns):
        self.model, self.columns = model, columns

    def predict(self, X):
        """Predict."""
        return np.ravel(self.model.predict(as_objects(X, self.columns)))

    def predict_proba(self, X):
        """Predict probabilities."""
        return self.model.predict_proba(as_objects(X, self.columns))


class Encoded:
    """A model on the numbers that a forest puts in the place of categories."""

    def __init__(self, model, encoder):
        self.model, self.encoder = model, encoder

    def predict(self, X):
        """Predict."""
        return self.model.predict(self.encoder.transform(X))

    def predict_proba(self, X):
        """Predict probabilities."""
        return self.model.predict_proba(self.encoder.transform(X))


def as_objects(X, columns):
    """Return samples as objects, with integers for categories."""
    objects = X.astype(object)
    objects[:, columns] = np.nan_to_num(X[:, columns], nan=-1).astype(np.int64)
    return objects


def qualities(X, y):
    """Return what models are scored by on new samples."""
    if y.dtype.kind == "f":
        return {"R2": lambda model: r2_score(y, model.predict(X))}
    return {
        "accuracy": lambda model: np.mean(model.predict(X) == y),
        "AUC": lambda model: roc_auc_score(y, model.predict_proba(X)[:, 1]),
    }


# Whose times are compared.
TIMED = (
    "sklearn-bandit",
    "ordinal codes",
    "one-hot",
    "LightGBM",
    "CatBoost, 300 trees",
)


@benchmark("categories.encodings", data=["adult", "flights2001_3m"])
def encodings(options):
    """A forest of 100 full trees; default settings of all."""
    for name, make in SETS.items():
        if not options.wants(name):
            continue
        X, y, X_test, y_test, columns = make()
        found = contenders(X, y, columns, options.threads)
        yield Comparison(
            title=f"{name}, {X.shape[0]:,} x {X.shape[1]}",
            contenders={side: found[side] for side in TIMED if side in found},
            quality=qualities(X_test, y_test),
            goals={"ordinal codes": 1 / 1.5},
            rounds=2,
            warm_up=False,
        )


# The columns of the table, and whether they are forests of ours, boosting of ours, or
# those that a user would take instead.
COLUMNS = {
    "forest": ("sklearn-bandit", "forest"),
    "leaves of 5": ("sklearn-bandit, min_samples_leaf=5", "forest"),
    "half of the features a tree": (
        "sklearn-bandit, half of the features a tree",
        "forest",
    ),
    "ordinal codes": ("ordinal codes", None),
    "one-hot": ("one-hot", "other"),
    "LightGBM, rf": ("LightGBM, forest", None),
    "boosting": ("sklearn-bandit, boosting", "boosting"),
    "on a forest's order": ("sklearn-bandit, boosting on the order", "boosting"),
    "LightGBM": ("LightGBM", "other"),
    "CatBoost, 300": ("CatBoost, 300 trees", "other"),
}


# Seeds of each model. The data are the same.
N_SEEDS = 5


@benchmark("categories.accuracy", data=["adult", "flights2001_3m"])
def accuracy(options):
    """Scores on new samples of forests and boosting, of ours and of others."""
    n_seeds = options.rounds or N_SEEDS
    means, errors, distances = [], [], []
    for name, make in SETS.items():
        if not options.wants(name):
            continue
        X, y, X_test, y_test, columns = make()
        score = next(iter(qualities(X_test, y_test).values()))
        found = {}
        for key, fit in contenders(X, y, columns, options.threads).items():
            if not isinstance(fit, Contender):
                fit = Contender(fit)
            if fit.is_installed:
                found[key] = np.array([score(fit.run(seed)) for seed in range(n_seeds)])
        mean = {key: scores.mean() for key, scores in found.items()}
        error = {key: _standard_error(scores) for key, scores in found.items()}
        means.append([name, *(mean.get(key) for key, _ in COLUMNS.values())])
        errors.append([name, n_seeds])
        errors[-1] += [error.get(key) for key, _ in COLUMNS.values()]
        best = {
            kind: max((mean[key], title) for title, key in members if key in mean)
            for kind, members in _by_kind().items()
        }
        others, which = best["other"]
        gaps = [100 * (best[kind][0] - others) for kind in ("forest", "boosting")]
        default = 100 * (mean["sklearn-bandit"] - others)
        distances.append([name, which, others, default, *gaps])
    yield Table(
        "100 trees: accuracy, or R2 of 200 categories",
        ["data", *COLUMNS],
        means,
        note="Means over the seeds of the models.",
    )
    yield Table(
        "standard errors of these means, over the seeds",
        ["data", "seeds", *COLUMNS],
        errors,
        note="0 where a model makes no use of its seed.",
    )
    yield Table(
        "points above the best of one-hot columns, LightGBM and CatBoost",
        [
            "data",
            "the best of them",
            "its score",
            "the default forest",
            "the best forest",
            "boosting",
        ],
        distances,
        note="The best forest is that of three of ours, chosen by these scores.",
    )


def _standard_error(scores):
    """Return that of a mean; None where a single score does not tell."""
    if len(scores) == 1:
        return None
    return scores.std(ddof=1) / np.sqrt(len(scores))


def _by_kind():
    kinds = {}
    for title, (key, kind) in COLUMNS.items():
        kinds.setdefault(kind, []).append((title, key))
    return kinds


def out_of_bag_forest(X, y, columns, threads):
    """Return a forest with its out-of-bag score; None for `columns` leaves codes."""
    forest = RandomForestClassifier if y.dtype.kind in "iu" else RandomForestRegressor
    return forest(
        N_TREES,
        categorical_features=columns,
        oob_score=True,
        n_jobs=threads,
        random_state=0,
    ).fit(X, y)


@benchmark("categories.out_of_bag", data=["adult", "flights2001_3m"])
def out_of_bag(options):
    """How far out-of-bag scores are above those of new samples."""
    rows = []
    for name, make in SETS.items():
        if not options.wants(name):
            continue
        X, y, X_test, y_test, columns = make()
        for encoding, chosen in (("categories", columns), ("ordinal codes", None)):
            model = out_of_bag_forest(X, y, chosen, options.threads)
            score = model.score(X_test, y_test)
            rows.append([name, encoding, model.oob_score_, score])
            rows[-1].append(model.oob_score_ - score)
    yield Table(
        "accuracy or R2 of 100 trees",
        ["data", "encoding", "out of bag", "new samples", "difference"],
        rows,
    )
