"""Probabilities of the best classes; a sample estimates the sum over all others.

The probability of class i is ``exp(s_i) / sum_j exp(s_j)``. A search finds the classes
with the largest scores, and with these a part A of the sum, with certainty. The rest
has many small terms. Classes are drawn, once a fit, with probabilities q that do not
depend on the input. The mean of the values ``exp(s_j) / q_j`` over the draws, zero for
classes in A, has the rest of the sum as its expectation.

**Which q.** Much of a score does not depend on the input: in a model of words, the
intercepts b are the logarithms of frequencies. With ``q_j`` proportional to
``exp((1 - a) b_j)`` values are proportional to ``exp(x w_j + a b_j)``, which vary far
less than ``exp(s_j)``. Without intercepts all classes are as likely.

**The bound** on the error is an empirical Bernstein bound, which needs the largest
value. Its logarithm is the largest inner product with the input followed by a, where
that of a score is followed by one: a search in the same index, as certain as the other.
The classes of the largest values join A, and the next value bounds all that are left.
"""

import numpy as np

from ..bandit import bernstein_radius, split_delta

# The share of an intercept that is left in the values. At 0 their variance is smallest,
# but the layout of the index serves queries with a one. On a skip-gram layer of 69,598
# words x 512 features, medians of 30 inputs: variances of .15, .50 and 2.8 (in units of
# the squared sum) for 0, 1/4 and 1/2, and searches of 2.2, .48 and .16 ms.
SHARE_LEFT = 0.25

# Classes in A, by score and by value. On that layer five by value bring the largest
# value of the others from 5.8 to 3.3 times the sum (medians; the largest of 30 inputs
# from 77 to 8). 50 by score take a tenth longer to find than 20, and save a tenth of
# the radius.
N_BEST, N_LARGEST = 50, 5

# Classes that are drawn before each look, and the largest share of all classes.
LOOKS = (512, 2048, 4096, 8192)
LARGEST_SHARE = 1 / 4

# Searches follow if the first look finds radii of up to this many times the tolerance:
# what is known afterwards, and left out, has much of the variance.
SLACK = 2.0

# Weights from which on a sample pays. By processor time of one thread, on layers of 512
# features of the kind above and with a tolerance of .05, it was 1.3 times as fast as
# all products with 20,000 words (of two threads, about as fast) and 1.4 with 40,000.
MIN_WEIGHTS = 1 << 24

# The exponential of more would overflow.
LARGEST_EXPONENT = 700.0


def is_worth_a_sample(shape):
    """Whether a layer of n_classes and n_features is large enough for a sample."""
    return shape[0] * shape[1] >= MIN_WEIGHTS and LARGEST_SHARE * shape[0] >= LOOKS[0]


class ClassSample:
    """A sample of the classes, and what it says of an input.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_columns)
        The weights, of enough classes for a first look.
    has_intercepts : bool
        Whether a row ends in an intercept, and an input in a one.
    rng : Generator
        Draws the sample.
    """

    def __init__(self, weights, has_intercepts, rng):
        self.n_classes = n = len(weights)
        self.looks = [size for size in LOOKS if size <= LARGEST_SHARE * n]
        self.left_out = None  # of the scores, in the logarithms of values
        logits = np.zeros(n)
        if has_intercepts:
            logits = (1.0 - SHARE_LEFT) * weights[:, -1].astype(np.float64)
            self.left_out = logits
        sums = np.cumsum(np.exp(logits - logits.max()))
        drawn = rng.random(self.looks[-1]) * sums[-1]
        self.classes = np.minimum(np.searchsorted(sums, drawn, "right"), n - 1)
        self.weights = weights[self.classes]
        # What is added to a product for the logarithm of a value.
        self.log_scale = float(np.log(sums[-1]) + logits.max())

    def probabilities(self, search, query, k, tol, delta):
        """Find the best classes of one input, and their probabilities.

        Parameters
        ----------
        search : BanditNearestNeighbors
            The search over the weights.
        query : ndarray of shape (1, n_columns)
            The input, followed by a one if there are intercepts.
        k : int
            Number of classes.
        tol : float
            The largest relative error.
        delta : float
            Probability that an error is larger than its bound.

        Returns
        -------
        classes : ndarray of shape (k,), or None
            Positions of the classes, best first. None if the sample does not suffice.
        probabilities : ndarray of shape (k,), or None
            Of these classes.
        error : float
            Bound of their relative error.
        """
        delta = split_delta(delta / 2, 1, 1, len(self.looks))
        weighted = query
        if self.left_out is not None:
            weighted = query.copy()
            weighted[0, -1] = SHARE_LEFT
        rest = _Rest(self, weighted[0])
        rest.draw(self.looks[0])
        # Searches are in vain if even the largest value so far is too large.
        if not rest.can_be_known(rest.values.max(), SLACK * tol, delta):
            return None, None, np.inf
        n_best = min(max(k, N_BEST), self.n_classes)
        (scores,), (classes,) = search.kneighbors(query, n_best)
        rest.know(classes, scores)
        reach = scores[-1]
        if self.left_out is not None:
            if not rest.can_be_known(rest.values.max(), tol, delta):
                return None, None, np.inf
            (products,), (largest,) = search.kneighbors(weighted, N_LARGEST + 1)
            rest.know(largest[:-1], products[:-1] + self.left_out[largest[:-1]])
            reach = products[-1]
        if not rest.draw_until(tol, rest.value(reach), delta):
            return None, None, rest.error()
        return classes[:k], rest.terms(scores[:k]) / rest.total(), rest.error()


