"""Grow each tree on a sample of the rows, as large as it needs to be.

Which split is best in a node is a best-arm problem, with the features as arms and the
rows as references. Searching it node by node would give up what makes exact histograms
cheap, the subtraction of siblings. So one sample serves a whole tree, and the bandit
decides its size: from paired differences with their closest rivals one can tell what
the splits that were made are expected to lose, summed over the tree. If that is more
than a tolerated share of what the tree gains, the next trees see twice as many rows.
Gains shrink from tree to tree, and the sample grows with them, at last to all rows.

Samples are drawn from a working set, in turn: only its rows are put into bins and pass
through the trees (see ``training_rows``). It is in random order, so that any stretch of
it is a sample, read where it is. Trees that see the same rows again and again fit their
noise; but a row that joins costs as much as growing several trees on it, and nobody
knows how many trees there will be. So the set is doubled whenever the work of growing
trees is a certain multiple of the work that it takes to have so many rows.
"""

import numpy as np

from .booster import Booster, best_constant, compute_gradients
from .grower import EPSILON
from .leaf_router import LeafRouter, add_leaves
from .monotonic import bound_leaf_values

# Samples that fit into the first working set. With one instead of two, 10 million rows
# of 28 features have a loss of 0.530 instead of 0.528 after 40 trees.
FIRST_SAMPLES = 2

# Work of a row to join, in insertions into histograms: for each feature, to find its
# bin and write it (4 ns on 10 million rows of 28 features), and for each split of each
# tree, to be routed (0.9 ns for 30). An insertion takes 1 ns there, 2 on the flights.
WORK_OF_FEATURE = 4.0
WORK_OF_SPLIT = 1.0 / 30.0

# Work of growing trees for each unit of work of joining. Of 3, 4 and 6, one run each,
# the first had the lowest loss on these rows from 1.5 seconds on, and on the flights
# from one second on; before that 6 was ahead on the flights.
WORK_RATIO = 3.0


