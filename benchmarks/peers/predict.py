"""Prediction beside scikit-learn, scikit-learn-intelex, LightGBM and treelite.

The call is the one that a user writes, with its validation, on a fitted model that has
predicted before. All sides have forests of as many trees of full depth, from the same
training set (LightGBM: from a part of it); scikit-learn and treelite have the very same
trees as we do, and their results are checked to be the same.
"""

from functools import cache

import numpy as np
from scipy.sparse import csr_matrix
from sklearn import ensemble as sk_ensemble

from sklearn_bandit import ensemble

from ..harness import Comparison, Contender, Table, benchmark
from .forest import INTELEX, OURS, SKLEARN, split

N_TRAIN = 50_000
N_TEST = 50_000
N_LEAVES = 100_000
# LightGBM has a tree for each class: of so few samples they are grown in seconds. They
# are smaller than those of the others, which is to its advantage.
N_LIGHTGBM = 5_000


@cache
def data(name, n_train=N_TRAIN):
    """Training samples, targets, and samples to predict, none of which is trained on.

    Of MNIST there are 20,000 to predict, ten thousand of each of its parts, of the
    others 50,000.
    """
    X, X_test, y, _ = split(name)
    if len(X_test) < N_TEST:
        X_test = np.concatenate([X_test, X[N_TRAIN:]])
    X, X_test = (np.ascontiguousarray(part, dtype=np.float32) for part in (X, X_test))
    return X[:n_train], y[:n_train], X_test[:N_TEST]


def as_scikit_learn(model, Theirs):
    """Scikit-learn's forest of the same trees."""
    theirs = Theirs(n_jobs=model.n_jobs)
    names = ("estimators_", "n_outputs_", "n_features_in_", "classes_", "n_classes_")
    for name in names:
        if hasattr(model, name):
            setattr(theirs, name, getattr(model, name))
    return theirs


def contenders(name, options, is_classifier):
    """Fit all sides; return what each does, and our model."""
    X, y, test = data(name)
    parameters = {"n_estimators": 100, "random_state": 0, "n_jobs": options.threads}
    if is_classifier:
        Ours, Theirs = (
            ensemble.RandomForestClassifier,
            sk_ensemble.RandomForestClassifier,
        )
    else:
        Ours, Theirs = ensemble.RandomForestRegressor, sk_ensemble.RandomForestRegressor
    model = Ours(**parameters).fit(X, y)
    theirs = as_scikit_learn(model, Theirs)
    assert np.array_equal(model.predict(test), theirs.predict(test))
    made = {}

    def by_intelex(seed):
        from sklearnex import ensemble as intelex

        if "intelex" not in made:
            made["intelex"] = getattr(intelex, Theirs.__name__)(**parameters).fit(X, y)
        return made["intelex"].predict(test)

    def by_lightgbm(seed):
        import lightgbm

        if "lightgbm" not in made:
            Side = lightgbm.LGBMClassifier if is_classifier else lightgbm.LGBMRegressor
            made["lightgbm"] = Side(
                boosting_type="rf",
                n_estimators=100,
                num_leaves=N_LEAVES,
                min_child_samples=1,
                subsample=0.632,
                subsample_freq=1,
                histogram_pool_size=1024,  # megabytes; else 24 GB on MNIST
                n_jobs=options.threads,
                verbose=-1,
            ).fit(X[:N_LIGHTGBM], y[:N_LIGHTGBM])
        return made["lightgbm"].predict(test)

    def by_treelite(seed):
        import treelite

        if "treelite" not in made:
            made["treelite"] = treelite.sklearn.import_model(theirs)
        return treelite.gtil.predict(made["treelite"], test, nthread=options.threads)

    sides = {
        OURS: lambda seed: model.predict(test),
        SKLEARN: lambda seed: theirs.predict(test),
        INTELEX: Contender(by_intelex, needs="sklearnex"),
        "LightGBM rf": Contender(by_lightgbm, needs="lightgbm"),
        "treelite": Contender(by_treelite, needs="treelite"),
    }
    if np.isnan(test).any():
        del sides[INTELEX]  # knows no missing values
    return sides, model, theirs


@benchmark("predict.forest", data=["covtype", "mnist", "beijing_air"])
def forest(options):
    """Forests of 100 trees of full depth; the goal is for the fastest."""
    for name, is_classifier in [
        ("covtype", True),
        ("mnist", True),
        ("beijing_air", False),
    ]:
        if not options.wants(name):
            continue
        sides, model, theirs = contenders(name, options, is_classifier)
        yield Comparison(
            title=f"{name}, 100 trees, {len(data(name)[2]):,} rows",
            contenders=sides,
            goals=dict.fromkeys(list(sides)[1:], 2.5),
            rounds=3,
        )
        yield two_threads(name, model)
        yield one_row(name, model, theirs)