class _Rest:
    """The sum over all classes of one input: a part that is known, and a rest.

    Terms are relative to the largest that is known, so that they do not overflow.

    Parameters
    ----------
    sample : ClassSample
        The sample.
    query : ndarray of shape (n_columns,)
        What the weights of a class are multiplied with for its value.

    Attributes
    ----------
    known : float
        Sum over the classes that are known.
    low, high : float
        Bounds of the rest.
    values : ndarray of shape (n_drawn,)
        Terms of the classes drawn over their probabilities; zero for known ones.
    """

    def __init__(self, sample, query):
        self.sample = sample
        self.query = query
        self.is_known = np.zeros(sample.n_classes, dtype=bool)
        self.known = 0.0
        self.low, self.high = 0.0, np.inf
        self.values = np.empty(0)
        self.largest = None

    def terms(self, scores):
        """Return the terms of scores."""
        return np.exp(np.minimum(scores - self.largest, LARGEST_EXPONENT))

    def value(self, products):
        """Return the values of products with the query."""
        return self.terms(products + self.sample.log_scale)

    def draw(self, size):
        """Compute the values of as many classes of the sample as are asked for."""
        start = len(self.values)
        if start < size:
            products = self.sample.weights[start:size] @ self.query
            products = products.astype(np.float64)
            if self.largest is None:
                self.largest = products.max() + self.sample.log_scale
            values = self.value(products)
            self._leave_out(values, start)
            self.values = np.append(self.values, values)

    def know(self, classes, scores):
        """Add classes to those that are known."""
        largest = max(self.largest, scores.max())
        scale = np.exp(self.largest - largest)
        self.known, self.values, self.largest = (
            self.known * scale,
            self.values * scale,
            largest,
        )
        is_new = ~self.is_known[classes]
        self.known += self.terms(scores[is_new]).sum()
        self.is_known[classes] = True
        self._leave_out(self.values, 0)

    def _leave_out(self, values, start):
        drawn = self.sample.classes[start : start + len(values)]
        values[self.is_known[drawn]] = 0.0

    def draw_until(self, tol, reach, delta):
        """Draw until the error is small enough; whether it is. No value is larger."""
        for size in self.sample.looks:
            self.draw(size)
            mean, radius = self.values.mean(), self._radius(size, reach, delta)
            self.low, self.high = max(mean - radius, 0.0), min(mean + radius, reach)
            if self.error() <= tol:
                return True
            if not self.can_be_known(reach, tol, delta):
                return False
        return False

    def can_be_known(self, reach, tol, delta):
        """Whether the whole sample suffices, if it is like the part drawn so far."""
        radius = self._radius(self.sample.looks[-1], reach, delta)
        return radius <= tol * (self.known + self.values.mean())

    def _radius(self, size, reach, delta):
        return bernstein_radius(self.values.var(ddof=1), reach, size, delta)

    def total(self):
        """Return the sum over all classes; the rest is in the middle of its bounds."""
        return self.known + (self.low + self.high) / 2

    def error(self):
        """Return the bound of the relative error of this sum."""
        return (self.high - self.low) / (2 * self.known + self.low + self.high)
