"""Features that are inserted into histograms together.

Where features have few values, or depend on each other, few combinations of their
values occur: month, day and weekday; origin, destination and distance; the indicator
columns of one variable. Such a *bundle* of features is inserted like a single one, with
the combinations as its bins, and the histogram of each of its features is the sum over
the combinations with the same bin. Nothing is approximated. LightGBM's exclusive
feature bundling (Ke et al., 2017) is the case in which at most one of the features
differs from zero.
"""

import numpy as np

from .row_lists import join

# Fewer rows are not worth looking for bundles.
MIN_SAMPLES = 65_536

# Rows that combinations are looked for in; they are counted in all rows later.
N_SAMPLED = 4_096

# If of the first number of rows fewer pairs than the second share a combination, there
# are more combinations than allowed: of 8,192 they would share some 16.
N_FIRST = 512
MIN_SHARED = 8

# Pairs of features are compared, so that not too many may be.
MAX_FEATURES = 64

# Combinations of all bundles: with 32 bytes each, a quarter of a megabyte of cache.
MAX_COMBINATIONS = 8_192

# Pairs of bundles that could have more combinations are not compared.
MAX_CODES = 1 << 20

# A merger spares one insertion a row. It costs a few times as much a combination and
# feature in each node, and a node has a twentieth of the rows or so (31 leaves). With
# 128 Beijing air, covertype and the flights took 3, 5 and 19% less time than without
# bundles, more than with 32 or 512.
SAMPLES_PER_SUM = 128

# Insertions that a bundle must spare a row.
MIN_SPARED = 0.5


class Bundle:
    """Features that are inserted together.

    Attributes
    ----------
    features : list of int
        The features.
    which : ndarray of uint16 of shape (n_samples,)
        Number of the combination of each row.
    cells : ndarray of int32 of shape (n_features, n_combinations)
        Cell of each feature in each combination, counted from the feature's first.
    """

    def __init__(self, features, which, cells):
        self.features = features
        self.which = which
        self.cells = cells


def find_bundles(columns, cell_of, n_cells, insertions, n_grown, n_threads):
    """Find bundles.

    Parameters
    ----------
    columns : ndarray of uint8 of shape (n_features, n_samples)
        Bins of the training data.
    cell_of : ndarray of uint16 of shape (n_features, 256)
        Cell of each bin, counted from the feature's first.
    n_cells : ndarray of int32 of shape (n_features,)
        Number of cells of each feature.
    insertions : ndarray of shape (n_features,)
        Insertions a row that each feature costs on its own.
    n_grown : int
        Rows that a tree is grown on.
    n_threads : int
        Threads to use.

    Returns
    -------
    list of Bundle
        Bundles of two or more features each.
    """
    if n_grown < MIN_SAMPLES:
        return []
    limit = n_grown // SAMPLES_PER_SUM
    bundles, room = [], MAX_COMBINATIONS
    for features in _search(columns, cell_of, n_cells, limit):
        if insertions[features].sum() < 1.0 + MIN_SPARED:
            continue
        bundle = _count(features, columns, cell_of, n_cells, room, limit, n_threads)
        if insertions[bundle.features].sum() >= 1.0 + MIN_SPARED:
            bundles.append(bundle)
            room -= bundle.cells.shape[1]
    return bundles


def _search(columns, cell_of, n_cells, limit):
    """Merge the two bundles that make the fewest more combinations, again and again."""
    varying = np.flatnonzero(n_cells > 1)
    candidates = varying[np.argsort(n_cells[varying], kind="stable")[:MAX_FEATURES]]
    rows = slice(None, None, max(1, columns.shape[1] // N_SAMPLED))
    # Features, combination of each sampled row, number of combinations and of sums.
    bundles = []
    for feature in candidates.tolist():
        which = cell_of[feature][columns[feature, rows]].astype(np.int64)
        n = int(n_cells[feature])
        bundles.append(([feature], which, n, n))
    costs = {}

    def compare(a, b):
        features, which_a, n_a, sums_a = bundles[a]
        others, which_b, n_b, sums_b = bundles[b]
        first = np.sort(which_a[:N_FIRST] * n_b + which_b[:N_FIRST])
        n_distinct = 1 + np.count_nonzero(first[1:] != first[:-1])
        if n_a * n_b <= MAX_CODES and n_distinct <= N_FIRST - MIN_SHARED:
            expected = _expected_number(np.bincount(which_a * n_b + which_b))
            sums = expected * (len(features) + len(others))
            added = sums - sums_a - sums_b
            if expected <= MAX_COMBINATIONS and added <= limit:
                costs[a, b] = added, sums

    for a in range(len(bundles)):
        for b in range(a):
            compare(a, b)
    while costs:
        a, b = min(costs, key=costs.get)
        _, sums = costs[a, b]
        (features, which_a, _, _), (others, which_b, n_b, _) = bundles[a], bundles[b]
        distinct, which = np.unique(which_a * n_b + which_b, return_inverse=True)
        for pair in [pair for pair in costs if a in pair or b in pair]:
            del costs[pair]
        bundles[a] = bundles[b] = None
        bundles.append((features + others, which, len(distinct), sums))
        for other in range(len(bundles) - 1):
            if bundles[other] is not None:
                compare(len(bundles) - 1, other)
    found = [bundle[0] for bundle in bundles if bundle is not None]
    return [features for features in found if len(features) > 1]


def _expected_number(counts):
    """Combinations in all rows, from the counts in some (A. Chao, 1984)."""
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return np.count_nonzero(counts) + once * (once - 1) // (2 * (twice + 1))


def _count(features, columns, cell_of, n_cells, room, limit, n_threads):
    """Number the combinations that occur, of as many of the features as it pays for."""
    which = cell_of[features[0]][columns[features[0]]]
    cells = np.arange(n_cells[features[0]], dtype=np.int32)[None]
    for k, feature in enumerate(features[1:], 1):
        joined, before, cell = join(
            which,
            cells.shape[1],
            columns[feature],
            cell_of[feature],
            int(n_cells[feature]),
            n_threads,
        )
        added = len(cell) * (k + 1) - cells.size - int(n_cells[feature])
        if len(cell) > room or added > limit:
            features = features[:k]
            break
        which, cells = joined, np.vstack([cells[:, before], cell])
    return Bundle(features, which, np.ascontiguousarray(cells))
