"""Contenders of YDF and Perpetual, whose interfaces are not scikit-learn's.

Both see the arrays that the others see. YDF looks for splits between bins
(``discretize_numerical_columns``), as all others do: its exact splits take several
times as long.
"""

import numpy as np

from ..harness import Contender

YDF = "YDF"
PERPETUAL = "Perpetual"


class _Model:
    """The answers of a model of YDF, as scikit-learn gives them."""

    def __init__(self, model, classes):
        self.model, self.classes_ = model, classes

    def predict_proba(self, X):
        found = self.model.predict({"X": X})
        if found.ndim == 1:
            found = np.column_stack([1 - found, found])
        # Its classes are in an order of their own, and have names.
        return found[:, np.argsort([int(name) for name in self.model.label_classes()])]

    def predict(self, X):
        if self.classes_ is None:
            return self.model.predict({"X": X})
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))


def _train(learner, X, y, **parameters):
    """Fit a learner of YDF."""
    import ydf

    ydf.verbose(0)
    is_class = y.dtype.kind != "f"
    classes = np.unique(y) if is_class else None
    task = ydf.Task.CLASSIFICATION if is_class else ydf.Task.REGRESSION
    built = getattr(ydf, learner)(
        label="y", task=task, discretize_numerical_columns=True, **parameters
    )
    targets = np.searchsorted(classes, y) if is_class else y
    return _Model(built.train({"X": X, "y": targets}), classes)


def ydf_boosting(data, threads, max_iter, learning_rate, n_leaves):
    """Return YDF's gradient boosting, grown by leaf, with as many leaves."""

    def run(seed):
        X, _, y, _ = data
        return _train(
            "GradientBoostedTreesLearner",
            X,
            y,
            num_trees=max_iter,
            shrinkage=learning_rate,
            growing_strategy="BEST_FIRST_GLOBAL",
            max_num_nodes=n_leaves,
            max_depth=-1,
            validation_ratio=0.0,
            early_stopping="NONE",
            num_threads=threads,
            random_seed=seed,
        )

    return Contender(run, needs="ydf")


def ydf_forest(data, threads, n_trees, max_depth):
    """Return YDF's random forest."""

    def run(seed):
        X, _, y, _ = data
        return _train(
            "RandomForestLearner",
            X,
            y,
            num_trees=n_trees,
            max_depth=max_depth,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=threads,
            random_seed=seed,
        )

    return Contender(run, needs="ydf")


def perpetual(data, threads, budget=0.5):
    """Return Perpetual, which chooses its own number of trees, by a budget."""

    def run(seed):
        from perpetual import PerpetualBooster

        X, _, y, _ = data
        objective = "SquaredLoss" if y.dtype.kind == "f" else "LogLoss"
        return PerpetualBooster(
            objective=objective, budget=budget, num_threads=threads, seed=seed
        ).fit(X, y)

    return Contender(run, needs="perpetual")
