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

    # Rows from which on trees are grown on samples. Processor time of 100 exact trees
    # over that of trees on samples: 1.1 (330,000 rows of 16 features), 1.2 (465,000 of
    # 54), 0.8 (495,000 of 10), 1.4 (800,000 of 8), 4 and more from a million of 28
    # on (`boosting.cut_over`, `quality.boosting`).
    min_sampling: int = 500_000

    # Rows of the rarest class below which no samples are drawn: a few hundred rows
    # decide the splits then, and their neighbours count (`quality.boosting_rare`).
    min_class_rows: int = 1_000

    def stops_early(self, n_samples):
        """Whether there are samples to spare for early stopping."""
        return n_samples > self.min_stopping

    def samples_rows(self, n_samples, n_rarest):
        """Whether there are enough rows to grow trees on samples of them.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        n_rarest : int
            Rows of the rarest class; all rows in regression.
        """
        return n_samples >= self.min_sampling and n_rarest >= self.min_class_rows
