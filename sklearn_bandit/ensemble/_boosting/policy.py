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

    # Rows from which on trees are grown on samples. With 250,000 rows they reach the
    # loss of 100 exact trees 2.0 to 2.4 times sooner; with half as many there are no
    # samples of the default size (`boosting.cut_over`).
    min_sampling: int = 250_000

    # The same where an iteration has several trees. A class has fewer rows than all: on
    # covertype's 465,000 rows samples are hardly faster and have a loss that is 2%
    # higher after 10 iterations (`boosting.auto`).
    min_sampling_classes: int = 500_000

    def stops_early(self, n_samples):
        """Whether there are samples to spare for early stopping."""
        return n_samples > self.min_stopping

    def samples_rows(self, n_samples, n_trees_per_iteration):
        """Whether there are enough rows to grow trees on samples of them."""
        if n_trees_per_iteration == 1:
            return n_samples >= self.min_sampling
        return n_samples >= self.min_sampling_classes
