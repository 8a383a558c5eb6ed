"""Rows are held out by their numbers: the same as before, and X is not copied."""

import os
import re
import sys

import numpy as np
import pytest
from fault_processes import run_apart
from fault_programs import fit_memory_map
from numpy.testing import assert_array_equal
from sklearn.model_selection import train_test_split

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_bandit.ensemble._boosting._sampling.array_rows import (
    split_rows,
    take_rows,
)
from sklearn_bandit.ensemble._boosting._sampling.row_weight import rarest_class


@pytest.mark.parametrize("n_classes", [None, 2, 5])
@pytest.mark.parametrize("test_size", [0.1, 0.37, 20])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_train_test_split(n_classes, test_size, seed):
    n = 200 + seed
    y = None
    if n_classes is not None:
        y = np.random.RandomState(seed).choice(n_classes, n, p=None).astype(np.float64)
        y[y == 3] = 7  # a class that the training part does not have
    expected = train_test_split(
        np.arange(n), test_size=test_size, stratify=y, random_state=seed
    )
    found = split_rows(y, n, test_size, seed)
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    ("y", "test_size"),
    [([0, 0, 0, 1], 0.5), ([0, 1] * 5, 1), ([0, 1] * 5, 9), ([0, 1], 2), ([0, 1], 0.1)],
)
def test_errors_are_those_of_train_test_split(y, test_size):
    y = np.array(y)
    with pytest.raises(ValueError, match=r"size|class") as expected:
        train_test_split(y, test_size=test_size, stratify=y, random_state=0)
    # Versions differ in the words that follow.
    with pytest.raises(ValueError, match=re.escape(str(expected.value)[:19])):
        split_rows(y, len(y), test_size, 0)


@pytest.mark.parametrize("solver", ["exact", "mab"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "estimator", [HistGradientBoostingClassifier, HistGradientBoostingRegressor]
)
def test_a_held_out_part_is_as_good_as_a_copy(estimator, solver, weighted):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((20_000, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X))
    if estimator is HistGradientBoostingClassifier:
        y = np.digitize(y, [-1, 1])
    weights = rng.rand(len(X)) if weighted else None
    model = estimator(solver=solver, batch_size=1000, max_iter=10, random_state=0)
    whole = model.fit(X, y, sample_weight=weights)
    stratify = y if estimator is HistGradientBoostingClassifier else None
    parts = train_test_split(
        np.arange(len(X)),
        test_size=0.1,
        stratify=stratify,
        random_state=whole._random_seed,
    )
    train, held_out = parts
    copies = estimator(**model.get_params()).fit(
        X[train],
        y[train],
        sample_weight=None if weights is None else weights[train],
        X_val=X[held_out],
        y_val=y[held_out],
        sample_weight_val=None if weights is None else weights[held_out],
    )
    assert_array_equal(whole.validation_score_, copies.validation_score_)
    assert_array_equal(whole.train_score_, copies.train_score_)
    assert_array_equal(whole.predict(X), copies.predict(X))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizer")
@pytest.mark.parametrize("is_classifier", [False, True])
def test_a_file_larger_than_memory_is_not_copied(tmp_path, is_classifier):
    path = tmp_path / "X.npy"
    # Room for bytes instead of numbers, and for what is kept of a row beside them.
    assert run_apart(fit_memory_map, path, is_classifier, 0.45) == (0, True)
    assert run_apart(fit_memory_map, path, is_classifier, 0.05) == (0, False)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("counts", [(7, 3), (3, 7), (10, 0), (0, 10), (4, 0, 2, 5)])
def test_rarest_class_that_there_is(dtype, counts):
    y = np.repeat(np.arange(len(counts)), counts).astype(dtype)
    assert rarest_class(y) == min(count for count in counts if count)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_taken_in_parts(order, n_threads):
    X = np.asarray(np.random.default_rng(0).normal(size=(100, 4)), order=order)
    rows = np.array([99, 3, 3, 0, 50])
    assert_array_equal(take_rows(X, rows, n_threads), X[rows])
