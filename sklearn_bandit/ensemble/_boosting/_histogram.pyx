"""Sums of gradients and hessians, and counts, of a node's rows by cell.

A cell is the sum of gradients, the number of rows and the sum of hessians, in double
precision; if hessians are constant, their sum is the number of rows and not stored.

Rows are inserted one after the other, so that neighbouring additions go to different
features and do not wait for each other, as they would column by column wherever many
rows share a bin. A large node is cut into chunks of rows, each with a histogram of its
own. Chunks depend on the node alone, and their sums are added in order: the result is
the same for any number of threads.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from sklearn_bandit._simd cimport prefetch
from sklearn_bandit.tree._inline cimport inline_void

from ._rows cimport GroupRows, Rows

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    typedef double skb_pair __attribute__((vector_size(16), aligned(8), may_alias));
    static inline void skb_add_pair(double *cell, double first, double second)
    { skb_pair pair = {first, second}; *(skb_pair *) cell += pair; }
    #else
    static inline void skb_add_pair(double *cell, double first, double second)
    { cell[0] += first; cell[1] += second; }
    #endif
    """
    # One load, one addition and one store for two sums: what insertion is made of.
    void add_pair "skb_add_pair"(double*, double, double) noexcept nogil

cdef enum:
    # Most chunks of a node, and so most threads that work on one group.
    MAX_CHUNKS = 8
    # Insertions of a chunk for each cell: what the cells of a chunk cost (clearing,
    # adding) is then below a tenth of the whole.
    INSERTIONS_PER_CELL = 8
    # Insertions that are worth waking other threads for (some microseconds).
    MIN_PARALLEL = 65536
    # How many rows ahead lists are fetched from memory.
    AHEAD = 16


cdef inline_void _insert(
    const int width,
    const GroupRows* group,
    const uint32_t* rows,
    const float* gradients,
    const float* hessians,
    Py_ssize_t start,
    Py_ssize_t stop,
    double* out,
    int64_t* n_inserted,
) noexcept nogil:
    """Insert some rows of a node into the cells of one group."""
    cdef Py_ssize_t i, j, n
    cdef const uint16_t* cells
    cdef double g, h = 1.0
    cdef double* cell
    cdef int64_t inserted = 0

    for i in range(start, stop):
        if group.starts == NULL:
            n = group.width
            cells = group.cells + <Py_ssize_t> rows[i] * n
            if i + AHEAD < stop:
                prefetch(group.cells + <Py_ssize_t> rows[i + AHEAD] * n)
        else:
            cells = group.cells + group.starts[rows[i]]
            n = group.starts[rows[i] + 1] - group.starts[rows[i]]
            if i + AHEAD < stop:
                prefetch(group.cells + group.starts[rows[i + AHEAD]])
        inserted += n
        g = gradients[i]
        if width == 3:
            h = hessians[i]
        for j in range(n):
            cell = out + width * <Py_ssize_t> cells[j]
            add_pair(cell, g, 1.0)
            if width == 3:
                cell[2] += h
    n_inserted[0] = inserted