def two_threads(name, model):
    """Two threads beside one."""
    test = data(name)[2]
    return Comparison(
        title=f"{name}, 100 trees, {len(test):,} rows, two threads beside one",
        contenders={
            "two threads": lambda seed: model.set_params(n_jobs=2).predict(test),
            "one thread": lambda seed: model.set_params(n_jobs=1).predict(test),
        },
        goals={"one thread": 1.7},
    )


def one_row(name, model, theirs):
    """Single rows, one thread, 20 calls a round."""
    rows = [data(name)[2][i : i + 1] for i in range(20)]
    theirs.set_params(n_jobs=None)

    def ours(seed):
        model.set_params(n_jobs=None)
        return [model.predict(row) for row in rows]

    return Comparison(
        title=f"{name}, one row at a time, 20 calls",
        contenders={
            OURS: ours,
            SKLEARN: lambda seed: [theirs.predict(row) for row in rows],
        },
        goals={SKLEARN: 10.0},
        rounds=5,
    )


@benchmark("predict.outputs", data=["covtype"])
def outputs(options):
    """Several outputs, and sparse samples: scikit-learn's trees."""
    X, y, test = data("covtype", 20_000)
    both = np.column_stack([y, X[:, 0] > np.median(X[:, 0])])
    for title, target, samples in [
        ("two outputs", both, test),
        ("sparse samples", y, csr_matrix(test)),
    ]:
        model = ensemble.RandomForestClassifier(
            100, random_state=0, n_jobs=options.threads
        ).fit(X, target)
        theirs = as_scikit_learn(model, sk_ensemble.RandomForestClassifier)
        assert np.array_equal(model.predict(samples), theirs.predict(samples))
        yield Comparison(
            title=f"covertype, {title}, 100 trees, 50,000 rows",
            contenders={
                OURS: lambda seed, m=model, s=samples: m.predict(s),
                SKLEARN: lambda seed, m=theirs, s=samples: m.predict(s),
            },
            goals={SKLEARN: 2.5},
            rounds=3,
        )


@benchmark("predict.boosting", data=["flights2001_3m"])
def boosting(options):
    """Boosting, 100 trees, 300,000 rows."""
    X, X_test, y, _ = split("flights2001_3m")
    X, y = X[:200_000].astype(np.float64), y[:200_000]
    test = X_test[:300_000].astype(np.float64)
    for n_leaves, goals in [
        (31, {SKLEARN: 5.0, "LightGBM": 3.0}),
        (255, {SKLEARN: 3.0, "LightGBM": 2.0}),
    ]:
        yield Comparison(
            title=f"flights, 100 trees of {n_leaves} leaves, 300,000 rows",
            contenders=boosters(X, y, test, n_leaves, options),
            goals=goals,
        )


def boosters(X, y, test, n_leaves, options):
    """Fit boosted models; return what each side does."""
    model = ensemble.HistGradientBoostingClassifier(
        max_leaf_nodes=n_leaves, early_stopping=False
    ).fit(X, y)
    theirs = sk_ensemble.HistGradientBoostingClassifier()
    theirs.__dict__.update(model.__dict__)
    assert np.array_equal(model.predict_proba(test), theirs.predict_proba(test))
    made = {}

    def by_lightgbm(seed):
        import lightgbm

        if not made:
            side = lightgbm.LGBMClassifier(
                num_leaves=n_leaves, n_jobs=options.threads, verbose=-1
            )
            made["model"] = side.fit(X, y)
        return made["model"].predict_proba(test)

    return {
        OURS: lambda seed: model.predict_proba(test),
        SKLEARN: lambda seed: theirs.predict_proba(test),
        "LightGBM": Contender(by_lightgbm, needs="lightgbm"),
    }


@benchmark("predict.adaptive", data=["covtype", "mnist", "flights2001_3m"])
def adaptive(options):
    """Classes by as many of 200 trees as it takes, beside all of them."""
    rows = []
    for name in ("covtype", "mnist", "flights2001_3m"):
        if not options.wants(name):
            continue
        X, y, test = data(name, 30_000)
        exact = ensemble.RandomForestClassifier(
            200, random_state=0, n_jobs=options.threads
        ).fit(X, y)
        few = ensemble.RandomForestClassifier(200, n_jobs=options.threads)
        few.__dict__.update(exact.__dict__ | {"predict_delta": 0.01})
        differ = np.mean(exact.predict(test) != few.predict(test))
        rows.append([name, f"{few.count_trees(test).mean():.1f}", f"{differ:.5f}"])
        yield Comparison(
            title=f"{name}, 200 trees, delta .01",
            contenders={
                "predict_delta=.01": lambda seed, m=few, t=test: m.predict(t),
                "all trees": lambda seed, m=exact, t=test: m.predict(t),
            },
            goals={"all trees": 4.0},
        )
    yield Table(
        title="Trees asked, and classes that differ (at most .01)",
        columns=["data", "trees a row", "disagreement"],
        rows=rows,
    )
