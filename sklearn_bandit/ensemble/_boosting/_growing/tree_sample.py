"""The rows that a tree is grown on, if not all."""

from dataclasses import dataclass

import numpy as np

from .._data.row_lists import RowLists


@dataclass(frozen=True)
class TreeSample:
    """A weighted sample of the rows.

    Attributes
    ----------
    rows : ndarray of uint32 of shape (n_rows,)
        Its rows, ascending.
    weights : ndarray of float32 of shape (n_rows,)
        How often each of them counts.
    lists : RowLists
        The lists of these rows, one after the other.
    seed : int
        What the rounding of gradients depends on.
    """

    rows: np.ndarray
    weights: np.ndarray
    lists: RowLists
    seed: int