cdef class HistogramBuilder:
    """Sums of the rows of a node by cell.

    Parameters
    ----------
    layout : Layout
        Groups and cells.
    rows : Rows
        The rows in that layout.
    constant_hessian : bool
        Whether all hessians are 1.
    n_threads : int
        Threads to use.
    """

    def __cinit__(self, layout, Rows rows, bint constant_hessian, int n_threads):
        self.rows = rows
        self.width = 2 if constant_hessian else 3
        self.total_cells = layout.total_cells
        self.n_threads = n_threads
        self.n_cells = layout.n_cells
        self.first_cell = layout.first_cell
        self.frequent_cell = layout.frequent_cell
        self.is_sparse = layout.is_sparse
        group_of = np.empty(layout.n_features, dtype=np.int32)
        for g, group in enumerate(layout.groups):
            group_of[group.features] = g
        self.group_of = group_of
        self.n_chunks = np.ones(rows.n_groups, dtype=np.int32)
        self.inserted = np.zeros(rows.n_groups * MAX_CHUNKS, dtype=np.int64)
        chunked = rows.n_groups < MAX_CHUNKS
        self.scratch = np.zeros(
            (MAX_CHUNKS - 1) * self.total_cells * self.width if chunked else 1
        )

    cdef int64_t insert(
        self,
        const uint32_t* rows,
        const float* gradients,
        const float* hessians,
        Py_ssize_t n,
        const uint8_t* is_live,
        double* out,
    ) noexcept nogil:
        """Insert rows into cleared histograms, which `finish` then completes.

        Returns
        -------
        int
            Number of insertions.
        """
        cdef Py_ssize_t g, task, n_tasks = self.rows.n_groups * MAX_CHUNKS
        cdef const GroupRows* group
        cdef int64_t total = 0, expected = 0
        cdef int n_threads

        for g in range(self.rows.n_groups):
            group = &self.rows.groups[g]
            expected += n * group.width
            self.n_chunks[g] = 1
            if self.rows.n_groups < MAX_CHUNKS:
                self.n_chunks[g] = <int32_t> min(max(
                    n * group.width // (INSERTIONS_PER_CELL * group.n_cells), 1
                ), MAX_CHUNKS)
        n_threads = self.n_threads if expected >= MIN_PARALLEL else 1
        for task in prange(n_tasks, schedule="dynamic", num_threads=n_threads):
            self._insert_chunk(
                task % self.rows.n_groups, task // self.rows.n_groups, rows, gradients,
                hessians, n, is_live, out,
            )
        for task in range(n_tasks):
            total += self.inserted[task]
        return total

    cdef double* _chunk_cells(
        self, Py_ssize_t g, Py_ssize_t chunk, double* out
    ) noexcept nogil:
        """Where a chunk of a group is summed."""
        cdef Py_ssize_t first = self.rows.groups[g].first_cell

        if chunk == 0:
            return out + self.width * first
        return &self.scratch[
            self.width * ((MAX_CHUNKS - 1) * first
                          + (chunk - 1) * self.rows.groups[g].n_cells)
        ]

    cdef void _insert_chunk(
        self,
        Py_ssize_t g,
        Py_ssize_t chunk,
        const uint32_t* rows,
        const float* gradients,
        const float* hessians,
        Py_ssize_t n,
        const uint8_t* is_live,
        double* out,
    ) noexcept nogil:
        """Clear the cells of a chunk of a group and insert its rows."""
        cdef const GroupRows* group = &self.rows.groups[g]
        cdef Py_ssize_t feature, n_chunks = self.n_chunks[g]
        cdef double* cells
        cdef bint any_live = False
        cdef int64_t* inserted = &self.inserted[chunk * self.rows.n_groups + g]

        inserted[0] = 0
        if chunk >= n_chunks:
            return
        cells = self._chunk_cells(g, chunk, out)
        for feature in range(self.n_cells.shape[0]):
            if self.group_of[feature] == g and is_live[feature]:
                any_live = True
                memset(
                    cells + self.width * (self.first_cell[feature] - group.first_cell),
                    0, self.n_cells[feature] * self.width * sizeof(double),
                )
        if not any_live:
            return
        if self.width == 3:
            _insert(
                3, group, rows, gradients, hessians, n * chunk // n_chunks,
                n * (chunk + 1) // n_chunks, cells, inserted,
            )
        else:
            _insert(
                2, group, rows, gradients, hessians, n * chunk // n_chunks,
                n * (chunk + 1) // n_chunks, cells, inserted,
            )

    cdef void finish(
        self, Py_ssize_t feature, double n, double sum_g, double sum_h, double* out
    ) noexcept nogil:
        """Add up the chunks of a feature and fill in the cell that was left out."""
        cdef Py_ssize_t g = self.group_of[feature], chunk, i
        cdef Py_ssize_t first = self.first_cell[feature]
        cdef Py_ssize_t within = first - self.rows.groups[g].first_cell
        cdef Py_ssize_t size = self.n_cells[feature] * self.width
        cdef double* cells = out + self.width * first
        cdef double* frequent
        cdef const double* part

        for chunk in range(1, self.n_chunks[g]):
            part = self._chunk_cells(g, chunk, out) + self.width * within
            for i in range(size):
                cells[i] += part[i]
        if self.is_sparse[feature]:
            frequent = cells + self.width * self.frequent_cell[feature]
            for i in range(self.width):
                frequent[i] = 0.0
            for i in range(self.n_cells[feature]):
                sum_g -= cells[i * self.width]
                n -= cells[i * self.width + 1]
                sum_h -= cells[(i + 1) * self.width - 1]
            if n > 0.0:  # else sums that are but rounding errors
                frequent[0] = sum_g
                frequent[1] = n
                if self.width == 3:
                    frequent[2] = sum_h

    cdef void subtract(
        self, Py_ssize_t feature, const double* part, double* whole
    ) noexcept nogil:
        """Take one child's cells of a feature from its parent's: the other child's."""
        cdef Py_ssize_t start = self.first_cell[feature] * self.width, i

        for i in range(start, start + self.n_cells[feature] * self.width):
            whole[i] -= part[i]
