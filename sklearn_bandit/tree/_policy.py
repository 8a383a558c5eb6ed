"""When to sample, to rank, to divide a tree and to grow it on a subsample.

Every cut-over is a field of :class:`SamplingPolicy`, with how it was measured and the
benchmark that measures it again (``python -m benchmarks NAME``). Estimators have a
policy as a private class attribute, `_sampling_policy`; a fit hands it to the training
set, which all of its trees share.
"""

from dataclasses import dataclass

from ._data.packed_rows import MISSING_BIN
from ._parameters import CLASS_CRITERIA, MAX_INT64, count_drawn

# Bins of a histogram, that of missing values included.
N_SLOTS = MISSING_BIN + 1


@dataclass(frozen=True)
class SamplingPolicy:
    """Cut-overs of trees and forests, and the decisions that depend on them."""

    # Rows from which on "mab" samples a node: with fewer, histograms cost less than
    # the tests (`quality.trees.cut_over`).
    min_rows: int = 8_000

    # The same for "auto", which waits until sampling pays with hardly any features
    # (`quality.trees.cut_over`: two of eight are drawn).
    min_rows_auto: int = 50_000

    # First batches that a sampled node must hold: a sample that is most of the node
    # saves nothing (`quality.trees.cut_over`). The thesis's rule is there for
    # comparison and samples as soon as it can.
    min_batches: int = 4
    min_batches_thesis: int = 2

    # Where all features are searched, exact trees insert half of the rows: the
    # histograms of a larger child are what is left of its parent's. A sampled
    # node has none for its children, reads all rows again for its threshold, and
    # pays for a sample whose size hardly depends on the node's. What is left to
    # be spared grows with the rows and with the features; what it costs weighs
    # the less, the more features there are. So a node is sampled if its rows
    # times the square of the features are as many as this. 1,000,000 rows, depth
    # 8, processor time by the rows from which on nodes are sampled, beside exact
    # (`quality.trees.cut_over`, one run; another differs by a tenth, seldom by
    # three): two classes, all of 8 features 1.24 (8,000 rows), 0.90 (128,000), 0.93
    # (512,000); of 16 1.11, 0.96, 0.89; of 54 1.03 to 1.17 wherever it is. What a
    # tree of a million rows gains is next to nothing; of ten million, 6 times
    # (`forest.solvers`).
    min_rows_by_square: int = 1 << 25

    # The same where targets are real, and the rows from which on such nodes are
    # sampled however many features there are. Losses cost more than those of
    # classes (10 to 12 insertions of an exact search each, 3 with classes): all of
    # 8 features 1.49 (8,000 rows), 1.03 (128,000) and 0.92 (512,000), of 28 1.36,
    # 1.17 and 0.95, of 54 1.17 (8,000) and 0.84 (64,000) (`quality.trees.cut_over`).
    #
    # Both are for trees that subtract. Those grown best first, with random
    # thresholds or within a budget, which is one of insertions, do not: see
    # `min_rows`.
    min_rows_by_square_real: int = 1 << 27
    min_rows_real: int = 64_000

    # The same where a part of the features is drawn, and features that must be
    # drawn. Exact trees cannot subtract then; but most of a few features may be
    # noise, with which a sample finds nothing. Two classes, 9 of 28 features drawn
    # 1.00 (32,000 rows) and 1.13 (128,000); real targets 1.16 and 1.12. With 5 of 30
    # drawn samples cost more than they save, 1.2 to 1.3, from however many rows on
    # (`quality.trees.cut_over`).
    min_rows_by_square_drawn: int = 1 << 20
    min_rows_by_square_drawn_real: int = 1 << 22
    min_drawn: int = 6

    # Numbers in the histograms of one node, 256 MB. MABSplit holds those of all
    # features drawn at once; with more, for very many classes, the exact search is
    # used, which holds a few at a time. A limit of memory, not of time.
    max_cells: int = 1 << 25

    # Where all features are searched exactly, nodes of at least `set_rows` rows may
    # hold histograms for their descendants to subtract from: those that wait for their
    # turn, and two more (`forest.solvers`, `forest.all_features`).
    max_sets: int = 32
    set_rows: int = 8_000

    # Features from which on a shallow tree is grown on a subsample. All samples are
    # read again to be sent down the tree; with few features, to put all of them into
    # bins takes less. One thread, depth 5, 1,500,000 rows, beside exact: two classes,
    # 12 features 1.41, 16 features 1.30, 20 features 1.03, 28 features 0.32; the
    # flights (3,000,000 x 8) 1.61, real targets 2.75 (`forest.solvers`).
    min_subsampled_features: int = 20

    # Values that a subtree must have to be divided again. Dividing covertype's subtrees
    # of 33,000 rows of 54 features made growing a tenth slower than dividing those of
    # 131,000 rows only: each has to find out again which features are constant
    # (`forest.single_tree`).
    min_divided_values: int = 1 << 23

    # One row of this many is in the subsample that a shallow tree is grown on; fewer
    # rows leave more nodes undecided (`forest.solvers`, ten million samples).
    subsample_stride: int = 4

    # Rows that the subsample must have for each leaf that the tree can have. On ten
    # million samples of 28 features MABSplit looked at 2,000 to 30,000 rows of a node
    # (`forest.solvers`).
    min_subsampled_per_leaf: int = 8192

    # Up to this number of samples, values that share a bin are ranked, so that splits
    # are as fine as scikit-learn's. Twenty continuous features, one thread: with ranks
    # a full tree took 2.8 times as long as with bins alone at 8,000 rows, 2.9 at 20,000
    # and 4.0 at 32,767, a forest 1.7, 2.1 and 2.8 times (`forest.small`: 1.1); that is
    # a seventh to a tenth of scikit-learn's time, a third to a quarter. Where there are
    # more rows a bin holds more than a hundred of them, and which of these a threshold
    # is at makes little difference. (Ranks have 16 bits: no more than this.)
    ranked_rows: int = 32_767

    # Values that are ranked at most: ranks and what they stand for take 6 to 10 bytes
    # each. A limit of memory, not of time.
    ranked_values: int = 1 << 26

    # The same as `ranked_rows` for forests that may sample: from here on their first
    # nodes are sampled. Ranks would take 1.7 to 2.8 times as long (see there), and the
    # trees of a forest make up for a coarse threshold near the root.
    ranked_forest_rows: int = 8_000

    # All features are ranked when a node becomes small, a few are drawn in each node
    # below it. With more than this many to one, ranking would cost more than all the
    # searches (`forest.mnist`: 28 to one).
    ranked_per_drawn: int = 16

    def smallest_sampled(self, estimator, n_drawn, n_features, has_budget=False):
        """Return the number of rows from which on the solver samples a node."""
        solver = estimator.solver
        if solver == "exact":
            return MAX_INT64
        if solver == "mab-thesis":
            return self.min_batches_thesis * int(estimator.batch_size)
        n_rows = max(
            self.min_rows if solver == "mab" else self.min_rows_auto,
            self.min_batches * int(estimator.batch_size),
        )
        is_real = estimator.criterion not in CLASS_CRITERIA
        if n_drawn < n_features:
            if solver == "auto":
                return n_rows
            if n_drawn < self.min_drawn:
                return MAX_INT64
            by_square = (
                self.min_rows_by_square_drawn_real
                if is_real
                else self.min_rows_by_square_drawn
            )
            return max(n_rows, by_square // n_drawn**2)
        if (
            estimator.splitter != "best"
            or estimator.max_leaf_nodes is not None
            or has_budget
        ):
            return n_rows
        if is_real:
            by_square = self.min_rows_by_square_real
            n_rows = max(n_rows, self.min_rows_real)
        else:
            by_square = self.min_rows_by_square
        return max(n_rows, by_square // n_drawn**2)

    def samples_nodes(
        self, estimator, n_samples, n_features, n_channels, has_budget=False
    ):
        """Whether the solver samples the larger nodes of these samples."""
        n_drawn = count_drawn(estimator, n_features)
        return (
            estimator.delta > 0.0
            and N_SLOTS * n_drawn * n_channels <= self.max_cells
            and n_samples
            >= self.smallest_sampled(estimator, n_drawn, n_features, has_budget)
        )

    def count_sets(self, n_features, n_channels, n_rows):
        """Return how many nodes may hold histograms for their descendants."""
        size = N_SLOTS * n_features * n_channels
        return min(self.max_sets, self.max_cells // size, n_rows // self.set_rows + 2)

    def count_kept_sets(self, n_features, n_channels, n_rows, n_samples):
        """Return how many leaves of a part of a tree may keep their histograms.

        They wait until their subtrees grow: those of all parts have room together.
        """
        size = N_SLOTS * n_features * n_channels
        return self.max_cells // size * n_rows // n_samples

    def can_divide(self, estimator, n_samples, n_features, n_channels):
        """Whether a tree can be grown subtree by subtree, and loses nothing by it.

        Bounds and budgets are the whole tree's. The exact search of all features
        subtracts a child's histograms from its parent's: subtrees would have to fill
        theirs again.
        """
        return (
            estimator.solver in ("mab", "auto")
            and self.samples_nodes(estimator, n_samples, n_features, n_channels)
            and estimator.criterion != "absolute_error"
            and estimator.max_leaf_nodes is None
            and estimator.min_impurity_decrease == 0.0
            and estimator.monotonic_cst is None
            and estimator.max_insertions is None
        )

    def smallest_divided(self, estimator, n_features):
        """Return the number of rows from which on a subtree has subtrees.

        Nodes above these must be too large to be copied (see `Builder`), so that the
        rows stay in order: large enough to be sampled.
        """
        n_drawn = count_drawn(estimator, n_features)
        n_sampled = self.smallest_sampled(estimator, n_drawn, n_features)
        return max(self.min_divided_values // n_features, 2 * n_sampled)

    def has_rows_to_subsample(self, n_samples, n_leaves):
        """Whether a subsample has enough rows for a tree of `n_leaves` leaves."""
        n_needed = n_leaves * self.min_subsampled_per_leaf
        return n_needed * self.subsample_stride <= n_samples

    def ranks_values(self, estimator, n_samples):
        """Whether an estimator searches between all values of few enough samples.

        Random thresholds and the thesis's rule keep to the bins. `pack` has the last
        word: it counts the samples that have a weight, and their values.
        """
        tree = getattr(estimator, "estimator", estimator)
        if tree.splitter != "best" or estimator.solver == "mab-thesis":
            return False
        may_sample = tree is not estimator and estimator.solver != "exact"
        return not may_sample or n_samples <= self.ranked_forest_rows

    def ranks_small_nodes(self, n_features, n_drawn):
        """Whether it pays to rank all features of a node for the searches below it."""
        return n_features <= self.ranked_per_drawn * n_drawn