class SampledBooster(Booster):
    """A booster whose trees are grown on samples.

    Parameters
    ----------
    data : TrainingRows
        The training set, of which no row has joined yet.
    where : {"all", "sample", "lazy"}
        Where the values of leaves come from: the working set, or the sample. "lazy" is
        "sample", but rows pass through the trees only when a sample takes them.
    batch_size : int
        Rows of the first sample.
    split_tol : float
        Share of its gain that a tree may be expected to lose for want of rows.
    seed : int
        What the samples depend on.
    state : tuple or None
        `state` of the booster that a warm start goes on from.
    **kwargs
        As for ``Booster``.

    Attributes
    ----------
    state : tuple of (int, int, int, int, float, float, int, int)
        Sizes of the next sample and working set, where the sample starts, insertions of
        all trees, regret and gain of recent ones; number of all rows and first size, on
        which the order of the working set depends.
    """

    def __init__(self, data, *, where, batch_size, split_tol, seed, state, **kwargs):
        self.where = where
        self.split_tol = split_tol
        self.round_size = min(batch_size, data.n_samples)
        self.seed = seed
        self.state = state
        super().__init__(data, **kwargs)

    def _start(self):
        size = self._allowed(self.round_size)
        self.n_scored = self._allowed(FIRST_SAMPLES * size)
        self.n_splits = sum(map(_count_splits, self.data.predictors))
        order = (self.data.n_samples, self.round_size)
        if self.state is None or self.state[-2:] != order:
            self.state = (size, self.n_scored, 0, 0, 0.0, 0.0, *order)
        self._join()

    def _allowed(self, n):
        """So many rows; all instead of more than half of them."""
        return n if n <= self.data.n_samples // 2 else self.data.n_samples

    def _join(self):
        """Let rows join until the working set is as large as it should be."""
        _, n_rows, *_ = self.state
        if self.data.n_rows < n_rows:
            self.rows = None  # to be written anew
            if self._allowed(self.round_size) == self.data.n_samples:
                self.data.join_all()  # there are no samples
            else:
                self.data.join(n_rows, self.round_size, self.seed)

    def iterate(self, rng):
        """Add the tree or trees of one iteration; see ``Booster.iterate``."""
        self._join()
        size, n_rows, start, work, regret, gain, *order = self.state
        self.n_grown = size
        if size == self.data.n_samples:
            self.sample = None
            if self.where == "lazy":  # no longer: from now on all rows are seen
                self.data.catch_up(slice(0, n_rows))
                self.where = "sample"
            return super().iterate(rng)
        self._take(start, size)
        before = self.n_insertions
        trees = super().iterate(rng)
        self.n_splits += _count_splits(trees)
        # Recent trees count as well: a single one says little.
        regret, gain = np.array([regret, gain]) / 2.0 + self.evidence.sum(axis=0)
        work += self.n_insertions - before
        start = (start + size) % n_rows
        if regret > self.split_tol * gain:
            size, regret, gain = self._allowed(2 * size), 0.0, 0.0
        is_paid = work >= WORK_RATIO * n_rows * self._work_of_row()
        if size > n_rows or (is_paid and n_rows < self.data.n_samples):
            start = n_rows  # rows that join come first
            n_rows = self._allowed(2 * n_rows)
        self.state = (size, n_rows, start, work, float(regret), float(gain), *order)
        return trees

    def scored(self):
        """Return targets, raw predictions and weights to judge the training by."""
        if self.where == "lazy":
            self.data.catch_up(slice(0, self.n_scored))
        return super().scored()

    def _work_of_row(self):
        """Work of a row that joins now, in insertions."""
        n_features = len(self.data.columns)
        return WORK_OF_FEATURE * n_features + WORK_OF_SPLIT * self.n_splits

    def _take(self, start, size):
        """Take the stretch of the working set that starts there as the sample."""
        n_rows = self.data.n_rows
        self.sample = [slice(start, min(start + size, n_rows))]
        if start + size > n_rows:  # and on from the first row
            self.sample.insert(0, slice(0, start + size - n_rows))
        self.chosen = np.concatenate(
            [np.arange(s.start, s.stop, dtype=np.uint32) for s in self.sample]
        )
        if self.where == "lazy":
            for rows in self.sample:
                self.data.catch_up(rows)
        self.evidence = np.zeros((len(self.data.raw.T), 2))  # regret, gain by tree

    def _compute_gradients(self):
        if self.sample is None or self.where == "all":
            super()._compute_gradients()
            return
        for rows in self.sample:
            compute_gradients(
                self.loss,
                *self.data.part(rows),
                self.gradients[:, rows],
                self.n_threads,
            )

    def _grow(self, grower, k, rng):
        """Grow one tree: number of insertions and predictor."""
        if self.sample is None:
            return super()._grow(grower, k, rng)
        data, gradients = self.data, self.gradients[k]
        n_insertions = grower.grow(gradients, rng, self.chosen)
        self._check(grower)
        self.evidence[k] = grower.regret(gradients, data.n_samples)
        values = self.learning_rate * self._leaf_values(grower, k)
        table = grower.table()
        predictor = self.maker.make(table, values)
        if self.where == "lazy":
            return n_insertions, predictor
        router = LeafRouter([predictor], data.missing_bin, grower.n_threads)
        if self.where == "sample":
            router.add_to(data.columns, data.raw[:, k : k + 1])
        else:
            (nodes,) = router.leaf_nodes
            # From the grower's order of leaves to the router's.
            order = np.argsort(np.argsort(table["node"][nodes]))
            values, leaves = self._values(router, k, grower.leaf_bounds()[order], table)
            predictor.nodes["value"][nodes] = values
            add_leaves(leaves, values, data.raw[:, k], grower.n_threads)
        return n_insertions, predictor

    def _values(self, router, k, bounds, table):
        """Values of the leaves from the whole working set, and leaf of each row."""
        data = self.data
        leaves = np.empty(data.n_rows, dtype=np.uint8)
        sums = router.sum_leaves(data.columns, self.gradients[k], leaves)
        if self.loss.differentiable:
            l2 = self.grower_options["l2_regularization"] + EPSILON
            values = np.clip(-sums[:, 0] / (sums[:, 1] + l2), *bounds.T)
        else:
            members = (np.flatnonzero(leaves == leaf) for leaf in range(len(sums)))
            values = np.array(
                [best_constant(self.loss, data, k, rows) for rows in members]
            )
            values = bound_leaf_values(
                table,
                router.leaf_nodes[0],
                values,
                self.grower_options["monotonic_cst"],
            )
        return self.learning_rate * values, leaves


def _count_splits(trees):
    """Number of splits of some trees."""
    return sum(len(predictor.nodes) // 2 for predictor in trees)
