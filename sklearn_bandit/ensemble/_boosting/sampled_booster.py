"""Grow each tree on a sample of the rows, as large as it needs to be.

Which split is best in a node is a best-arm problem, with the features as arms and the
rows as references. Searching it node by node would give up what makes exact histograms
cheap, the subtraction of siblings. So one sample serves a whole tree. Its rows are
drawn by how much they matter (see ``importance``), and weighted by the inverse of their
probabilities: sums over the sample are unbiased estimates of sums over all rows, and an
L2 term, say, means what it means in an exact tree.

How large the sample is depends on what trees really gain. A sample promises a gain; the
splits and values were chosen to fit it, noise included, so that its own estimates of
what a tree is worth are too good. The rows of the working set pass through the tree
anyway, and tell what it gains there. If that falls short of the promise by more than
a tolerated share, the next trees see twice as many rows. Gains shrink from tree to
tree, and the sample grows with them, at last to all rows.

Samples are drawn from a working set: only its rows are put into bins and pass through
the trees (see ``training_rows``). It is in random order. Trees that see the same rows
again and again fit their noise; but a row that joins costs as much as growing several
trees on it, and how many trees there will be is not known. So the set is doubled
whenever the work of growing trees is a certain multiple of the work of preparing its
rows. How much that is, and whether a sample that is too small may make the set grow,
depends on where the rows are (see ``joining``). Where few rows have most of the
gradient (rare classes, heavy tails), it starts with enough of these.
"""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from ._data.row_lists import RowLists
from ._growing.split_search import EPSILON
from ._growing.tree_sample import TreeSample
from ._sampling.importance import RowDraw
from ._sampling.leaf_router import LeafRouter, add_leaves
from .booster import Booster

# Rows with most of the gradient (those of the rarest class, or of the tails) that the
# first working set has at least, as a share of the first sample: 8,192 by default. A
# set of four samples costs 4.5% on rare positives.
RARE_SHARE = 0.125

# Rows that a leaf has at least, in the sample, however small the sample is.
MIN_SAMPLED_ROWS = 20

# What the tree before counts for in the judgement of the size of samples. One tree
# alone says little.
MEMORY = 0.7

# Share of the working set's value in the value of a leaf; the rest is the sample's. The
# sample's values fit its noise: they are too large, which is as good as a larger
# learning rate in early trees, and is paid for later. Test losses over exact in % with
# 0 / 0.35 / 0.5 / 1 (`sample_tol` of 0.4 to 0.5, one to four seeds): flights (800,000
# rows, 100 trees) -.04 / .05 / .08 / .34, synthetic rows (1M x 28, 300 trees) .18 / .07
# / .09 / -.01. Quantiles are the sample's alone: with 0 / 0.35 / 1 of the working
# set's they were -.09 / .02 / -.06, each +- .15 over five seeds (`quality.boosting`).
VALUE_SHARE = 0.35

# Where fewer rows than this share have most of a tree's gradient, its values are the
# working set's alone: the noise of a few heavy rows is too much. Shares were 0.001
# (lognormal, Poisson), 0.005 (as many positives), 0.12 (90% quantile) and 0.31
# (flights). With the working set's values instead of the mean, losses over exact fell
# from .12 to -.05% (Poisson, five seeds) and, on 30 seeds that nothing was chosen by,
# from -.25 +- .06 to -.41 +- .07% (lognormal) and from .24 +- .09 to -.04 +- .07% (0.5%
# positives, whose expected precision rose from -1.2 +- .5 to .1 +- .5%;
# `quality.boosting`, `quality.boosting_rare`). Larger first samples, of 131,072 or
# 262,144 rows, did not differ from that by more than their errors, nor did less
# `sample_tol` on rare positives; on lognormal targets they lost up to .3%. Of several
# classes only the trees of rare ones are meant: with the working set's values for all
# six, of which one had 3% of the rows, losses over exact were .43 / .36 / -.06% after
# 25 / 50 / 100 iterations, with this rule -.26 / -.22 / -.19% (600,000 rows, one seed;
# "six classes" of `quality.boosting`).
HEAVY_SHARE = 0.05

# Work of growing trees for each unit of work of joining. Of 3, 4 and 6, one run each,
# the first had the lowest loss on 10 million rows of 28 features from 1.5 seconds on,
# and on the flights from one second on; before that 6 was ahead on the flights.
WORK_RATIO = 3.0

# The golden ratio: its multiples, less their integers, fill the unit interval evenly.
GOLDEN_RATIO = 0.6180339887498949

# Seeds of an iteration, more than there are classes.
SEEDS_OF_TREE = 65_536


