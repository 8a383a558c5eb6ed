"""A head that may miss a share `delta` of the neighbours, and drops more rows."""

from dataclasses import replace

import numpy as np

from ._search import Search
from ._segment import BLOCK, Segment
from .head import in_units

# Rows whose neighbours tell how much of a distance the head holds; how many of each.
N_CALIBRATION = 2000
N_CALIBRATION_NEIGHBOURS = 10
# A quantile is not estimated from fewer ratios beyond it.
MIN_BEYOND = 4


def calibrate(segment, delta, rng, n_threads):
    """Return the segment with a head that misses a share of `delta` of neighbours.

    The head holds a share of the squared distance between a row and its neighbour. A
    quantile of these shares, over rows of the segment as queries, bounds the squared
    distance in the head of a neighbour that is to be found.
    """
    rows, space = segment.rows, segment.space
    chosen = np.sort(rng.permutation(len(rows))[:N_CALIBRATION])
    k = min(N_CALIBRATION_NEIGHBOURS, len(rows) - 1)
    n_beyond = int(0.5 * delta * len(chosen) * k)
    if n_beyond < MIN_BEYOND:
        return segment
    queries = np.ascontiguousarray(rows[chosen])
    own = chosen.astype(np.int64) + segment.first
    positions = Search((segment,)).nearest(queries, k, own, n_threads)[1]
    near = positions.ravel() - segment.first
    basis = segment.head.basis.astype(np.float64)
    ratios = []
    for start in range(0, len(chosen), 200):
        query = in_units(queries[start : start + 200], space).astype(np.float64)
        others = in_units(rows[near[start * k : (start + 200) * k]], space)
        steps = others - np.repeat(query, k, axis=0)
        squares = np.einsum("ij,ij->i", steps, steps)
        heads = steps @ basis.T
        parts = np.einsum("ij,ij->i", heads, heads)
        ratios.append(parts[squares > 0] / squares[squares > 0])
    ratios = np.sort(np.concatenate(ratios))
    if len(ratios) <= n_beyond:
        return segment
    head = replace(segment.head, ratio=float(min(ratios[-1 - n_beyond], 1.0)))
    return Segment(
        rows,
        space,
        segment.codes,
        segment.stats,
        segment.limits,
        _of_distances(head),
        segment.first,
    )


def _of_distances(head):
    """Return the head with the biases of distances within it."""
    basis = head.basis
    codes = head.codes.reshape(-1, len(basis) // 4, BLOCK, 4)
    codes = codes.transpose(0, 2, 1, 3).reshape(len(codes), BLOCK, len(basis))
    stats = head.stats.copy()
    for block in range(0, len(codes), 128):
        part = (codes[block : block + 128].astype(np.float64) - 128.0) * head.steps
        squares = np.einsum("bij,bij->bi", part, part)
        squares *= stats[block : block + 128, 1].astype(np.float64) ** 2
        stats[block : block + 128, 0] = -0.5 * squares
    return replace(head, stats=stats, tails=head.tails[:1])
