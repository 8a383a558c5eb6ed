"""What the trees of a forest predict on average, to the last bit as scikit-learn.

Predictions are summed in the order of the trees and divided in the end, by row: results
do not depend on blocks or threads.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint32_t

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit._core.openmp cimport thread_num

from .packing cimport Forest, PackedTrees
from .row_blocks cimport RowBlocks, Rows
from .walk cimport FEW_ROWS, WALKERS, add_payloads, walk_few, walk_rows

cdef enum:
    # Rows and sums of a block take as much memory as this, or as a tree: then either is
    # fetched about once for all of the other.
    BLOCK_BYTES = 1 << 18
    LEAST_BLOCK_ROWS = 256


def block_rows(PackedTrees packed):
    """Return how many rows are best taken through a tree at a time."""
    cdef Py_ssize_t tree_bytes = packed.tree_bytes // packed.n_trees
    cdef Py_ssize_t row_bytes = 4 * packed.n_features + 8 * packed.forest.width

    return max(LEAST_BLOCK_ROWS, max(BLOCK_BYTES, tree_bytes) // row_bytes)


def average(PackedTrees packed, X, int n_threads, check=None):
    """Average the predictions of all trees.

    Parameters
    ----------
    packed : PackedTrees
        The trees.
    X : ndarray of float32 or CSR matrix of float32 and 32-bit indices
        The samples.
    n_threads : int
        Threads to use.
    check : callable, optional
        Called in the end if there are missing or infinite values in a dense X.

    Returns
    -------
    ndarray of shape (n_samples, width)
        The means of what a leaf has: shares of classes or values, of all outputs.
    """
    cdef RowBlocks blocks = RowBlocks(X, block_rows(packed), n_threads)
    cdef double[:, ::1] sums = np.zeros((blocks.n_rows, packed.forest.width))
    cdef Interrupts interrupts = Interrupts()
    cdef uint32_t[:, ::1] payloads

    if blocks.n_features != packed.n_features:
        raise ValueError("X and the trees have different numbers of features")
    if blocks.n_rows == 0:
        return np.asarray(sums)
    payloads = np.empty(
        (blocks.n_threads, max(blocks.block_rows, <Py_ssize_t> WALKERS)),
        dtype=np.uint32,
    )
    with nogil:
        if blocks.n_blocks == 1:
            _average_block(packed, blocks, 0, 0, &payloads[0, 0], &sums[0, 0])
        else:
            _average_blocks(packed, blocks, interrupts, payloads, sums)
    if interrupts.seen:
        raise interrupts.error
    if check is not None and not blocks.is_finite:
        check()
    return np.asarray(sums)


cdef void _average_blocks(
    PackedTrees packed, RowBlocks blocks, Interrupts interrupts,
    uint32_t[:, ::1] payloads, double[:, ::1] sums
) noexcept nogil:
    """Average the predictions for all blocks, in threads."""
    cdef Py_ssize_t block

    for block in prange(
        blocks.n_blocks, schedule="dynamic", num_threads=blocks.n_threads
    ):
        if not interrupts.look():
            _average_block(
                packed, blocks, block, thread_num(), &payloads[thread_num(), 0],
                &sums[block * blocks.block_rows, 0],
            )


cdef void _average_block(
    PackedTrees packed, RowBlocks blocks, Py_ssize_t block, int thread,
    uint32_t* payloads, double* sums
) noexcept nogil:
    """Average the predictions for one block of rows."""
    cdef const Forest* forest = &packed.forest
    cdef int n_trees = <int> packed.n_trees, tree = 0, n_together, i
    cdef Py_ssize_t k
    cdef Rows rows

    blocks.load(block, thread, &rows)
    if rows.n < FEW_ROWS:
        n_together = WALKERS // rows.n
        while tree < n_trees:
            n_together = min(n_together, n_trees - tree)
            walk_few(forest, &packed.in_order[tree], n_together, &rows, payloads)
            for i in range(n_together):
                add_payloads(forest, payloads + i * rows.n, NULL, rows.n, sums)
            tree += n_together
    else:
        for tree in range(n_trees):
            walk_rows(forest, tree, &rows, NULL, payloads)
            add_payloads(forest, payloads, NULL, rows.n, sums)
    for k in range(rows.n * <Py_ssize_t> forest.width):
        sums[k] /= <double> n_trees
    blocks.release(block, thread)
