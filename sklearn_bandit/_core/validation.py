"""Checks of targets and weights that several families share."""

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from sklearn_bandit._compat import _check_sample_weight

# Weights of all samples together. Their square, and their product with the square of a
# target of single precision, stay within the range of double precision.
MAX_WEIGHT = 1e150

# Rows that kernels can number by unsigned integers of 32 bits.
MAX_UINT32_ROWS = np.iinfo(np.uint32).max

# Labels that are looked at together: their indices stay in the second-level cache.
CHUNK_LABELS = 1 << 16


class SparseInputMixin:
    """Say that sparse input is accepted, as scikit-learn 1.6 does not of its trees."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_n_samples(n_samples, most=MAX_UINT32_ROWS):
    """Raise if there are more samples than the kernels can number."""
    if n_samples > most:
        raise ValueError(f"At most {most} samples are supported, not {n_samples}.")


def check_regression_targets(y, criterion, allowed="positive"):
    """Return y as float64, refusing what the criterion cannot use.

    Messages are scikit-learn's, whose trees and forests have different words for what
    is `allowed`.
    """
    y = np.asarray(y, dtype=np.float64)
    assert_all_finite(y, input_name="y")
    if criterion == "poisson":
        if np.any(y < 0):
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson "
                "regression."
            )
        if np.sum(y) <= 0:
            raise ValueError(
                f"Sum of y is not {allowed} which is necessary for Poisson regression."
            )
    return y


def encode_classes(y):
    """Classes of each output, and y as their indices.

    Parameters
    ----------
    y : ndarray of shape (n_samples, n_outputs)
        Labels.

    Returns
    -------
    classes : list of ndarray
        Sorted labels of each output.
    codes : ndarray of shape (n_samples, n_outputs) of integers
        Their indices.
    """
    # Integers are classes; sorting them once more to see that takes as long as to split
    # the root. There is something to say only of very many classes.
    are_integers = y.dtype.kind in "iu"
    if not are_integers:
        check_classification_targets(y)
    pairs = [unique_inverse(y[:, k]) for k in range(y.shape[1])]
    if are_integers and any(2 * len(labels) > len(y) for labels, _ in pairs):
        check_classification_targets(y)
    classes = [labels for labels, _ in pairs]
    codes = [indices.reshape(-1, 1) for _, indices in pairs]
    return classes, codes[0] if len(codes) == 1 else np.hstack(codes)


def unique_inverse(labels):
    """``np.unique(labels, return_inverse=True)``, without sorting small integers.

    Labels from 0 on are their own indices: ten million of them are not copied.
    """
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low <= max(len(labels), 1024):
            codes = labels if low == 0 else labels.astype(np.intp) - low
            present = np.zeros(high - low + 1, dtype=bool)
            for start in range(0, len(codes), CHUNK_LABELS):
                present[codes[start : start + CHUNK_LABELS]] = True
                if present.all():
                    break
            if present.all():
                return np.arange(low, high + 1, dtype=labels.dtype), codes
            rank = np.cumsum(present) - 1
            values = np.flatnonzero(present) + low
            return values.astype(labels.dtype), rank[codes]
    return np.unique(labels, return_inverse=True)


def multiply_weights(weights, by_class):
    """Multiply sample weights (None for ones) by those that the classes give them.

    A sample without weight has none whatever its class: "balanced" divides by the
    weight of the class, which may be zero.
    """
    if weights is not None:
        absent = weights == 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            by_class = weights * by_class
        by_class[absent] = 0.0
    if not np.isfinite(by_class).all():
        raise ValueError(
            "The weights of samples times those of their classes (`class_weight`) must "
            "be finite."
        )
    if (by_class < 0.0).any():
        raise ValueError("Negative values in `class_weight` are not allowed.")
    if not by_class.any():
        raise ValueError(
            "All sample weights are zero after multiplication by `class_weight`: there "
            "is nothing to learn from."
        )
    return by_class


def check_weights(sample_weight, X):
    """Return sample weights as float64; negative, zero and huge ones are refused."""
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("All sample weights are zero: there is nothing to learn from.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > MAX_WEIGHT:
        raise ValueError(
            f"The sample weights add up to {total:.3g}, above {MAX_WEIGHT:g}: divide "
            "sample_weight by its maximum."
        )
    return weights
