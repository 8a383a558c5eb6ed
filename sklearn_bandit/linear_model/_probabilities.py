"""Probabilities of an output layer from few exact scores, with a certain bound.

The probability of class i is ``g(s_i) / sum_j g(s_j)``, with ``g = exp`` for a softmax
and the logistic function for classifiers of one class against the rest. For a single
input the time goes into reading the weights. A copy of them in bytes, a quarter or an
eighth of the memory, gives a rough score r of every class and a bound e of its error.
As the logarithm of g has a slope of at most one, ``g(s)`` is within a factor
``exp(e)`` of ``g(r)``, and with rough scores for some classes the sum is off by at most

    sum_j g(r_j) (exp(e_j) - 1)

over these, or by less. Exact scores are computed for the classes that may be among the
best, and for those with the largest terms of this bound, until it is a small share of
the sum.
"""

import numpy as np
from scipy.special import expit

from ..neighbors import rough_scores

# Classes whose exact scores are computed at first for the sum; doubled each time.
FIRST_EXACT = 128

# If more than one class in this number would be computed, all are: single rows from all
# over the memory are read at a fraction of the speed of all rows in order.
MAX_EXACT_SHARE = 16


def find_link(estimator, weights):
    """Return how the probabilities of a classifier come from its scores.

    The classifier's own are compared, at a few inputs, with those of each link.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier with ``predict_proba``, of more than two classes.
    weights : ndarray of shape (n_classes, n_features)
        Its weights.

    Returns
    -------
    {"softmax", "logistic", None}
        None if it is neither.
    """
    # Scores far below zero, or far apart, do not tell the links from each other. So two
    # classes get scores of 1 and 3.
    zero = np.zeros((1, weights.shape[1]), dtype=weights.dtype)
    intercepts = estimator.decision_function(zero)[0]
    wanted = np.array([1.0, 3.0]) - intercepts[:2]
    probe = np.linalg.lstsq(weights[:2].astype(np.float64), wanted, rcond=None)[0]
    inputs = np.vstack([zero[0], probe]).astype(weights.dtype)
    scores = estimator.decision_function(inputs)
    expected = estimator.predict_proba(inputs)
    for link, terms in LINKS.items():
        sums = np.array([terms(row, 0.0, row.max()) for row in scores])
        sums /= sums.sum(axis=1, keepdims=True)
        if np.allclose(sums, expected, rtol=1e-4, atol=1e-12):
            return link
    return None


def _exponential(scores, offset, largest):
    """Terms of a softmax, relative to that of the largest score."""
    terms = np.subtract(scores, largest - offset, dtype=np.float64)
    return np.exp(terms, out=terms)


def _logistic(scores, offset, largest):
    """Terms of classifiers of one class against the rest, relative likewise."""
    if largest < FAR_BELOW:
        # The ratio is that of the exponentials.
        return _exponential(scores, offset, largest)
    terms = np.add(scores, offset, dtype=np.float64)
    expit(terms, out=terms)
    terms /= expit(largest)
    return terms


# Scores whose logistic function is an exponential, to the last bit.
FAR_BELOW = -40.0

LINKS = {"softmax": _exponential, "logistic": _logistic}


class OutputLayer:
    """Probabilities from a search index of the weights.

    Parameters
    ----------
    index : Index
        The weights in bytes, of metric "inner_product": one row a class, followed by
        its intercept if queries are followed by a one.
    offset : float
        What is added to all inner products.
    link : {"softmax", "logistic"}
        How probabilities come from scores.
    """

    def __init__(self, index, offset, link):
        self.index = index
        self.offset = offset
        self.link = link

    def probabilities(self, query, k, tol, n_threads):
        """Compute the probabilities of all classes for one input.

        Parameters
        ----------
        query : ndarray of shape (n_features,)
            The input.
        k : int
            Number of classes that count as the best, fewer than there are.
        tol : float
            Largest relative error of the sum over all classes.
        n_threads : int
            Number of threads.

        Returns
        -------
        probabilities : ndarray of shape (n_classes,), or None
            They add up to one. Those of the k best classes, and of all others with
            exact scores, are off by a factor between ``1 - tol`` and ``1 + tol``; the
            absolute errors of all add up to at most ``2 * tol``. None if too many
            exact scores would have to be computed.
        n_exact : int
            Number of exact scores.
        """
        try:
            rough, errors = rough_scores(self.index, query, n_threads)
        except ArithmeticError:
            return None, 0
        n, most, link = len(rough), len(rough) // MAX_EXACT_SHARE, LINKS[self.link]
        # NaN, of rows that bytes cannot hold, is not finite either.
        if not (np.isfinite(rough.max()) and np.isfinite(errors.max())):
            return None, 0
        # In place where it can be: new memory takes longer than what is done with it.
        best = np.flatnonzero(rough >= np.partition(rough, n - k)[n - k])
        least_best = (rough[best] - errors[best]).min()
        upper = np.add(rough, errors, out=errors)
        chosen = np.flatnonzero(upper >= least_best)
        if len(chosen) > most:
            return None, 0
        exact = self._exact(query, chosen) + self.offset
        largest = exact.max()
        # Double precision: probabilities may be smaller than single precision can hold.
        terms = link(rough, self.offset, largest)
        # No larger than one, but for those that are chosen, which have none.
        np.minimum(upper, np.float32(largest - self.offset), out=upper)
        doubt = link(upper, self.offset, largest)
        doubt -= terms
        terms[chosen] = link(exact, 0.0, largest)
        doubt[chosen] = 0.0
        n_exact, n_more = len(chosen), FIRST_EXACT
        while doubt.sum() > tol * (total := terms.sum()):
            if n_exact + n_more > most:
                return None, n_exact
            chosen = np.argpartition(doubt, n - n_more)[n - n_more :]
            terms[chosen] = link(self._exact(query, chosen), self.offset, largest)
            doubt[chosen] = 0.0
            n_exact, n_more = n_exact + n_more, 2 * n_more
        terms /= total
        return terms, n_exact

    def _exact(self, query, classes):
        """Compute scores, without the offset, of some classes."""
        return self.index.segments[0].rows[classes].astype(np.float64) @ query
