"""Gradients and hessians of the logistic losses are scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_bandit.ensemble._boosting.booster import KERNELS, compute_gradients


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
    assert type(loss) in KERNELS
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


def test_a_loss_is_known_by_its_class():
    """What derives from scikit-learn's loss and has its name is another loss."""
    scikit_learns = type(loss_of(2))

    class Doubled(scikit_learns):
        def gradient_hessian(self, *, gradient_out, hessian_out, **arguments):
            super().gradient_hessian(
                gradient_out=gradient_out, hessian_out=hessian_out, **arguments
            )
            gradient_out *= 2
            return gradient_out, hessian_out

    Doubled.__name__ = scikit_learns.__name__
    Doubled.__module__ = scikit_learns.__module__
    y, raw = np.array([0.0, 1.0, 1.0]), np.array([[0.5], [0.5], [-2.0]], order="F")
    found, doubled = np.empty((2, 1, 3, 2), dtype=np.float32)
    compute_gradients(loss_of(2), y, raw, None, found, 1)
    compute_gradients(Doubled(), y, raw, None, doubled, 1)
    assert_allclose(doubled, found * [2.0, 1.0], rtol=1e-6)
