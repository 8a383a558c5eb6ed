"""What a splitter that samples is told beside what every splitter is told."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sampling:
    """How `BanditSplitter` samples the rows of a node.

    Parameters
    ----------
    has_missing : ndarray of shape (n_features,), uint8
        Features with missing values.
    n_samples : int
        Rows of the root.
    min_rows : int
        Nodes of fewer rows are searched exactly.
    delta : float
        Error probability of one search.
    batch_size : int
        Rows of the first batch; the sample doubles from then on.
    tol : float
        Near ties: a feature is as good as the best if its gain is smaller by at most
        this share of it.
    radius : {"paired", "bernstein"}
        How far the mean difference of two losses may be from that of all rows.
    is_subset : bool
        Whether the rows are themselves a sample of those to learn from: then nothing is
        ever searched exactly, and what cannot be told is left undecided.
    gained : float
        Decrease in impurity by the splits above the root. On a subset, nodes that
        gain less may lose `tol` times as much instead of that share of their own gain.
        Without it, a tree of depth 8 on ten million rows took 2.8 times as long and was
        no better (`forest.solvers`).
    n_saved : int
        Insertions that samples above the root have saved: see ``savings.pxd``.
    stride : int
        Rows that a row of a subset stands for.
    """

    has_missing: np.ndarray
    n_samples: int
    min_rows: int
    delta: float
    batch_size: int
    tol: float
    radius: str = "paired"
    is_subset: bool = False
    gained: float = 0.0
    n_saved: int = 0
    stride: int = 1
