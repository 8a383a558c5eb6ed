"""What all trees of one fit share: samples in bins, encoded targets, criterion."""

from functools import partial

import numpy as np

from sklearn_bandit.tree._criteria.absolute_error import AbsoluteErrorCriterion
from sklearn_bandit.tree._criteria.classification import ClassificationCriterion
from sklearn_bandit.tree._criteria.regression import RegressionCriterion
from sklearn_bandit.tree._data.bootstrap import list_drawn
from sklearn_bandit.tree._policy import SamplingPolicy

from .node_buffer import NodeBuffer

MAX_LABELS = np.iinfo(np.uint16).max + 1
MAX_COUNT = np.iinfo(np.uint16).max


class TrainingSet:
    """A packed training set, ready to grow trees on.

    Parameters
    ----------
    packed : PackedData or None
        The samples in bins; None if only targets are wanted.
    y : ndarray of shape (n_samples, n_outputs)
        Encoded classes (integers from 0 for each output) or real targets.
    n_classes : ndarray of shape (n_outputs,), intp, or None
        Number of classes of each output; None for regression.
    criterion : str
        The criterion, by scikit-learn's name.
    features : ndarray of int or None
        Which features were packed; None for all.
    n_features_in : int or None
        Number of features before this selection.
    weights : ndarray of shape (n_samples,) or None
        Weights of the samples: those without any have no part in the training_set.
    policy : SamplingPolicy or None
        When to sample; None for the policy of estimators.
    shift : ndarray of shape (n_outputs,) or None
        What is taken off real targets; None for their mean, about.
    """

    def __init__(
        self,
        packed,
        y,
        n_classes,
        criterion,
        features=None,
        n_features_in=None,
        weights=None,
        policy=None,
        shift=None,
    ):
        self.packed = packed
        self.policy = SamplingPolicy() if policy is None else policy
        self.n_samples = len(y)
        self.n_features = n_features_in if packed is None else packed.n_features
        self.is_classification = n_classes is not None
        self.criterion = criterion
        self.features = features
        self.n_features_in = n_features_in or self.n_features
        self.codes = y
        if self.is_classification:
            self.n_classes = np.asarray(n_classes, dtype=np.intp)
            if self.n_classes.sum() > MAX_LABELS:
                raise ValueError(
                    f"At most {MAX_LABELS} classes, over all outputs, are supported; "
                    f"y has {self.n_classes.sum()}."
                )
            self.labels = y.astype(np.uint16)
            first = np.cumsum(self.n_classes) - self.n_classes
            if len(first) > 1:
                self.labels += first.astype(np.uint16)
        else:
            self.n_classes = np.ones(y.shape[1], dtype=np.intp)
            self.shift = np.zeros(y.shape[1]) if shift is None else shift
            if shift is None and criterion not in ("poisson", "absolute_error"):
                present = y if weights is None else y[weights > 0]
                self.shift = coarse_mean(present)
            self.centred = np.asarray(y, dtype=np.float64) - self.shift
        self.ones = None
        self.buffers = []

    def __getstate__(self):
        # For forests that grow in other processes: these have buffers of their own.
        return {**self.__dict__, "buffers": []}

    def take_buffer(self):
        """Take memory for a tree, to be put back into `buffers` after use.

        There are as many as trees that grow at the same time.
        """
        try:
            return self.buffers.pop()
        except IndexError:
            return NodeBuffer()

    def ids(self, counts=None, weights=None):
        """List the samples whose weight is not zero.

        Parameters
        ----------
        counts, weights
            As for `criterion_maker`.

        Returns
        -------
        ids : ndarray of shape (n,), uint32
            The samples, in ascending order. The caller may change it.
        """
        if weights is not None:
            return np.flatnonzero(weights).astype(np.uint32)
        if counts is not None:
            return list_drawn(counts)
        return np.arange(self.n_samples, dtype=np.uint32)

    def total_weight(self, counts=None, weights=None):
        """Return the weight of all samples."""
        if weights is not None:
            return weights.sum()
        return self.n_samples if counts is None else counts.sum()

    def criterion_maker(self, counts=None, weights=None):
        """Return what makes targets: each thread that grows a tree has its own.

        Parameters
        ----------
        counts : ndarray of shape (n_samples,), uint16, or None
            How often each sample is in the bootstrap sample; None for once.
        weights : ndarray of shape (n_samples,), float64, or None
            Weights, the counts included; None for the counts alone.

        Returns
        -------
        make_criterion : callable
            Makes a `Criterion`: what a tree predicts.
        """
        if self.is_classification:
            if weights is None and counts is None:
                if self.ones is None:
                    self.ones = np.ones(self.n_samples, dtype=np.uint16)
                counts = self.ones
            entropy = self.criterion != "gini"
            return partial(
                ClassificationCriterion,
                self.labels,
                self.n_classes,
                counts,
                weights,
                entropy,
            )
        moments = np.empty((self.n_samples, 1 + self.centred.shape[1]))
        integral = weights is None
        if integral:
            weights = 1.0 if counts is None else counts
        moments[:, 0] = weights
        if self.criterion == "absolute_error":
            moments[:, 1:] = self.centred
            return partial(
                AbsoluteErrorCriterion, moments, np.count_nonzero(moments[:, 0])
            )
        np.multiply(self.centred, moments[:, :1], out=moments[:, 1:])
        poisson = self.criterion == "poisson"
        return partial(RegressionCriterion, moments, self.shift, poisson, integral)


def coarse_mean(y):
    """Return the mean of each column, rounded to a power of two below its range / 1024.

    It is near enough for the squares of centred targets not to cancel, and leaves
    integers and other short numbers exact: the mean of 1 and -1 is zero in any node.
    A column without a range is its own mean: nothing is left of it to be multiplied
    with weights, however small both are.
    """
    mean = y.mean(axis=0, dtype=np.float64)
    smallest = y.min(axis=0)
    with np.errstate(over="ignore"):
        spread = y.max(axis=0) - smallest
    step = np.ldexp(1.0, np.frexp(spread)[1] - 11)
    with np.errstate(all="ignore"):
        rounded = np.round(mean / step) * step
    rounded = np.where(np.isfinite(rounded), rounded, mean)
    return np.where(spread == 0.0, smallest, rounded)


def as_counts(weights):
    """Return integer weights as counts, or None if some weight is not an integer."""
    if weights.max(initial=0.0) > MAX_COUNT:
        return None
    counts = weights.astype(np.uint16)
    return counts if np.array_equal(counts, weights) else None