@dataclass(frozen=True)
class SamplingState:
    """What a booster on samples has to know of the trees before.

    Attributes
    ----------
    n_samples, round_size : int
        Number of all rows, and size of the first sample: the order of the working set
        depends on them.
    size, n_rows : int
        Sizes of the next sample and of the working set.
    turn : int
        Number of samples so far.
    work : int
        Insertions of all trees on samples.
    gained, promised : float
        What recent trees gained on the working set, and what their samples promised.
    curvature : float or None
        Mean square of the last leaf values, weighted by hessians; None before them.
    """

    n_samples: int
    round_size: int
    size: int
    n_rows: int
    turn: int = 0
    work: int = 0
    gained: float = 0.0
    promised: float = 0.0
    curvature: float | None = None


class SampledBooster(Booster):
    """A booster whose trees are grown on samples.

    Parameters
    ----------
    data : TrainingRows
        The training set, of which no row has joined yet.
    batch_size : int
        Rows of the first sample.
    sample_tol : float
        Share of the gain that a sample promises which may turn out to be missing.
    rare_share : float
        Share of the rows that have most of the gradient of some tree.
    heavy_shares : ndarray of shape (n_trees_per_iteration,)
        That share for each tree of an iteration.
    seed : int
        What the order of the rows depends on.
    state : SamplingState or None
        `state` of the booster that a warm start goes on from.
    **kwargs
        As for ``Booster``.

    Attributes
    ----------
    state : SamplingState
        What the next tree depends on.
    """

    def __init__(
        self,
        data,
        *,
        batch_size,
        sample_tol,
        rare_share,
        heavy_shares,
        seed,
        state,
        **kwargs,
    ):
        n = data.n_samples
        self.sample_tol = sample_tol
        self.rare_share = rare_share
        self.value_shares = np.where(heavy_shares < HEAVY_SHARE, 1.0, VALUE_SHARE)
        # No tolerance: all rows from the first tree on.
        self.round_size = min(batch_size, n) if sample_tol > 0.0 else n
        self.seed = seed
        self.state = state
        self.sample = None
        super().__init__(data, **kwargs)

    def _start(self):
        n = self.data.n_samples
        size = self._allowed(self.round_size)
        # The set has whole rounds, or all rows.
        self.joining = self.data.source.joining
        n_rounds = max(self.joining.n_samples, ceil(RARE_SHARE / self.rare_share))
        self.n_scored = self._allowed(n_rounds * self.round_size)
        self.n_splits = sum(map(_count_splits, self.data.predictors))
        order = (n, self.round_size)
        state = self.state
        if state is None or (state.n_samples, state.round_size) != order:
            self.state = SamplingState(*order, size, self.n_scored)
        self._join()

    def _allowed(self, n):
        """Return `n`, or the number of all rows if that is more than half of them."""
        return n if n <= self.data.n_samples // 2 else self.data.n_samples

    @property
    def sees_all(self):
        """Whether the next tree sees all rows."""
        return self.state.size == self.data.n_samples

    @property
    def n_seen(self):
        """Number of rows that the last tree was grown on."""
        return super().n_seen if self.sample is None else len(self.sample.rows)

    def _read_rows(self):
        super()._read_rows()
        n_rows = self.data.n_rows
        # Room that all trees use: new memory costs as much as a pass over the rows.
        self.sample_lists = RowLists(self.layout, None, self.n_threads)
        self.row_draw = RowDraw(n_rows, self.n_threads)
        self.leaves = np.empty((self.data.raw.shape[1], n_rows), dtype=np.uint8)

    def _join(self):
        """Let rows join until the working set is as large as it should be."""
        if self.data.n_rows < self.state.n_rows:
            self.rows = None  # to be written anew
            if self._allowed(self.round_size) == self.data.n_samples:
                self.data.join_all()  # there are no samples
            else:
                self.data.join(self.state.n_rows, self.round_size, self.seed)
        # Rows of a sample have weights, and so have their hessians.
        constant_hessian = self.loss.constant_hessian and self.sees_all
        if self.constant_hessian != constant_hessian:
            self.constant_hessian = constant_hessian
            if self.rows is not None:
                self._make_room()

    def iterate(self, rng):
        """Add the tree or trees of one iteration; see ``Booster.iterate``."""
        self._join()
        self.sample = None
        self.n_grown = self.state.size
        if self.sees_all:
            return super().iterate(rng)
        # Of each tree: gain, promise, sums of hessians with and without squared values.
        self.evidence = np.zeros((self.data.raw.shape[1], 4))
        before = self.n_insertions
        trees = super().iterate(rng)
        self.n_splits += _count_splits(trees)
        self.state = self._next_state(self.n_insertions - before)
        return trees

    def _next_state(self, work):
        """Sizes of the next sample and working set, by what the last one was worth."""
        state = self.state
        gained, promised, squares, hessians = self.evidence.sum(axis=0).tolist()
        gained += MEMORY * state.gained
        promised += MEMORY * state.promised
        size, n_rows, work = state.size, state.n_rows, state.work + work
        if gained <= (1.0 - self.sample_tol) * promised:
            size, gained, promised = self._allowed(2 * size), 0.0, 0.0
        if self.joining.follows_samples:
            n_rows = self._allowed(max(n_rows, self.joining.n_samples * size))
        else:
            size = min(size, n_rows)
        row = self.joining.work_of_row(len(self.data.columns), self.n_splits)
        if work >= WORK_RATIO * n_rows * row:
            n_rows = self._allowed(2 * n_rows)
        return replace(
            state,
            size=size,
            n_rows=n_rows,
            turn=state.turn + 1,
            work=work,
            gained=gained,
            promised=promised,
            curvature=squares / hessians if hessians > 0.0 else 0.0,
        )

    def _compute_gradients(self):
        """Compute the gradients of the working set, and draw the sample by them."""
        super()._compute_gradients()
        if self.sees_all:
            return
        state, data = self.state, self.data
        curvature = state.curvature
        if curvature is None:  # the square of one value for all rows, if all agreed
            g, h = np.abs(self.gradients).sum(axis=(0, 1), dtype=np.float64)
            curvature = (g / h) ** 2 if h > 0.0 else 0.0
        self.row_draw.score(self.gradients, curvature, state.size)
        rows, weights = self.row_draw.draw(
            state.turn * GOLDEN_RATIO % 1.0, data.n_samples / data.n_rows
        )
        self.sample_lists.take(self.rows, rows)
        self.sample = TreeSample(
            rows, weights, self.sample_lists, self.seed + SEEDS_OF_TREE * state.turn
        )

    def _min_samples_leaf(self):
        """Rows of a leaf in the sample: its share of what all rows would have."""
        least = self.grower_options["min_samples_leaf"]
        share = -(-least * self.n_seen // self.data.n_samples)
        return max(min(least, MIN_SAMPLED_ROWS), share)

    def _grow(self, grower, k, rng):
        """Grow one tree: number of insertions and predictor."""
        if self.sample is None:
            return super()._grow(grower, k, rng)
        data, pairs = self.data, self.gradients[k]
        sample = replace(self.sample, seed=self.sample.seed + k)
        grower.use_min_samples_leaf(self._min_samples_leaf())
        n_insertions = grower.grow(pairs, rng, sample)
        self._check(grower)
        steps = grower.leaves()[-1]
        values = self._leaf_values(grower, k, sample)
        table = grower.table()
        predictor = self.maker.make(table, values)
        router = LeafRouter([predictor], data.missing_bin, grower.n_threads)
        (nodes,) = router.leaf_nodes
        # From the grower's order of leaves to the router's.
        order = np.argsort(np.argsort(table["node"][nodes]))
        leaves = self.leaves[k]
        sums = router.sum_leaves(data.columns, pairs, leaves)
        self.evidence[k] = self._judge(sums, steps[order])
        values = values[order]
        if self.loss.differentiable:
            exact = self._newton_steps(sums, grower.leaf_bounds()[order])
            values += self.value_shares[k] * (exact - values)
        values *= self.learning_rate
        predictor.nodes["value"][nodes] = values
        self._set_counts(predictor.nodes, nodes, sums[:, 2])
        add_leaves(leaves, values, data.raw[:, k], grower.n_threads)
        return n_insertions, predictor

    @property
    def _l2(self):
        """The L2 term for sums over the working set, which is a part of all rows."""
        share = self.data.n_rows / self.data.n_samples
        return self.grower_options["l2_regularization"] * share

    def _newton_steps(self, sums, bounds):
        """Values of leaves from the whole working set."""
        steps = -sums[:, 0] / (sums[:, 1] + self._l2 + EPSILON)
        return np.clip(steps, *bounds.T)

    def _judge(self, sums, steps):
        """Evidence of a tree: what the steps gain in the working set, and should.

        A step v changes the loss of rows with sums of gradients G and of hessians H by
        ``G v + H v^2 / 2``, to second order. The sample had ``-(H + l2) v`` for G.
        """
        G, H, _ = sums.T
        squares = H @ steps**2
        promised = squares / 2.0 + self._l2 * (steps @ steps)
        return -(G @ steps) - squares / 2.0, promised, squares, H.sum()

    def _set_counts(self, nodes, leaves, counts):
        """Estimate the numbers of all rows in the nodes of a tree.

        The rows of a sample are no measure: those that matter are drawn more often.
        """
        scale = self.data.n_samples / self.data.n_rows
        nodes["count"][leaves] = np.rint(scale * counts)
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        left, right = nodes["left"][inner], nodes["right"][inner]
        count = nodes["count"].tolist()
        children = zip(inner.tolist(), left.tolist(), right.tolist(), strict=True)
        for node, a, b in reversed(list(children)):  # children come later
            count[node] = count[a] + count[b]
        nodes["count"] = count
        # Missing values that only turn up in prediction go with the majority.
        known = self.data.has_missing[nodes["feature_idx"][inner]] == 0
        nodes["missing_go_to_left"][inner[known]] = (
            nodes["count"][left] > nodes["count"][right]
        )[known]


def _count_splits(trees):
    """Number of splits of some trees."""
    return sum(len(predictor.nodes) // 2 for predictor in trees)
