"""What it costs that rows join the working set, which is to be earned by growing trees.

Costs are in insertions into histograms, the unit of the work of growing.
"""

from dataclasses import dataclass

# Work of a row for each split of each tree that it is routed by: 0.9 ns for 30 splits,
# where an insertion takes 1 ns (10 million rows of 28 features) or 2 (flights).
WORK_OF_SPLIT = 1.0 / 30.0


@dataclass(frozen=True)
class Joining:
    """How the working set grows from some source of rows.

    Parameters
    ----------
    n_samples : int
        Samples of the first size that fit into the first working set.
    follows_samples : bool
        Whether the set stays `n_samples` times as large as the sample. If not, the
        sample may be all of the set, and the set grows when that is earned.
    row, value : float
        Work of each row that joins, and of each of its values.
    """

    n_samples: int
    follows_samples: bool
    row: float
    value: float

    def work_of_row(self, n_features: int, n_splits: int) -> float:
        """Return the work of a row that joins now, in insertions.

        Parameters
        ----------
        n_features : int
            Its values.
        n_splits : int
            Splits of all trees so far.
        """
        return self.row + self.value * n_features + WORK_OF_SPLIT * n_splits


# Samples that fit into the working set of rows in memory, unless it has all rows.
SAMPLES_OF_SET = 4

# Work of a value that joins from memory: its bin is found and written in 4 ns (10
# million rows of 28 features).
WORK_OF_VALUE = 4.0

IN_MEMORY = Joining(SAMPLES_OF_SET, True, 0.0, WORK_OF_VALUE)
