"""How many trees: as many as it takes to settle the out-of-bag prediction.

A forest predicts the mean over its trees, which are independent draws given the
training set. By the squared error (of real targets, or of class probabilities: the
Brier score), n trees do worse than infinitely many by the variance of that mean, which
is v / n where v is the variance of a single tree. Half the squared difference of two
trees, on samples that neither has seen, has the expectation v. So pairs of trees are
references, this difference is their cost, and a radius of ``sklearn_bandit.bandit``
says how large v can be. Trees are added until v over the trees that predict a sample
out of bag is small.
"""

from itertools import islice

import numpy as np
from scipy.sparse import issparse

from sklearn_bandit.bandit import paired_radius, split_delta

# Trees at the first look: pairs enough for a finite radius.
FIRST_LOOK = 32

# By what share the forest grows from one look to the next, at most and at least. It
# grows by as many trees as are still wanted by the last look, so that their number
# follows from the data; few looks leave threads less time to wait for each other.
MOST_GROWTH, LEAST_GROWTH = 0.5, 0.05

# Samples that pairs of trees are compared on: the variance of a tree is an average over
# them. If there are more, this number is drawn; not tuned.
MAX_COMPARED_ROWS = 10_000

# Tells the draws of these samples from other draws with the seed of the first tree.
SAMPLE_STREAM = 2


class Settling:
    """Whether more trees would change the out-of-bag score of a forest.

    Parameters
    ----------
    forest : BanditForest
        `oob_tol`, `delta`, and how its samples are seen.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training set.
    training_set : TrainingSet
        The same, packed, with its targets.
    draws : Draws
        How the samples of trees are drawn.
    seed : int
        Seed of the first tree.

    Attributes
    ----------
    excess : float
        By how much the out-of-bag score can still be below that of infinitely many
        trees, at the last look.
    """

    def __init__(self, forest, X, training_set, draws, seed):
        self.tol, self.delta = forest.oob_tol, forest.delta
        self.training_set, self.draws = training_set, draws
        weights = draws.weights
        rows = np.arange(X.shape[0])
        if weights is not None:
            rows = rows[weights > 0.0]
        if len(rows) > MAX_COMPARED_ROWS:
            random_state = np.random.RandomState([seed, SAMPLE_STREAM])
            rows = np.sort(random_state.choice(rows, MAX_COMPARED_ROWS, replace=False))
        self.rows = rows
        self.X = forest._as_trees_see((X.tocsr() if issparse(X) else X)[rows])
        self.weights = np.ones(len(rows)) if weights is None else weights[rows]
        self.scale = self._total_variance()
        self.n_out = np.zeros(len(rows))
        self.costs = []
        self.n_trees = 0
        self.n_looks = 0
        self.excess = np.inf

    def _total_variance(self):
        """Variance of each output; of classes, the sum over their indicators."""
        targets = self.training_set.codes[self.rows]
        self.units = np.ones(targets.shape[1])
        if self.training_set.is_classification:
            n_classes = self.training_set.n_classes
            shares = [
                np.bincount(labels, self.weights, minlength=n) / self.weights.sum()
                for labels, n in zip(targets.T, n_classes, strict=True)
            ]
            return np.array([1.0 - np.sum(share**2) for share in shares])
        # Squares of targets near the end of the range would be infinite.
        largest = np.abs(targets).max(axis=0)
        self.units = np.where(largest > 0.0, largest, 1.0)
        targets = targets / self.units
        mean = np.average(targets, axis=0, weights=self.weights)
        return np.average((targets - mean) ** 2, axis=0, weights=self.weights)

    def batches(self, trees, grown):
        """Yield trees to be grown, a number at a time, until the forest is settled.

        Parameters
        ----------
        trees : iterator of estimators
            Trees that may be grown.
        grown : callable
            Returns all trees that are grown by now.
        """
        while True:
            n_grown = len(grown())
            if n_grown >= FIRST_LOOK and self.look(grown()):
                return
            n_more = max(FIRST_LOOK - n_grown, self._n_wanted(n_grown) - n_grown)
            batch = list(islice(trees, n_more))
            if not batch:
                return
            yield batch

    def _n_wanted(self, n_grown):
        """Return an even number of trees for the next look: what the last one wants.

        What is missing is in inverse proportion to the number of trees, as long as the
        radius stays; a smaller one will want fewer.
        """
        share = np.inf if self.tol == 0 else self.excess / self.tol - 1.0
        share = min(max(share, LEAST_GROWTH), MOST_GROWTH)
        return n_grown + 2 * max(round(share * n_grown / 2.0), 1)

    def look(self, trees):
        """Return whether the out-of-bag prediction of the trees is settled.

        Parameters
        ----------
        trees : list of estimators
            All trees, in their order; those of earlier looks come first.
        """
        for first in range(self.n_trees, len(trees) - 1, 2):
            self._add_pair(trees[first], trees[first + 1])
            self.n_trees += 2
        self.n_looks += 1
        costs, n_out = np.array(self.costs), self.n_out
        is_out = n_out > 0
        if len(costs) < 2 or not is_out.any():
            return False
        delta = split_delta(self.delta, 1, self.n_looks)
        radius = paired_radius(costs.var(ddof=1), len(costs), len(costs), delta)
        share = np.average(1.0 / n_out[is_out], weights=self.weights[is_out])
        self.excess = (costs.mean() + radius) * share
        return bool(self.excess <= self.tol)

    def _add_pair(self, *pair):
        """Compare two trees on the samples that neither of them has drawn."""
        is_out = []
        for tree in pair:
            counts, weights = self.draws.draw(tree.random_state, self.training_set)
            drawn = (weights if counts is None else counts)[self.rows]
            is_out.append(drawn == 0)
            self.n_out += is_out[-1]
        both = is_out[0] & is_out[1]
        if not both.any():
            return
        X = self.X[both]
        shape = X.shape[0], len(self.scale), -1
        first, second = (
            tree.tree_.predict(X).reshape(shape) / self.units[:, None] for tree in pair
        )
        squares = ((first - second) ** 2).sum(axis=2)
        variance = 0.5 * np.average(squares, axis=0, weights=self.weights[both])
        known = self.scale > 0.0
        self.costs.append(float(np.sum(variance[known] / self.scale[known])))
        self.costs[-1] /= max(np.count_nonzero(known), 1)
