"""When boosting grows trees on samples, and when it stops early, if "auto" is to say.

Each number has how it was measured and the benchmark that measures it again
(``python -m benchmarks NAME``).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class BoostingPolicy:
    """Cut-overs of histogram gradient boosting, and what depends on them."""

    # More samples than this are enough to spare some for early stopping: scikit-learn's
    # rule.
    min_stopping: int = 10_000

    # Rows from which on trees are grown on samples. With half as many the first sample
    # would be more than half of the rows before long (`boosting.cut_over`).
    min_sampling: int = 250_000

    # The same where an iteration has several trees. A class has fewer rows than all,
    # and exact trees of several classes are grown side by side (`boosting.auto`).
    min_sampling_classes: int = 500_000

    # Rows of the rarest class below which no samples are drawn: a few hundred rows
    # decide the splits then, and their neighbours count (`quality.boosting_rare`).
    min_class_rows: int = 1_000

    def stops_early(self, n_samples):
        """Whether there are samples to spare for early stopping."""
        return n_samples > self.min_stopping

    def samples_rows(self, n_samples, n_trees_per_iteration, n_rarest):
        """Whether there are enough rows to grow trees on samples of them.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        n_trees_per_iteration : int
            One, or the number of classes.
        n_rarest : int
            Rows of the rarest class; all rows in regression.
        """
        if n_rarest < self.min_class_rows:
            return False
        if n_trees_per_iteration == 1:
            return n_samples >= self.min_sampling
        return n_samples >= self.min_sampling_classes
