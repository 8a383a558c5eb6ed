"""How rows are laid out for histograms.

All histograms of a node are one array of cells: the bins of each feature, then the cell
of its missing values if it has any, packed without gaps. Row by row, the data are lists
of the slots that the row falls into, as 16-bit numbers, so that inserting a row is one
addition for each number. A slot is a cell, with two exceptions:

- Features of which few combinations occur are a *bundle* (see ``bundles``), whose
  slots are the combinations.
- A feature most of whose values are in one bin (an indicator column, a pixel that is
  mostly black) is *sparse*: its frequent bin is left out of the lists. What would have
  been inserted there is the node's total minus all other cells of the feature.

Features are taken in *groups* whose slots fit the cache, each with lists of its own.
"""

import numpy as np

from .bundles import find_bundles

# Slots of a group: with 32 bytes each, a third of a second-level cache of 1 MB. A
# sparse group may have more, of which a row touches few. Slots must be below 2^16.
DENSE_GROUP_SLOTS = 10_000
SPARSE_GROUP_SLOTS = 20_000

# A feature may be sparse if its most frequent bin has at least this share of the rows,
# and is so if all sparse features together spare a row this many insertions: lists of
# varying length cost a mispredicted branch, the time of some eight insertions.
MIN_SHARE = 0.5
MIN_SPARED = 8.0

# Rows that frequencies are taken from.
N_SAMPLED = 20_000


class Unit:
    """A feature, or a bundle of features, that is inserted as one.

    Attributes
    ----------
    features : list of int
        Its features.
    bundle : Bundle or None
        None for a single feature.
    n_slots : int
        Number of its slots.
    """

    def __init__(self, features, bundle, n_slots):
        self.features = features
        self.bundle = bundle
        self.n_slots = n_slots


class Group:
    """Units whose slots are in the same lists.

    Attributes
    ----------
    units : list of Unit
        The units.
    is_sparse : bool
        Whether the most frequent bins are left out.
    has_bundles : bool
        Whether there is a bundle among the units; if not, slots are cells.
    first_cell : int
        Where the cells of the group's features start.
    n_slots : int
        Number of its slots.
    """

    def __init__(self, units, is_sparse, first_cell):
        self.units = units
        self.is_sparse = is_sparse
        self.has_bundles = any(unit.bundle is not None for unit in units)
        self.first_cell = first_cell
        self.n_slots = sum(unit.n_slots for unit in units)


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
    n_grown : int
        Rows that a tree is grown on.
    n_threads : int
        Threads to use.

    Attributes
    ----------
    n_cells : ndarray of int32 of shape (n_features,)
        Number of cells: bins, and one for missing values if there are any.
    first_cell : ndarray of int64 of shape (n_features,)
        First cell of each feature.
    cell_of : ndarray of uint16 of shape (n_features, 256)
        Cell of each bin, counted from the feature's first cell.
    frequent_cell : ndarray of int32 of shape (n_features,)
        Cell of the most frequent bin (of a sample), counted from the first cell.
    is_sparse : ndarray of uint8 of shape (n_features,)
        Whether the frequent cell is left out of the lists.
    total_cells : int
        Number of all cells.
    groups : list of Group
        The groups; every feature is in one of them.
    """

    def __init__(
        self,
        columns,
        n_bins,
        has_missing,
        is_categorical,
        missing_bin,
        *,
        n_grown,
        n_threads,
    ):
        n_features, n_samples = columns.shape
        self.n_features = n_features
        self.n_bins = np.asarray(n_bins, dtype=np.int32)
        self.has_missing = np.asarray(has_missing, dtype=np.uint8)
        self.is_categorical = np.asarray(is_categorical, dtype=np.uint8)
        self.missing_bin = missing_bin
        self.n_cells = self.n_bins + self.has_missing
        self.cell_of = np.tile(np.arange(256, dtype=np.uint16), (n_features, 1))
        self.cell_of[:, missing_bin] = self.n_bins

        sample = columns[:, :: max(1, n_samples // N_SAMPLED)]
        share = np.empty(n_features)
        self.frequent_cell = np.empty(n_features, dtype=np.int32)
        for feature, bins in enumerate(sample):
            counts = np.bincount(bins)
            frequent = counts.argmax()
            self.frequent_cell[feature] = self.cell_of[feature, frequent]
            share[feature] = counts[frequent] / len(bins)
        sparse = _worth_leaving_out(share)
        bundles = find_bundles(
            columns,
            self.cell_of,
            self.n_cells,
            np.where(sparse, 1.0 - share, 1.0),
            n_grown,
            n_threads,
        )
        bundled = [feature for bundle in bundles for feature in bundle.features]
        share[bundled] = 0.0
        sparse = _worth_leaving_out(share)
        self.is_sparse = sparse.astype(np.uint8)

        singles = set(range(n_features)).difference(*(b.features for b in bundles))
        units = [
            Unit(bundle.features, bundle, bundle.cells.shape[1]) for bundle in bundles
        ] + [Unit([f], None, int(self.n_cells[f])) for f in sorted(singles)]
        self.first_cell = np.empty(n_features, dtype=np.int64)
        self.groups = []
        self.total_cells = 0
        for kind, room in ((False, DENSE_GROUP_SLOTS), (True, SPARSE_GROUP_SLOTS)):
            same = [unit for unit in units if sparse[unit.features[0]] == kind]
            for part in _fill(same, room):
                self.groups.append(Group(part, kind, self.total_cells))
                for feature in (f for unit in part for f in unit.features):
                    self.first_cell[feature] = self.total_cells
                    self.total_cells += int(self.n_cells[feature])


def _worth_leaving_out(share):
    """Which features to leave the most frequent bin of out of the lists."""
    sparse = share >= MIN_SHARE
    return sparse & (share[sparse].sum() >= MIN_SPARED)


def _fill(units, room):
    """Split units into as few runs as have about equally many slots."""
    if not units:
        return []
    ends = np.cumsum([unit.n_slots for unit in units])
    n_groups = -(-int(ends[-1]) // room)
    which = (ends - 1) * n_groups // int(ends[-1])
    return [
        [unit for unit, run in zip(units, which, strict=True) if run == k]
        for k in np.unique(which)
    ]
