"""How many trees: `n_estimators="auto"` against fixed numbers of trees."""

import numpy as np
from sklearn.metrics import r2_score

from sklearn_bandit.ensemble import RandomForestClassifier, RandomForestRegressor

from ..data import load
from ..harness import Table, benchmark

MANY = 500


def draw(X, y, n_samples, seed):
    """Draw training and test samples."""
    drawn = np.random.default_rng(seed).permutation(len(y))[: 2 * n_samples]
    train, test = drawn[:n_samples], drawn[n_samples:]
    return X[train], y[train], X[test], y[test]


def beijing():
    """Return the Beijing air data where PM2.5 is known."""
    data = load("beijing_air")
    known = ~np.isnan(data.y)
    return data.X[known], data.y[known]


def adult():
    """Return the Adult data, categories as codes."""
    data = load("adult")
    X = np.concatenate([data.X_train, data.X_test])
    return X, np.concatenate([data.y_train, data.y_test])


def mnist():
    """Return the training set of MNIST."""
    data = load("mnist")
    return data.X_train, data.y_train


def covertype():
    """Return the covertype data."""
    data = load("covtype")
    return data.X, data.y


SETS = {
    "covertype": (covertype, 20_000),
    "mnist": (mnist, 5_000),
    "adult": (adult, 20_000),
    "beijing": (beijing, 20_000),
}


def oob_r2(model, y):
    """Return the out-of-bag R2; of classes, that of their indicators."""
    if hasattr(model, "oob_prediction_"):
        return r2_score(y, model.oob_prediction_)
    proba = model.oob_decision_function_
    hits = model.classes_ == y[:, None]
    known = np.isfinite(proba).all(axis=1)
    error = np.sum((proba - hits)[known] ** 2) / known.sum()
    return 1.0 - error / (1.0 - np.sum(hits.mean(axis=0) ** 2))


def wanted_sets(options):
    """Yield name, forest, samples, targets, and how many of them a fit has."""
    for name, (make, n_samples) in SETS.items():
        if options.wants(name):
            X, y = make()
            is_real = y.dtype.kind == "f"
            kind = RandomForestRegressor if is_real else RandomForestClassifier
            yield name, kind, X, y, n_samples


@benchmark("forest.n_trees", data=["covtype", "mnist", "adult", "beijing_air"])
def n_trees(options):
    """Scores of "auto", 100 and 500 trees; how often "auto" is within `oob_tol`."""
    n_seeds = options.rounds or 10
    rows, counts = [], []
    for name, kind, X, y, n_samples in wanted_sets(options):
        common = {"oob_score": True, "n_jobs": options.threads}
        found = {key: [] for key in ("auto", 100, MANY)}
        n_within, n_grown = 0, []
        for seed in range(n_seeds):
            X_train, y_train, X_test, y_test = draw(X, y, n_samples, seed)
            oob = {}
            for n, scores in found.items():
                # Seeds of their own: trees must not be those of the other forest.
                model = kind(n, random_state=1000 * seed + (n == MANY), **common)
                model.fit(X_train, y_train)
                scores.append(model.score(X_test, y_test))
                oob[n] = oob_r2(model, y_train)
                if n == "auto":
                    n_grown.append(model.n_estimators_)
                    tol = model.oob_tol
            n_within += oob["auto"] >= oob[MANY] - tol
        rows.append([name, min(n_grown), np.median(n_grown), max(n_grown)])
        rows[-1] += [np.mean(scores) for scores in found.values()]
        counts.append([name, n_seeds, n_within])
    yield Table(
        "accuracy or R2 of new samples, mean over seeds",
        ["data", "fewest", "median", "most", "auto", "100 trees", f"{MANY} trees"],
        rows,
    )
    yield Table(
        f"out-of-bag R2 not below that of {MANY} trees by more than oob_tol",
        ["data", "forests", "within"],
        counts,
    )


def expected_excess(model, others, X, y):
    """Return what is expected to be missing of the R2 of infinitely many trees.

    Out of bag, and of classes that of their indicators. It is the variance of a single
    tree, which other trees tell, over the trees that predict a sample.
    """
    is_real = not hasattr(model, "classes_")
    n_out = sum(_is_out(samples, len(y)) for samples in model.estimators_samples_)
    n, sums, squares = 0, 0.0, 0.0
    for tree, samples in zip(
        others.estimators_, others.estimators_samples_, strict=True
    ):
        is_out = _is_out(samples, len(y))
        found = tree.predict(X) if is_real else tree.predict_proba(X)
        found = found.reshape(len(y), -1) * is_out[:, None]
        n, sums, squares = n + is_out, sums + found, squares + found**2
    variances = (squares - sums**2 / n[:, None]).sum(axis=1) / (n - 1)
    total = y.var()
    if not is_real:
        total = 1.0 - np.sum((np.unique(y, return_counts=True)[1] / len(y)) ** 2)
    predicted = n_out > 0
    return np.mean(variances[predicted] / n_out[predicted]) / total


def _is_out(samples, n_samples):
    is_out = np.ones(n_samples, dtype=int)
    is_out[samples] = 0
    return is_out


@benchmark("forest.n_trees_excess", data=["covtype", "mnist", "adult", "beijing_air"])
def excess(options):
    """How often the expected out-of-bag R2 is within `oob_tol`, as is promised."""
    tol, n_samples, rows = 0.01, 1500, []
    for name, kind, X, y, _ in wanted_sets(options):
        found = []
        for seed in range(options.rounds or 10):
            X_train, y_train, _, _ = draw(X, y, n_samples, seed)
            model = kind("auto", oob_tol=tol, random_state=2 * seed)
            others = kind(300, random_state=2 * seed + 1)
            for each in (model, others):
                each.set_params(n_jobs=options.threads).fit(X_train, y_train)
            found.append(expected_excess(model, others, X_train, y_train) / tol)
        rows.append([name, len(found), int(np.sum(np.array(found) <= 1.0))])
        rows[-1] += [np.mean(found), max(found)]
    yield Table(
        f"Expected to be missing of the out-of-bag R2 of infinitely many trees, over "
        f"oob_tol={tol}; {n_samples:,} samples",
        ["data", "forests", "within", "mean", "most"],
        rows,
        note="The variance of a tree is estimated by 300 trees of another forest.",
    )


TOLERANCES = (0.01, 0.003)


@benchmark("forest.n_trees_tol", data=["covtype", "mnist", "adult", "beijing_air"])
def n_trees_by_tolerance(options):
    """How many trees "auto" grows with half of the samples above, by `oob_tol`."""
    rows = []
    for name, kind, X, y, n_samples in wanted_sets(options):
        rows.append([name])
        for tol in TOLERANCES:
            grown = []
            for seed in range(options.rounds or 3):
                X_train, y_train, _, _ = draw(X, y, n_samples // 2, seed)
                model = kind(
                    "auto", oob_tol=tol, n_jobs=options.threads, random_state=seed
                )
                grown.append(model.fit(X_train, y_train).n_estimators_)
            rows[-1] += [min(grown), max(grown), np.median(grown) * tol]
    columns = [
        f"oob_tol={tol}: {what}"
        for tol in TOLERANCES
        for what in ("fewest", "most", "median times oob_tol")
    ]
    yield Table(
        "Trees of three forests on 10,000 samples (MNIST 2,500)",
        ["data", *columns],
        rows,
    )
