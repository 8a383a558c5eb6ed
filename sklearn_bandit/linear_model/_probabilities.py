"""Probabilities of an output layer from a few exact scores (adaptive softmax).

The probability of class i is ``g(s_i) / sum_j g(s_j)``, with ``g = exp`` for a softmax
and the logistic function for classifiers of one class against the rest. The largest
scores come from a search and are exact. The sum over the other classes is what costs:

- *Rough scores* of all classes come from the leading directions of the weights, a small
  share of the multiplications.
- Classes are drawn with probabilities proportional to g of their rough scores. The mean
  of ``g(exact) / g(rough)`` over a draw is how much the sum of the rough ones is off.
  Draws go on until the radius of this mean is small enough, or all scores are computed.

No class that was not found has a larger score than the last one found. So none that the
rough scores miss can hold much of the sum: the largest terms are all known.
"""

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import randomized_svd

from ..bandit import LEAST_EFFECTIVE_SIZE, effective_size, paired_radius, split_delta

# Leading directions: one for this number of classes or features, whichever are fewer.
# On word vectors (10,000 x 512) half of the inputs take 128 draws at a tolerance of
# .05, with 8 and 32 as well; on a hidden layer of digits (1,000 x 4,096) 64 with 8, 128
# with 16, and half are computed in full with 32. Times were not told apart.
SCORES_PER_DIRECTION = 16
MAX_DIRECTIONS = 128

# Classes drawn in the first round; each round doubles them.
FIRST_DRAWS = 64

# One class in this number may be drawn before all scores are computed instead.
MAX_DRAWN_SHARE = 4

# Below this number of weights all scores take no longer than draws: on a busy machine
# single inputs took twice numpy's time at 1,000 x 4,096, and as long at 10,000 x 512.
# Larger layers were not timed.
MIN_WEIGHTS = 1 << 23


def is_worth_sampling(weights):
    """Whether draws cost less than all scores."""
    n_classes = len(weights)
    return n_classes >= MAX_DRAWN_SHARE * FIRST_DRAWS and weights.size >= MIN_WEIGHTS


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
        sums = terms(scores, scores.max(axis=1, keepdims=True))
        sums /= sums.sum(axis=1, keepdims=True)
        if np.allclose(sums, expected, rtol=1e-4, atol=1e-12):
            return link
    return None


def _exponential(scores, largest):
    """Terms of a softmax, relative to that of the largest score."""
    return np.exp(scores - largest)


def _logistic(scores, largest):
    """Terms of classifiers of one class against the rest, relative likewise."""
    # For scores far below zero the ratio is that of the exponentials.
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = expit(scores) / expit(largest)
    far = np.broadcast_to(largest < FAR_BELOW, np.shape(scores))
    return np.where(far, np.exp(scores - largest), terms)


# Scores whose logistic function is an exponential, to the last bit.
FAR_BELOW = -40.0

LINKS = {"softmax": _exponential, "logistic": _logistic}


