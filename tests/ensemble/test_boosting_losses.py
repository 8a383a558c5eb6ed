"""Gradients and hessians of the logistic losses are scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_bandit.ensemble._boosting._booster import KERNELS, compute_gradients


def loss_of(n_classes):
    """scikit-learn's loss for so many classes."""
    y = np.arange(4 * n_classes) % n_classes
    model = HistGradientBoostingClassifier(max_iter=1).fit(np.zeros((len(y), 1)), y)
    return model._loss


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n", [1, 255, 5000])
def test_same_as_scikit_learn(n, n_classes, weighted, n_threads):
    rng = np.random.default_rng(0)
    loss = loss_of(n_classes)
    assert type(loss).__name__ in KERNELS
    n_trees = 1 if n_classes == 2 else n_classes
    y = rng.integers(0, n_classes, n).astype(np.float64)
    raw = np.asfortranarray(rng.standard_normal((n, n_trees)) * 10)
    raw[:: n // 3 + 1] *= 1000.0  # certain to the last digit, and beyond
    raw[1 :: n // 3 + 1] = 0.0
    weights = rng.exponential(size=n) if weighted else None
    out = np.empty((n_trees, n, 2), dtype=np.float32)
    compute_gradients(loss, y, raw, weights, out, n_threads)
    expected = loss.gradient_hessian(
        y_true=y,
        raw_prediction=raw[:, 0] if n_trees == 1 else raw,
        sample_weight=weights,
    )
    for i, part in enumerate(expected):
        assert_allclose(out[..., i], part.T.reshape(n_trees, n), rtol=2e-7, atol=1e-30)
