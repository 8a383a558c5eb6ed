"""How rows are laid out for histograms.

All histograms of a node are one array of cells: the bins of each feature, then the cell
of its missing values if it has any, packed without gaps. Row by row, the data are lists
of the cells that the row falls into, as 16-bit numbers, so that inserting a row is one
addition for each number.

- Features are taken in *groups* whose cells fit the cache, each with lists of its own.
- A feature most of whose values are in one bin (an indicator column, a pixel that is
  mostly black) is *sparse*: its frequent bin is left out of the lists. What would have
  been inserted there is the node's total minus all other cells of the feature.
"""

import numpy as np

# Cells of a group: with 24 bytes each they take half of a 512 KB second-level cache. A
# sparse group may have more, of which a row touches few. Cells must be below 2^16.
DENSE_GROUP_CELLS = 10_000
SPARSE_GROUP_CELLS = 20_000

# A feature may be sparse if its most frequent bin has at least this share of the rows,
# and is so if all sparse features together spare a row this many insertions: lists of
# varying length cost a mispredicted branch, the time of some eight insertions.
MIN_SHARE = 0.5
MIN_SPARED = 8.0

# Rows that frequencies are taken from.
N_SAMPLED = 20_000


class Group:
    """Features whose cells are inserted together.

    Attributes
    ----------
    features : ndarray of intp
        The features.
    is_sparse : bool
        Whether the most frequent bins are left out.
    first_cell, n_cells : int
        Where the cells of the group are.
    """

    def __init__(self, features, is_sparse, first_cell, n_cells):
        self.features = features
        self.is_sparse = is_sparse
        self.first_cell = first_cell
        self.n_cells = n_cells


class Layout:
    """Cells and groups of all features.

    Parameters
    ----------
    columns : ndarray of uint8 of shape (n_features, n_samples)
        Bins of the training data.
    n_bins : ndarray of shape (n_features,)
        Number of bins of each feature, missing values not counted.
    has_missing : ndarray of uint8 of shape (n_features,)
        Whether the feature has missing values.
    is_categorical : ndarray of uint8 of shape (n_features,)
        Whether the feature is categorical.
    missing_bin : int
        Bin of missing values in `columns`.

    Attributes
    ----------
    n_cells : ndarray of int32 of shape (n_features,)
        Number of cells: bins, and one for missing values if there are any.
    first_cell : ndarray of int64 of shape (n_features,)
        First cell of each feature.
    frequent_cell : ndarray of int32 of shape (n_features,)
        Cell of the most frequent bin (of a sample), counted from the first cell.
    is_sparse : ndarray of uint8 of shape (n_features,)
        Whether the frequent cell is left out of the lists.
    total_cells : int
        Number of all cells.
    groups : list of Group
        The groups; every feature is in one of them.
    """

    def __init__(self, columns, n_bins, has_missing, is_categorical, missing_bin):
        n_features, n_samples = columns.shape
        self.n_features = n_features
        self.n_bins = np.asarray(n_bins, dtype=np.int32)
        self.has_missing = np.asarray(has_missing, dtype=np.uint8)
        self.is_categorical = np.asarray(is_categorical, dtype=np.uint8)
        self.missing_bin = missing_bin
        self.n_cells = self.n_bins + self.has_missing

        sample = columns[:, :: max(1, n_samples // N_SAMPLED)]
        frequent, share = np.empty(n_features, dtype=np.int32), np.empty(n_features)
        for feature, bins in enumerate(sample):
            counts = np.bincount(bins)
            frequent[feature] = counts.argmax()
            share[feature] = counts.max() / len(bins)
        is_missing = (frequent == missing_bin) & (self.has_missing == 1)
        self.frequent_cell = np.where(is_missing, self.n_bins, frequent).astype(
            np.int32
        )
        sparse = share >= MIN_SHARE
        if share[sparse].sum() < MIN_SPARED:
            sparse[:] = False
        self.is_sparse = sparse.astype(np.uint8)

        self.first_cell = np.empty(n_features, dtype=np.int64)
        self.groups = []
        self.total_cells = 0
        for kind, room in ((False, DENSE_GROUP_CELLS), (True, SPARSE_GROUP_CELLS)):
            for features in _fill(np.flatnonzero(sparse == kind), self.n_cells, room):
                ends = self.total_cells + np.cumsum(self.n_cells[features])
                self.first_cell[features] = ends - self.n_cells[features]
                size = int(ends[-1]) - self.total_cells
                self.groups.append(Group(features, kind, self.total_cells, size))
                self.total_cells = int(ends[-1])


def _fill(features, n_cells, room):
    """Split features into as few runs as have about equally many cells."""
    if not len(features):
        return []
    ends = np.cumsum(n_cells[features])
    n_groups = -(-int(ends[-1]) // room)
    which = (ends - 1) * n_groups // int(ends[-1])
    return [features[which == k] for k in np.unique(which)]
