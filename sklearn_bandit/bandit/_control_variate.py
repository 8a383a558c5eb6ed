"""What is known of every arm on all references, without their costs.

A control variate is a function of arm and reference whose sum over all references is
cheap. Where it says most of what the costs are, a search samples only what it leaves
open: ``_regression`` has the estimator.
"""

from typing import Protocol

import numpy as np


class Source(Protocol):
    """A function ``f(x, j)`` of arm and reference with cheap weighted sums over j."""

    def power_sums(self, weights, labels, n_groups):
        """Prepare sums over the last references, group by group."""

    def powers_of(self, arms, *sums):
        """Return the sums of some arms, of shape (n_arms, n_groups)."""


class ControlVariate:
    """A linear function of a known one for each reference, with sums by group.

    The variate of the arm x on the reference j is ``slopes[j] (f(x, j) - origins[j])``.

    Parameters
    ----------
    source : Source
        Sums f.
    slopes, origins : ndarray of shape (n_references,)
        See above; float32.
    labels : ndarray of shape (n_references,)
        Group of each reference.
    n_groups : int
        Number of groups; 0 if there is no variate.
    n_known : int
        Leading references that are not to be estimated.

    Attributes
    ----------
    exists : bool
        Whether there is one.
    """

    def __init__(self, source, slopes, origins, labels, n_groups, n_known):
        self.exists = n_groups > 0
        self.slopes = slopes
        self.origins = origins
        self.n_groups = n_groups
        self._source = source
        self._labels = labels
        self._n_known = n_known
        self._sums = None

    @classmethod
    def absent(cls, n_references):
        """Return one that says nothing."""
        zeros = np.zeros(n_references, np.float32)
        return cls(None, zeros, zeros, None, 0, 0)

    def totals(self, arms):
        """Return the sums over all references that are not known.

        Parameters
        ----------
        arms : ndarray
            Ascending numbers of arms.

        Returns
        -------
        ndarray of shape (n_arms, n_groups)
            The sums.
        """
        if not self.exists:
            return np.empty((len(arms), 0))
        first = self._n_known
        if self._sums is None:
            slopes, labels = self.slopes[first:], self._labels[first:]
            self._sums = self._source.power_sums(slopes, labels, self.n_groups)
            self._constant = np.bincount(
                labels, slopes * self.origins[first:].astype(float), self.n_groups
            )
        return self._source.powers_of(arms, *self._sums) - self._constant

    def counts(self, stop, start=None):
        """Return the number of sampled references with a variate, for each group.

        Parameters
        ----------
        stop : int
            The sample are the references from `start` to this one.
        start : int, default=None
            `n_known` if it is not given.

        Returns
        -------
        ndarray of shape (n_groups,)
            The numbers, as floats.
        """
        if not self.exists:
            return np.empty(0)
        part = slice(self._n_known if start is None else start, stop)
        counts = np.bincount(
            self._labels[part][self.slopes[part] > 0], minlength=self.n_groups
        )
        return counts.astype(np.float64)
