"""The class of each row by as many trees as it takes.

The class of a row is the best arm, trees are the references
(``sklearn_bandit.bandit._votes``). They are asked in a random order that is the same
for all rows; after some of them, rows whose class is decided drop out. What a row asks
depends on nothing but the row: not on blocks, nor on threads. A row that has asked all
trees gets the class that all trees predict, as without sampling.

The more rows pass a tree together, the less it costs each of them. So the trees are
divided into stages, of about as many as were asked before. Rows that are open at the
end of a stage are copied to where those of earlier blocks wait for the next; when these
are as many as a block has, they go on.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit.bandit._votes cimport is_decided

from .packing cimport Forest, PackedTrees
from .row_blocks cimport RowBlocks, Rows
from .walk cimport FEW_ROWS, WALKERS, add_payloads, walk_few, walk_rows

from sklearn_bandit.bandit._votes import look_schedule

from .averages import block_rows

# A stage ends when this many times as many trees have been asked as at its start.
STAGE_GROWTH = 2.0

# Features of a row that is copied: a block of wider rows takes too much memory.
MOST_COPIED_FEATURES = 4096


cdef struct Stage:
    # Rows that ask the trees of one stage, in one thread.
    Rows rows
    int first_look
    int end_look                    # the look after the last
    double* sums                    # votes of the rows
    Py_ssize_t* numbers             # of the rows
    uint32_t* open_                 # places of those that are not decided
    float* copies                   # room for the rows; NULL in the first stage


cdef class Poll:
    """What a vote needs beside rows and trees, and what comes out of it."""

    cdef PackedTrees packed
    cdef RowBlocks blocks
    cdef int[::1] ends              # trees asked at each look
    cdef double[::1] thresholds
    cdef double rounding            # sums that differ by less may be equal
    cdef int n_stages
    cdef Stage* stages              # those of each thread, one thread after the other
    cdef double[:, ::1] sums        # memory of the stages
    cdef Py_ssize_t[:, ::1] numbers
    cdef uint32_t[:, ::1] open_
    cdef float[:, ::1] copies
    cdef uint32_t[:, ::1] payloads  # of each thread
    cdef int32_t[::1] classes       # output
    cdef int32_t[::1] n_asked       # output

    def __init__(self, PackedTrees packed, RowBlocks blocks, double delta):
        self.packed = packed
        self.blocks = blocks
        ends, thresholds = look_schedule(packed.n_trees, delta)
        self.ends = np.array(ends, dtype=np.intc)
        self.thresholds = np.array(thresholds)
        # Each of n additions is off by at most half an epsilon of a sum that is at most
        # n; twice that for two classes, again for the other order and the division.
        self.rounding = 4.0 * packed.n_trees**2 * np.finfo(np.float64).eps
        self.payloads = np.empty(
            (blocks.n_threads, max(blocks.block_rows, <Py_ssize_t> WALKERS)),
            dtype=np.uint32,
        )
        self.classes = np.zeros(blocks.n_rows, dtype=np.int32)
        self.n_asked = np.zeros(blocks.n_rows, dtype=np.int32)
        # There are others to wait for if a thread has several blocks.
        is_divided = (
            blocks.n_blocks > blocks.n_threads
            and packed.n_features <= MOST_COPIED_FEATURES
        )
        self._make_stages(stage_looks(ends) if is_divided else [0, len(ends)])

    def __dealloc__(self):
        free(self.stages)

    cdef _make_stages(self, list looks):
        """Make the stages of all threads, given the looks at which they begin and end.
        """
        cdef Py_ssize_t room = self.blocks.block_rows, i
        cdef int n_threads = self.blocks.n_threads, thread, k
        cdef Stage* stage

        self.n_stages = len(looks) - 1
        n = n_threads * self.n_stages
        self.stages = <Stage*> allocate_zeros(n, sizeof(Stage))
        if self.stages == NULL:
            raise MemoryError
        self.sums = np.empty((n, room * self.packed.forest.width))
        self.numbers = np.empty((n, room), dtype=np.intp)
        self.open_ = np.empty((n, room), dtype=np.uint32)
        if self.n_stages > 1:
            self.copies = np.empty((n, room * self.packed.n_features), dtype=np.float32)
        for thread in range(n_threads):
            for k in range(self.n_stages):
                i = thread * self.n_stages + k
                stage = self.stages + i
                stage.first_look, stage.end_look = looks[k], looks[k + 1]
                stage.sums = &self.sums[i, 0]
                stage.numbers = &self.numbers[i, 0]
                stage.open_ = &self.open_[i, 0]
                if k > 0:
                    stage.copies = &self.copies[i, 0]
                    stage.rows.x = stage.copies
                    stage.rows.stride = self.packed.n_features

    cdef void run(self, Interrupts interrupts) noexcept nogil:
        """Find the classes of all rows."""
        cdef Py_ssize_t block
        cdef int n_threads = self.blocks.n_threads, thread

        for block in prange(
            self.blocks.n_blocks, schedule="dynamic", num_threads=n_threads
        ):
            if not interrupts.look():
                self._begin(block, thread_num())
        if self.n_stages > 1:
            for thread in prange(
                n_threads, schedule="static", chunksize=1, num_threads=n_threads
            ):
                self._end(interrupts, thread)

    cdef void _begin(self, Py_ssize_t block, int thread) noexcept nogil:
        """Ask the trees of the first stage for a block of rows."""
        cdef Stage* stage = self.stages + thread * self.n_stages
        cdef Py_ssize_t start = block * self.blocks.block_rows, i
        cdef Py_ssize_t width = self.packed.forest.width

        self.blocks.load(block, thread, &stage.rows)
        memset(stage.sums, 0, stage.rows.n * width * sizeof(double))
        for i in range(stage.rows.n):
            stage.numbers[i] = start + i
        self._ask(thread, 0)
        self.blocks.release(block, thread)

    cdef void _end(self, Interrupts interrupts, int thread) noexcept nogil:
        """Ask the trees of all stages but the first for the rows that wait."""
        cdef int k

        for k in range(1, self.n_stages):
            if not interrupts.look():
                self._ask(thread, k)

    cdef void _ask(self, int thread, int k) noexcept nogil:
        """Ask the trees of a stage for its rows; those left open wait for the next."""
        cdef Stage* stage = self.stages + thread * self.n_stages + k
        cdef Rows one = stage.rows
        cdef int i

        if stage.rows.n < FEW_ROWS:
            one.n = 1
            for i in range(stage.rows.n):
                one.x = stage.rows.x + i * stage.rows.stride
                self._ask_for_one(thread, stage, &one, i)
        else:
            self._ask_for_many(thread, k)
        stage.rows.n = 0

    cdef void _ask_for_one(
        self, int thread, const Stage* stage, const Rows* row, int place
    ) noexcept nogil:
        """Find the class of one row, by several trees at a time."""
        cdef const Forest* forest = &self.packed.forest
        cdef Py_ssize_t width = forest.width
        cdef double* sums = stage.sums + place * width
        cdef int look = stage.first_look, n, i
        cdef int tree = self.ends[look - 1] if look > 0 else 0
        cdef uint32_t alone = 0

        for look in range(look, <int> self.ends.shape[0]):
            while tree < self.ends[look]:
                n = min(<int> WALKERS, self.ends[look] - tree)
                walk_few(
                    forest, &self.packed.shuffled[tree], n, row,
                    &self.payloads[thread, 0],
                )
                for i in range(n):
                    add_payloads(forest, &self.payloads[thread, i], NULL, 1, sums)
                tree += n
            if self._look(look, sums, stage.numbers + place, &alone, 1) == 0:
                return
        self.classes[stage.numbers[place]] = self._sum_in_order(row, sums, thread)

    cdef void _ask_for_many(self, int thread, int k) noexcept nogil:
        """Ask the trees of a stage for its rows, a tree at a time."""
        cdef Stage* stage = self.stages + thread * self.n_stages + k
        cdef const Forest* forest = &self.packed.forest
        cdef Py_ssize_t width = forest.width, r
        cdef int look = stage.first_look, i
        cdef int place = self.ends[look - 1] if look > 0 else 0
        cdef Rows left = stage.rows, one = stage.rows

        for i in range(left.n):
            stage.open_[i] = i
        for look in range(look, stage.end_look):
            while place < self.ends[look]:
                walk_rows(
                    forest, self.packed.shuffled[place], &left, stage.open_,
                    &self.payloads[thread, 0],
                )
                add_payloads(
                    forest, &self.payloads[thread, 0], stage.open_, left.n, stage.sums
                )
                place += 1
            left.n = self._look(look, stage.sums, stage.numbers, stage.open_, left.n)
            if left.n == 0:
                return
        one.n = 1
        for i in range(left.n):
            r = stage.open_[i]
            one.x = stage.rows.x + r * stage.rows.stride
            if k + 1 < self.n_stages:
                self._wait(
                    thread, k + 1, &one, stage.sums + r * width, stage.numbers[r]
                )
            else:
                self.classes[stage.numbers[r]] = self._sum_in_order(
                    &one, stage.sums + r * width, thread
                )

    cdef void _wait(
        self, int thread, int k, const Rows* row, const double* sums, Py_ssize_t number
    ) noexcept nogil:
        """Put a row with those that wait for a stage; if they are many, they go on."""
        cdef Stage* stage = self.stages + thread * self.n_stages + k
        cdef Py_ssize_t width = self.packed.forest.width, place = stage.rows.n
        cdef Py_ssize_t n_features = self.packed.n_features

        memcpy(stage.copies + place * n_features, row.x, n_features * sizeof(float))
        memcpy(stage.sums + place * width, sums, width * sizeof(double))
        stage.numbers[place] = number
        stage.rows.has_nan |= row.has_nan
        stage.rows.n += 1
        if stage.rows.n == self.blocks.block_rows:
            self._ask(thread, k)

    cdef int _look(
        self, int look, const double* sums, const Py_ssize_t* numbers, uint32_t* open_,
        int n
    ) noexcept nogil:
        """Keep those of open rows that are not decided; return how many.

        The leader is noted for all of them, and replaced at the next look: whether a
        row is decided cannot be predicted, so there is no branch.
        """
        cdef Py_ssize_t width = self.packed.forest.width, number
        cdef int32_t* classes = &self.classes[0]
        cdef int32_t* n_asked = &self.n_asked[0]
        cdef int asked = self.ends[look], n_open = 0, i
        # What differs by rounding is tied: after all trees these rows are left.
        cdef double left = self.packed.n_trees - asked + self.rounding
        cdef double threshold = self.thresholds[look]
        cdef double leader, runner_up, share
        cdef const double* votes
        cdef int32_t best, c

        for i in range(n):
            votes = sums + open_[i] * width
            leader = votes[0]
            runner_up = -1.0
            best = 0
            for c in range(1, <int32_t> width):
                share = votes[c]
                runner_up = max(runner_up, min(leader, share))
                best = c if share > leader else best
                leader = max(leader, share)
            number = numbers[open_[i]]
            classes[number] = best
            n_asked[number] = asked
            open_[n_open] = open_[i]
            n_open += not is_decided(leader, runner_up, left, threshold)
        return n_open

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


def stage_looks(ends):
    """Return the looks at which stages begin, and the number of looks.

    Parameters
    ----------
    ends : list of int
        Trees asked at each look.

    Returns
    -------
    list of int
        From 0 on; a look belongs to the stage that begins before it.
    """
    looks, start = [0], ends[0]
    for look, end in enumerate(ends):
        if end > STAGE_GROWTH * start:
            looks.append(look)
            start = ends[look - 1]
    return [*looks, len(ends)]


def vote(PackedTrees packed, X, double delta, int n_threads, check=None):
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
    check : callable, optional
        Called in the end if there are missing or infinite values in a dense X.

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
    if check is not None and not blocks.is_finite:
        check()
    return np.asarray(poll.classes), np.asarray(poll.n_asked)
