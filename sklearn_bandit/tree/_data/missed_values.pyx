"""Values that a sample missed, collected while all values are assigned to bins."""

import numpy as np

from sklearn_bandit.tree._common cimport N_SLOTS


cdef class MissedValues:
    """Distinct values that the samples of some features missed.

    Parameters
    ----------
    n_features : int
        Number of features.
    n_threads : int
        Threads that note values, each in a place of its own.
    """

    def __cinit__(self, Py_ssize_t n_features, int n_threads):
        self.values = np.empty((n_threads, n_features, N_SLOTS), dtype=np.float32)
        self.counts = np.zeros((n_threads, n_features), dtype=np.int32)

    cdef void note(
        self, int thread, Py_ssize_t feature, float value, Py_ssize_t room
    ) noexcept nogil:
        """Note a value that a feature has no bin for."""
        cdef Py_ssize_t i, n = self.counts[thread, feature]

        if n > room:
            return
        for i in range(n):
            if self.values[thread, feature, i] == value:
                return
        if n < room:
            self.values[thread, feature, n] = value
        self.counts[thread, feature] = n + 1

    def features(self):
        """Return the features that have missed values."""
        return np.flatnonzero(np.asarray(self.counts).any(axis=0))

    def add_to(self, feature, known, most):
        """Add the missed values of a feature to those that are known.

        Parameters
        ----------
        feature : int
            The feature.
        known : ndarray of float32
            Its known values.
        most : int
            Values there may be in all.

        Returns
        -------
        ndarray of float32 or None
            All values, in order; None if there are too many.
        """
        counts = np.asarray(self.counts)[:, feature]
        if counts.max() > most - len(known):
            return None
        missed = [
            np.asarray(self.values)[thread, feature, :count]
            for thread, count in enumerate(counts)
        ]
        values = np.unique(np.concatenate([known, *missed]))
        return values if len(values) <= most else None

    def forget(self, feature):
        """Forget the missed values of a feature."""
        np.asarray(self.counts)[:, feature] = 0
