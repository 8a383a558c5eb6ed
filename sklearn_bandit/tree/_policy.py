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
    # the tests (`forest.never_worse`, `quality.trees.cut_overs`).
    min_rows: int = 8_000

    # The same for "auto", which waits until sampling pays with hardly any features
    # (`quality.trees.cut_overs`: two of eight are drawn).
    min_rows_auto: int = 50_000

    # First batches that a sampled node must hold: a sample that is most of the node
    # saves nothing (`forest.never_worse`). The thesis's rule is there for comparison
    # and samples as soon as it can.
    min_batches: int = 4
    min_batches_thesis: int = 2

    # Insertions that the exact search of a node must take, and features that must be
    # drawn, for "mab" to sample where a part of the features is drawn. The fewer are
    # drawn, the less there is to spare. With 3 (adult, `forest.never_worse`) sampling
    # from 8,000 rows on took 1.4 times as long as not sampling. With 2
    # (`forest.flights`) it took longer at any size, for the rows of the children have
    # to be counted afterwards.
    min_insertions: int = 100_000
    min_drawn: int = 4

    # Rows from which on a node is sampled where the targets are real and all features
    # are searched. Losses cost more than those of classes, and unless rows have weights
    # exact histograms are subtracted. Sampling from 8,000 rows on, forests of depth 8
    # took 1.4 times as long as exact ones (`forest.all_features`: Beijing air quality,
    # and rows that hardly tell anything; 1.3 with the Poisson deviance, 1.1 with
    # weights), from 64,000 on 1.0 and 1.1 times. Trees grown best first or with random
    # thresholds were not measured and stay as they were. So do those within a budget,
    # which is one of insertions: samples take fewer.
    min_rows_real: int = 64_000

    # Numbers in the histograms of one node, 256 MB. MABSplit holds those of all
    # features drawn at once; with more, for very many classes, the exact search is
    # used, which holds a few at a time. A limit of memory, not of time.
    max_cells: int = 1 << 25

    # Where all features are searched exactly, nodes of at least `set_rows` rows may
    # hold histograms for their descendants to subtract from: those that wait for their
    # turn, and two more (`forest.solvers`, `forest.all_features`).
    max_sets: int = 32
    set_rows: int = 8_000

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
        if (
            n_drawn >= n_features
            and estimator.criterion not in CLASS_CRITERIA
            and estimator.splitter == "best"
            and estimator.max_leaf_nodes is None
            and not has_budget
        ):
            n_rows = max(n_rows, self.min_rows_real)
        if solver == "mab" and n_drawn < n_features:
            if n_drawn < self.min_drawn:
                return MAX_INT64
            n_rows = max(n_rows, self.min_insertions // n_drawn)
        return n_rows

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
