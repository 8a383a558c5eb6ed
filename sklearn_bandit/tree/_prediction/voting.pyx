"""The class of each row by as many trees as it takes.

The class of a row is the best arm, trees are the references
(``sklearn_bandit.bandit._votes``). They are asked in a random order that is the same
for all rows; after some of them, rows whose class is decided drop out. What a row asks
depends on nothing but the row: not on blocks, nor on threads. A row that has asked all
trees gets the class that all trees predict, as without sampling.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, uint32_t

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit.bandit._votes cimport margin_bound

from .packing cimport Forest, PackedTrees
from .row_blocks cimport RowBlocks, Rows
from .walk cimport FEW_ROWS, WALKERS, add_payloads, walk_few, walk_rows

from sklearn_bandit.bandit._votes import look_schedule

from .averages import block_rows


cdef class Poll:
    """What a vote needs beside rows and trees, and what comes out of it."""

    cdef PackedTrees packed
    cdef RowBlocks blocks
    cdef int[::1] ends              # trees asked at each look
    cdef double[::1] quantiles
    cdef double rounding            # sums that differ by less may be equal
    cdef double[:, ::1] sums        # votes of the rows of a block, of each thread
    cdef uint32_t[:, ::1] payloads
    cdef uint32_t[:, ::1] open_     # rows that are not decided
    cdef int32_t[::1] classes       # output
    cdef int32_t[::1] n_asked       # output

    def __init__(self, PackedTrees packed, RowBlocks blocks, double delta):
        cdef Py_ssize_t n_threads = blocks.n_threads
        cdef Py_ssize_t room = max(blocks.block_rows, <Py_ssize_t> WALKERS)

        self.packed = packed
        self.blocks = blocks
        ends, quantiles = look_schedule(packed.n_trees, delta)
        self.ends = np.array(ends, dtype=np.intc)
        self.quantiles = np.array(quantiles)
        # Each of n additions is off by at most half an epsilon of a sum that is at most
        # n; twice that for two classes, again for the other order and the division.
        self.rounding = 4.0 * packed.n_trees**2 * np.finfo(np.float64).eps
        self.sums = np.empty((n_threads, blocks.block_rows * packed.forest.width))
        self.payloads = np.empty((n_threads, room), dtype=np.uint32)
        self.open_ = np.empty((n_threads, blocks.block_rows), dtype=np.uint32)
        self.classes = np.zeros(blocks.n_rows, dtype=np.int32)
        self.n_asked = np.zeros(blocks.n_rows, dtype=np.int32)

    cdef void run(self, Interrupts interrupts) noexcept nogil:
        """Find the classes of all rows."""
        cdef Py_ssize_t block

        for block in prange(
            self.blocks.n_blocks, schedule="dynamic", num_threads=self.blocks.n_threads
        ):
            if not interrupts.look():
                self._find_classes(block, thread_num())

    cdef void _find_classes(self, Py_ssize_t block, int thread) noexcept nogil:
        cdef Py_ssize_t start = block * self.blocks.block_rows, i
        cdef Rows rows, one

        self.blocks.load(block, thread, &rows)
        for i in range(rows.n * <Py_ssize_t> self.packed.forest.width):
            self.sums[thread, i] = 0.0
        if rows.n < FEW_ROWS:
            one = rows
            one.n = 1
            for i in range(rows.n):
                one.x = rows.x + i * rows.stride
                self._ask_for_one(&one, start + i, thread)
        else:
            self._ask_for_many(&rows, start, thread)
        self.blocks.release(block, thread)

    cdef void _ask_for_one(
        self, const Rows* row, Py_ssize_t number, int thread
    ) noexcept nogil:
        """Find the class of one row, by several trees at a time."""
        cdef const Forest* forest = &self.packed.forest
        cdef double* sums = &self.sums[thread, 0]
        cdef int tree = 0, look, n, i

        for i in range(forest.width):
            sums[i] = 0.0
        for look in range(self.ends.shape[0]):
            while tree < self.ends[look]:
                n = min(<int> WALKERS, self.ends[look] - tree)
                walk_few(
                    forest, &self.packed.shuffled[tree], n, row,
                    &self.payloads[thread, 0],
                )
                for i in range(n):
                    add_payloads(forest, &self.payloads[thread, i], NULL, 1, sums)
                tree += n
            if self._is_decided(row, sums, look, number, thread):
                return

    cdef void _ask_for_many(
        self, const Rows* rows, Py_ssize_t start, int thread
    ) noexcept nogil:
        """Find the classes of a block of rows."""
        cdef const Forest* forest = &self.packed.forest
        cdef double* sums = &self.sums[thread, 0]
        cdef uint32_t* payloads = &self.payloads[thread, 0]
        cdef uint32_t* open_ = &self.open_[thread, 0]
        cdef int place = 0, look, tree, i, n_open
        cdef Rows left = rows[0], one = rows[0]

        one.n = 1
        for i in range(rows.n):
            open_[i] = i
        for look in range(self.ends.shape[0]):
            while place < self.ends[look]:
                tree = self.packed.shuffled[place]
                walk_rows(forest, tree, &left, open_, payloads)
                add_payloads(forest, payloads, open_, left.n, sums)
                place += 1
            n_open = 0
            for i in range(left.n):
                one.x = rows.x + open_[i] * rows.stride
                if not self._is_decided(
                    &one, sums + open_[i] * <Py_ssize_t> forest.width, look,
                    start + open_[i], thread,
                ):
                    open_[n_open] = open_[i]
                    n_open += 1
            left.n = n_open
            if n_open == 0:
                return

    cdef bint _is_decided(
        self, const Rows* row, double* sums, int look, Py_ssize_t number, int thread
    ) noexcept nogil:
        """Whether the class of a row is known, which is then noted."""
        cdef int n_trees = <int> self.packed.n_trees, n_asked = self.ends[look]
        cdef int width = self.packed.forest.width, best = 0, k
        cdef double leader = -1.0, runner_up = -1.0

        for k in range(width):
            if sums[k] > leader:
                runner_up = leader
                leader = sums[k]
                best = k
            elif sums[k] > runner_up:
                runner_up = sums[k]
        if n_asked == n_trees:
            if leader - runner_up <= self.rounding:
                best = self._sum_in_order(row, sums, thread)
        elif not margin_bound(
            leader, runner_up, n_asked, n_trees, self.quantiles[look]
        ) > 0.0:
            return False
        self.classes[number] = best
        self.n_asked[number] = n_asked
        return True

    cdef int _sum_in_order(
        self, const Rows* row, double* sums, int thread
    ) noexcept nogil:
        """Return the class of a row, ties broken as by the means of all trees."""
        cdef const Forest* forest = &self.packed.forest
        cdef int n_trees = <int> self.packed.n_trees, best = 0, tree = 0, n, i
        cdef uint32_t* payloads = &self.payloads[thread, 0]

        for i in range(forest.width):
            sums[i] = 0.0
        while tree < n_trees:
            n = min(<int> WALKERS, n_trees - tree)
            walk_few(forest, &self.packed.in_order[tree], n, row, payloads)
            for i in range(n):
                add_payloads(forest, payloads + i, NULL, 1, sums)
            tree += n
        for i in range(1, forest.width):
            if sums[i] / n_trees > sums[best] / n_trees:
                best = i
        return best


def vote(PackedTrees packed, X, double delta, int n_threads):
    """Find the class that has most votes, by asking some of the trees.

    Parameters
    ----------
    packed : PackedTrees
        Trees of a classifier with one output and two classes or more.
    X : ndarray of float32 or CSR matrix of float32 and 32-bit indices
        The samples.
    delta : float
        Probability, for each sample, of another class than that of all trees.
    n_threads : int
        Threads to use.

    Returns
    -------
    classes : ndarray of int32 of shape (n_samples,)
        Numbers of the classes.
    n_asked : ndarray of int32 of shape (n_samples,)
        How many trees were asked for each sample.
    """
    cdef RowBlocks blocks = RowBlocks(X, block_rows(packed), n_threads)
    cdef Interrupts interrupts = Interrupts()
    cdef Poll poll = Poll(packed, blocks, delta)

    if blocks.n_features != packed.n_features or packed.forest.n_classes < 2:
        raise ValueError("The trees do not vote on samples like these.")
    with nogil:
        poll.run(interrupts)
    if interrupts.seen:
        raise interrupts.error
    return np.asarray(poll.classes), np.asarray(poll.n_asked)