class OutputLayer:
    """Sums over all classes, estimated from some of them.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_features)
        The weights, one row a class.
    intercepts : ndarray of shape (n_classes,)
        The intercepts.
    link : {"softmax", "logistic"}
        How probabilities come from scores.
    seed : int
        Seed of the directions and of the draws.
    """

    def __init__(self, weights, intercepts, link, seed):
        self.weights = weights
        self.intercepts = intercepts.astype(np.float64)
        self.rough_intercepts = intercepts.astype(np.float32)
        self.link = link
        n_classes, n_features = weights.shape
        self.centre = weights.mean(axis=0, dtype=np.float64)
        n_directions = min(n_classes, n_features) // SCORES_PER_DIRECTION
        n_directions = max(min(n_directions, MAX_DIRECTIONS), 1)
        centred = weights - self.centre.astype(weights.dtype)
        left, sizes, self.directions = randomized_svd(
            centred, n_directions, n_iter=2, random_state=seed
        )
        self.coefs = np.ascontiguousarray(left * sizes, dtype=np.float32)
        self.directions = np.ascontiguousarray(self.directions, dtype=weights.dtype)
        n_rounds = 1 + max(n_classes // MAX_DRAWN_SHARE // FIRST_DRAWS, 1).bit_length()
        self.sizes = FIRST_DRAWS << np.arange(n_rounds)
        self.sizes = self.sizes[self.sizes <= max(n_classes // MAX_DRAWN_SHARE, 1)]
        n_draws = self.sizes[-1] if len(self.sizes) else 0
        self.uniforms = np.random.RandomState(seed).uniform(size=n_draws)

    def probabilities(self, X, found, scores, delta, tol):
        """Probabilities of all classes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The inputs.
        found : ndarray of shape (n_samples, k)
            The classes with the largest scores, best first.
        scores : ndarray of shape (n_samples, k)
            Their scores.
        delta : float
            Error probability of an input.
        tol : float
            Largest relative error of the probabilities of the classes found.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They add up to one.
        n_computed : ndarray of shape (n_samples,)
            Exact scores that were computed beside those found.
        """
        n_samples, n_classes = len(X), len(self.weights)
        probabilities = np.empty((n_samples, n_classes))
        n_computed = np.zeros(n_samples, dtype=np.intp)
        # One by one: what is drawn for an input does not depend on the others.
        for i in range(n_samples):
            probabilities[i], n_computed[i] = self._one(
                X[i], found[i], scores[i], delta, tol
            )
        undecided = n_computed == n_classes
        if undecided.any():
            probabilities[undecided] = self.exact(X[undecided])
        return probabilities, n_computed

    def exact(self, X):
        """Probabilities from the scores of all classes."""
        scores = (X @ self.weights.T).astype(np.float64) + self.intercepts
        terms = LINKS[self.link](scores, scores.max(axis=1, keepdims=True))
        return terms / terms.sum(axis=1, keepdims=True)

    def _rough_scores(self, x):
        """Scores by the leading directions of the weights alone."""
        parts = (self.directions @ x).astype(np.float32)
        rough = self.coefs @ parts
        rough += self.rough_intercepts
        rough += np.float32(x @ self.centre)
        return rough

    def _one(self, x, found, scores, delta, tol):
        """Probabilities of one input and how many scores it took; all if undecided."""
        largest, last = np.float32(scores[0]), np.float32(scores[-1])
        terms = LINKS[self.link](scores, scores[0])
        known = terms.sum()
        # A class that was not found has no larger score than the last one found.
        rough = self._rough_scores(x)
        np.minimum(rough, last, out=rough)
        rest = LINKS[self.link](rough, largest)
        rest[found] = 0.0
        most = (len(rest) - len(found)) * terms[-1]
        sums = rest.cumsum(dtype=np.float64)
        n_computed, ratio = 0, 1.0
        if most > tol * known and sums[-1] > 0.0:
            ratio, n_computed = self._ratio(x, rest, sums, known, scores[0], delta, tol)
            if n_computed == len(rest):
                return rest, n_computed
        estimate = min(ratio * sums[-1], most)
        shares = _fill_up(rest, sums[-1], estimate, terms[-1], found)
        shares[found] = terms
        shares /= known + estimate
        return shares, n_computed

    def _ratio(self, x, rest, sums, known, largest, delta, tol):
        """Estimate by which factor the sum of the rough terms is off.

        Returns the factor and the number of scores computed for it, which is that of
        all classes where the draws do not suffice.
        """
        total = sums[-1]
        ratios = np.empty(0)
        for n_draws in self.sizes:
            uniforms = self.uniforms[len(ratios) : n_draws]
            drawn = np.searchsorted(sums, uniforms * total, side="right")
            np.minimum(drawn, len(rest) - 1, out=drawn)
            classes, place = np.unique(drawn, return_inverse=True)
            exact = self.weights[classes] @ x + self.intercepts[classes]
            terms = LINKS[self.link](exact, largest)
            ratios = np.append(ratios, (terms / rest[classes])[place])
            mean, variance = ratios.mean(), ratios.var(ddof=1)
            squares = ratios * ratios
            size = effective_size(squares.sum(), (squares * squares).sum())
            if size < LEAST_EFFECTIVE_SIZE:
                continue
            arm_delta = split_delta(delta, 1, 1, len(self.sizes))
            radius = paired_radius(variance, n_draws, size, arm_delta)
            if radius * total <= tol * (known + mean * total):
                return mean, n_draws
        return 1.0, len(rest)


def _fill_up(rest, rough_sum, total, most, found):
    """Scale terms so that they add up to a total, and none exceeds `most`."""
    if rough_sum > 0.0:
        filled = rest * (total / rough_sum)
    else:
        filled = np.full(len(rest), total / (len(rest) - len(found)))
        filled[found] = 0.0
    if filled.max() > most:
        np.minimum(filled, most, out=filled)
        # What had to be cut off goes to the others, by the room that they have.
        room = most - filled
        room[found] = 0.0
        missing = total - filled.sum()
        if 0.0 < missing <= room.sum():
            filled += missing / room.sum() * room
    return filled
