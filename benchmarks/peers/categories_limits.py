"""What one order of categories cannot do, and what its parts are for: scores only.

Categories whose means tell nothing; effects that are given as numbers; rare categories
that are encoded by all samples.
"""

from contextlib import contextmanager

import numpy as np

from sklearn_bandit.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn_bandit.tree._data import target_order

from ..harness import Contender, Table, benchmark
from .categories import (
    N_TREES,
    SEED,
    contenders,
    effects,
    many,
    out_of_bag_forest,
)

# Who is compared where means tell nothing.
ON_SLOPES = ("sklearn-bandit", "ordinal codes", "one-hot", "LightGBM")


def slopes(n_samples=5000, n_test=20_000, n_categories=200):
    """Return a feature of 200 categories and a number, whose slope they are."""
    rng = np.random.default_rng(SEED)
    n = n_samples + n_test
    category, number = rng.integers(0, n_categories, n), rng.normal(size=n)
    y = rng.normal(size=n_categories)[category] * number + 0.5 * rng.normal(size=n)
    X = np.column_stack([category, number])
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:], [0]


def scores_on_slopes(threads):
    """Return R2 of models, of new samples and (of our forest) out of bag."""
    X, y, X_test, y_test, columns = slopes()
    found = contenders(X, y, columns, threads)
    rows = []
    for name in ON_SLOPES:
        fit = found[name]
        fit = fit if isinstance(fit, Contender) else Contender(fit)
        if fit.is_installed:
            rows.append([name, fit.run(0).score(X_test, y_test), None])
    rows[0][-1] = out_of_bag_forest(X, y, columns, threads).oob_score_
    return rows


def scores_of_true_effects(threads):
    """Return R2 of models that are given the effects in the place of categories."""
    samples = [*effects("additive")]
    # The effects are what `effects` draws after categories and numbers.
    rng = np.random.default_rng(SEED)
    n, n_categories = len(samples[0]) + len(samples[2]), 200
    rng.integers(0, n_categories, n), rng.integers(0, n_categories // 4, n)
    rng.normal(size=(n, 4))
    first, second = rng.normal(size=n_categories), rng.normal(size=n_categories // 4)
    for X in (samples[0], samples[2]):
        X[:, 0] = first[X[:, 0].astype(np.intp)]
        X[:, 1] = second[X[:, 1].astype(np.intp)]
    X, y, X_test, y_test, _ = samples
    forest = RandomForestRegressor(N_TREES, n_jobs=threads, random_state=0)
    boosting = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    return [
        [name, model.fit(X, y).score(X_test, y_test)]
        for name, model in (("forest", forest), ("boosting", boosting))
    ]


@contextmanager
def encoded_by_all():
    """No category is rare: each is encoded by all of its samples."""
    limit = target_order.MIN_SAMPLES
    target_order.MIN_SAMPLES = 0
    try:
        yield
    finally:
        target_order.MIN_SAMPLES = limit


def scores_of_rare_categories(threads):
    """Return out-of-bag and test accuracies, rare categories encoded in two ways."""
    X, y, X_test, y_test, columns = many()

    def row(name):
        model = out_of_bag_forest(X, y, columns, threads)
        score = model.score(X_test, y_test)
        return [name, model.oob_score_, score, model.oob_score_ - score]

    rows = [row("samples in other parts of the data")]
    with encoded_by_all():
        rows.append(row("all samples"))
    return rows


@benchmark("categories.limits")
def limits(options):
    """Where one order is no help, and what encoding rare categories is for."""
    threads = options.threads
    yield Table(
        "200 categories that are slopes of mean zero, 5,000 samples: R2",
        ["model", "new samples", "out of bag"],
        scores_on_slopes(threads),
    )
    yield Table(
        "200 categories, additive, their true effects in their place: R2",
        ["model", "R2"],
        scores_of_true_effects(threads),
    )
    yield Table(
        "7,500 categories, rare ones encoded in training by: accuracy of a forest",
        ["encoded by", "out of bag", "new samples", "difference"],
        scores_of_rare_categories(threads),
    )
