"""The racing searches beside scikit-learn's: fits and choices.

Both sides search the same candidates on the same folds. A choice is judged by the full
search's own table: by how many standard errors of the best candidate's mean score the
chosen one is worse (the standard error is the deviation of the fold scores over the
root of their number).
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_bandit.model_selection import BanditGridSearchCV

from ..data import load
from ..harness import Table, benchmark

FOLDS = 10
SAMPLES = 4_000

TREE = {"max_depth": [1, 2, 4, 6, 8, 12], "min_samples_leaf": [1, 4, 16, 64]}
FOREST = {"max_features": [0.1, 0.3, 0.6, 1.0], "min_samples_leaf": [1, 3, 10, 30]}
NEIGHBORS = {
    "model__n_neighbors": [1, 2, 3, 5, 8, 12, 20, 40],
    "model__weights": ["uniform", "distance"],
}
PENALTY = np.logspace(-4, 3, 16)


def scaled(model):
    """A pipeline that standardises."""
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.steps[1] = ("model", model)
    return pipeline


CLASSIFIERS = {
    "tree": (DecisionTreeClassifier(random_state=0), TREE),
    "forest": (RandomForestClassifier(10, random_state=0), FOREST),
    "neighbours": (scaled(KNeighborsClassifier()), NEIGHBORS),
    "linear": (scaled(LogisticRegression(max_iter=50)), {"model__C": PENALTY}),
}
REGRESSORS = {
    "tree": (DecisionTreeRegressor(random_state=0), TREE),
    "forest": (RandomForestRegressor(10, random_state=0), FOREST),
    "neighbours": (scaled(KNeighborsRegressor()), NEIGHBORS),
    "linear": (scaled(Ridge()), {"model__alpha": 1 / PENALTY}),
}

SMALL = {
    "digits": load_digits,
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
}
REGRESSION = {"diabetes", "california_housing"}


def samples(name, n_samples, seed):
    """A random subset of a set."""
    if name in SMALL:
        X, y = SMALL[name](return_X_y=True)
    else:
        data = load(name)
        X, y = data.get("X", data.get("X_train")), data.get("y", data.get("y_train"))
    rows = np.random.default_rng(seed).permutation(len(X))[:n_samples]
    return np.nan_to_num(X[rows].astype(np.float64)), y[rows]


def folds(name, seed):
    """Ten shuffled folds."""
    kind = KFold if name in REGRESSION else StratifiedKFold
    return kind(FOLDS, shuffle=True, random_state=seed)


def compare(name, model, n_samples, seed, scoring=None, n_jobs=None, **options):
    """Run both searches; return what they chose and what it cost."""
    X, y = samples(name, n_samples, seed)
    estimator, grid = (REGRESSORS if name in REGRESSION else CLASSIFIERS)[model]
    common = {"cv": folds(name, seed), "scoring": scoring, "n_jobs": n_jobs}
    fitted = {}
    for Search, extra in ((GridSearchCV, {}), (BanditGridSearchCV, options)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            fitted[Search] = Search(estimator, grid, **common, **extra).fit(X, y)
    full, race = fitted[GridSearchCV], fitted[BanditGridSearchCV]
    results = full.cv_results_
    best = results["mean_test_score"][full.best_index_]
    error = results["std_test_score"][full.best_index_] / np.sqrt(FOLDS - 1)
    lost = best - results["mean_test_score"][race.best_index_]
    return {
        "candidates": len(results["params"]),
        "fits": race.n_fits_,
        "saved": len(results["params"]) * FOLDS / race.n_fits_,
        "same": lost <= 1e-12,
        "lost": lost / error if lost > 1e-12 else 0.0,
    }


SETS = ["digits", "adult", "electricity", "covtype", "higgs_7500", "california_housing"]


@benchmark("racing.fits", data=SETS[1:])
def fits(options):
    """Fits saved with four estimators on six sets, the default call."""
    rows = []
    for name in SETS:
        if not options.wants(name):
            continue
        for model in CLASSIFIERS:
            result = compare(name, model, SAMPLES, seed=0, n_jobs=options.threads)
            rows.append([name, model, *result.values()])
    if not rows:
        return
    saved = np.mean([row[4] for row in rows])
    yield Table(
        f"The default call beside the full search: 10 folds, up to {SAMPLES:,} "
        "samples, accuracy or R2",
        [
            "data",
            "model",
            "candidates",
            "fits",
            "times fewer",
            "same choice",
            "lost",
        ],
        rows,
        note=f"{saved:.2f} times fewer fits on average. 'lost' is by how many standard "
        "errors of its mean score the choice is worse than the full search's.",
    )


def accuracy_function(estimator, X, y):
    """A score of the user's own, compared by folds."""
    return accuracy_score(y, estimator.predict(X))


def error_function(estimator, X, y):
    """The same for regression."""
    return -mean_squared_error(y, estimator.predict(X))


KINDS = {
    "samples: accuracy": ["digits", "adult", "breast cancer"],
    "samples: neg_log_loss": ["electricity", "adult", "breast cancer"],
    "samples: neg_mean_absolute_error": ["diabetes", "california_housing"],
    "groups: roc_auc": ["adult", "electricity", "breast cancer"],
    "folds: a function": ["diabetes", "adult", "electricity"],
}


@benchmark("racing.guarantee", data=["adult", "electricity", "california_housing"])
def guarantee(options):
    """How often the choice is the full search's, or within one standard error of it."""
    n_seeds = 40 if options.rounds is None else options.rounds
    for tol in ("one_se", 0.0):
        rows = []
        for kind, sets in KINDS.items():
            found = []
            for seed in range(n_seeds):
                name = sets[seed % len(sets)]
                scoring = kind.partition(": ")[2]
                if kind.startswith("folds"):
                    regression = name in REGRESSION
                    scoring = error_function if regression else accuracy_function
                model = ["tree", "neighbours", "linear"][seed // len(sets) % 3]
                found.append(compare(name, model, 500, seed, scoring, tol=tol))
            lost = np.array([result["lost"] for result in found])
            rows.append(
                [
                    kind,
                    len(found),
                    np.mean([result["saved"] for result in found]),
                    int(sum(result["same"] for result in found)),
                    int(np.sum(lost <= 1)),
                    lost.mean(),
                    lost.max(),
                ]
            )
        yield Table(
            "Trees, neighbours and linear models on random subsets of 442 to 500 "
            f"samples, 10 folds, delta = .05, tol = {tol}",
            [
                "raced on",
                "searches",
                "times fewer fits",
                "same choice",
                "within 1 SE",
                "lost: mean",
                "most",
            ],
            rows,
            note="'lost' is by how many standard errors the choice is worse than the "
            "full search's.",
        )
