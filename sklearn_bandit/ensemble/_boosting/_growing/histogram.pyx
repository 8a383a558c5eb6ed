"""Sums of gradients and hessians, and counts, of a node's rows by cell.

A cell is the sum of gradients, the number of rows and the sum of hessians, in double
precision, and a fourth number that is 0: a cell is half a cache line, and an insertion
one addition of four numbers. If hessians are constant, their sum is the number of rows
and not stored.

A large node is cut into chunks of rows, each with a histogram of its own. Chunks depend
on the node alone, and their sums are added in order: the result is the same for any
number of threads.

Rows of a sample come packed (see ``sampled_pairs``). Their sums are unpacked into cells
after each chunk, or after as many rows as fit their bits. If those of the whole node
do, several threads add chunks up before, feature by feature when its split is searched.

What is inserted (``insertions``) are the slots of ``layout``. Where a group has
bundles, the cells of its features are summed from the slots afterwards.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport CACHE_LINE

from .._data.row_lists cimport GroupRows, RowLists
from .insertions cimport (
    add_unpacked,
    insert_packed_rows,
    insert_pairs,
    insert_quads,
    sum_pairs,
    sum_quads,
    write_unpacked,
)
from .sampled_pairs cimport MAX_PACKED_ROWS, SampledPairs

cdef enum:
    # Most chunks of a node, and so most threads that work on one group.
    MAX_CHUNKS = 8
    # Insertions of a chunk for each slot: what the slots of a chunk cost (clearing,
    # adding) is then below a tenth of the whole.
    INSERTIONS_PER_SLOT = 8
    # The same where slots are packed, and cost a quarter.
    INSERTIONS_PER_PACKED_SLOT = 1
    # Parts of a group whose chunks are added up by one thread each.
    N_PARTS = 4
    # Insertions that are worth waking other threads for (some microseconds).
    MIN_PARALLEL = 16384


def aligned_zeros(n):
    """Zeros that begin with a cache line, so that no cell is in two of them.

    Parameters
    ----------
    n : int
        How many.

    Returns
    -------
    ndarray of float64 of shape (n,)
        The zeros.
    """
    room = np.zeros(n + CACHE_LINE // 8)
    return room[-room.ctypes.data % CACHE_LINE // 8 :][:n]


cdef class HistogramBuilder:
    """Sums of the rows of a node by cell.

    Parameters
    ----------
    layout : Layout
        Groups and cells.
    rows : RowLists
        The rows in that layout.
    constant_hessian : bool
        Whether all hessians are 1.
    n_threads : int
        Threads to use.
    """

    def __cinit__(self, layout, RowLists rows, bint constant_hessian, int n_threads):
        self.rows = rows
        self.width = 2 if constant_hessian else 4
        self.total_cells = layout.total_cells
        self.n_threads = n_threads
        self.n_cells = layout.n_cells
        self.first_cell = layout.first_cell
        self.frequent_cell = layout.frequent_cell
        self.is_sparse = layout.is_sparse
        self._place(layout)
        self.n_chunks = np.ones(rows.n_groups, dtype=np.int32)
        self.inserted = np.zeros(rows.n_groups * MAX_CHUNKS, dtype=np.int64)

    def _place(self, layout):
        """Where the slots of features and groups are."""
        group_of = np.empty(layout.n_features, dtype=np.int32)
        first_slot = np.empty(layout.n_features, dtype=np.int64)
        n_slots = np.empty(layout.n_features, dtype=np.int32)
        cell_place = np.full(layout.n_features, -1, dtype=np.int64)
        bundle_cells = [np.empty(0, dtype=np.int32)]
        scratch_start, packed_start = [], []
        n_scratch = n_packed = 0
        for g, group in enumerate(layout.groups):
            slot = 0
            for unit in group.units:
                group_of[unit.features] = g
                first_slot[unit.features] = slot
                n_slots[unit.features] = unit.n_slots
                if unit.bundle is not None:
                    places = np.arange(len(unit.features)) * unit.n_slots
                    cell_place[unit.features] = sum(map(len, bundle_cells)) + places
                    bundle_cells.append(unit.bundle.cells.ravel())
                slot += unit.n_slots
            n_chunks = MAX_CHUNKS if len(layout.groups) < MAX_CHUNKS else 1
            packed_start.append(n_packed)
            n_packed += n_chunks * group.n_slots
            scratch_start.append(n_scratch)
            n_scratch += (
                (n_chunks - (not group.has_bundles)) * group.n_slots * self.width
            )
        self.group_of = group_of
        self.first_slot = first_slot
        self.n_slots = n_slots
        self.cell_place = cell_place
        self.bundle_cells = np.concatenate(bundle_cells)
        self.group_cell = np.array(
            [group.first_cell for group in layout.groups], dtype=np.int64
        )
        self.has_bundles = np.array(
            [group.has_bundles for group in layout.groups], dtype=np.uint8
        )
        self.scratch_start = np.array(scratch_start, dtype=np.int64)
        self.scratch = aligned_zeros(n_scratch + 1)
        self.packed_start = np.array(packed_start, dtype=np.int64)
        # Samples have hessians, since they have weights.
        self.packed_scratch = np.empty(
            n_packed if self.width == 4 else 0, dtype=np.uint64
        )

    cdef void use_rows(self, RowLists rows, SampledPairs pairs):
        """Take rows from now on; `pairs` is None unless they are those of a sample."""
        self.rows = rows
        self.packed = NULL
        if pairs is not None and pairs.is_packed:
            self.packed = &pairs.packed_room[0]
            self.step_g, self.step_h = pairs.step_g, pairs.step_h

    cdef int64_t insert(
        self,
        const uint32_t* rows,
        const float* gradients,
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
        cdef int64_t total = 0, expected = 0
        cdef int n_threads
        cdef bint adds_chunks = False

        # One thread alone unpacks its sums at once, one feature behind the other.
        self.adds_packed = (
            self.packed != NULL and n <= MAX_PACKED_ROWS and self.n_threads > 1
        )
        for g in range(self.rows.n_groups):
            expected += n * self.rows.groups[g].width
        n_threads = self.n_threads if expected >= MIN_PARALLEL else 1
        for g in range(self.rows.n_groups):
            self.n_chunks[g] = self._count_chunks(&self.rows.groups[g], n, n_threads)
            if self.adds_packed:
                adds_chunks |= self.has_bundles[g]
            else:
                adds_chunks |= self.n_chunks[g] > 1
        for task in prange(n_tasks, schedule="dynamic", num_threads=n_threads):
            self._insert_chunk(
                task % self.rows.n_groups, task // self.rows.n_groups, rows, gradients,
                n, is_live, out,
            )
        if adds_chunks:
            n_tasks = self.rows.n_groups * N_PARTS
            for task in prange(n_tasks, num_threads=n_threads):
                self._add_chunks(task // N_PARTS, task % N_PARTS, out)
        for task in range(self.rows.n_groups * MAX_CHUNKS):
            total += self.inserted[task]
        return total

    cdef int32_t _count_chunks(
        self, const GroupRows* group, Py_ssize_t n, int n_threads
    ) noexcept nogil:
        """Number of chunks that the rows of a node are cut into for a group."""
        cdef Py_ssize_t least, most = MAX_CHUNKS

        if self.rows.n_groups >= MAX_CHUNKS:
            return 1
        least = INSERTIONS_PER_SLOT
        if self.packed != NULL:  # sums of integers: any chunks will do
            most = min(most, n_threads)
            if self.adds_packed:
                least = INSERTIONS_PER_PACKED_SLOT
        return <int32_t> min(max(n * group.width // (least * group.n_slots), 1), most)

    cdef double* _chunk_slots(
        self, Py_ssize_t g, Py_ssize_t chunk, double* out
    ) noexcept nogil:
        """Where a chunk of a group is summed: the first one in place if it can be."""
        if not self.has_bundles[g]:
            if chunk == 0:
                return out + self.width * self.group_cell[g]
            chunk -= 1
        return &self.scratch[
            self.scratch_start[g] + chunk * self.rows.groups[g].n_slots * self.width
        ]

    cdef void _add_chunks(
        self, Py_ssize_t g, Py_ssize_t part, double* out
    ) noexcept nogil:
        """Add up a part of the slots of a group in its first chunk."""
        cdef Py_ssize_t size = self.rows.groups[g].n_slots * self.width, chunk, i
        cdef double* total = self._chunk_slots(g, 0, out)
        cdef const double* slots

        if self.adds_packed:
            if self.has_bundles[g]:  # else `finish` does it
                self._add_packed(
                    g, size * part // (N_PARTS * self.width),
                    size * (part + 1) // (N_PARTS * self.width), total,
                )
            return
        for chunk in range(1, self.n_chunks[g]):
            slots = self._chunk_slots(g, chunk, out)
            for i in range(size * part // N_PARTS, size * (part + 1) // N_PARTS):
                total[i] += slots[i]

    cdef void _add_packed(
        self, Py_ssize_t g, Py_ssize_t first, Py_ssize_t last, double* slots
    ) noexcept nogil:
        """Add up a stretch of the packed slots of a group, and unpack the sums."""
        cdef Py_ssize_t size = self.rows.groups[g].n_slots, chunk, i
        cdef uint64_t* total = &self.packed_scratch[self.packed_start[g]]

        for chunk in range(1, self.n_chunks[g]):
            for i in range(first, last):
                total[i] += total[chunk * size + i]
        self._unpack_slots(total, first, last - first, True, slots)

    cdef void _insert_chunk(
        self,
        Py_ssize_t g,
        Py_ssize_t chunk,
        const uint32_t* rows,
        const float* gradients,
        Py_ssize_t n,
        const uint8_t* is_live,
        double* out,
    ) noexcept nogil:
        """Clear the slots of a chunk of a group and insert its rows."""
        cdef const GroupRows* group = &self.rows.groups[g]
        cdef Py_ssize_t feature, n_chunks = self.n_chunks[g]
        cdef double* slots
        cdef bint any_live = False
        cdef int64_t* inserted = &self.inserted[chunk * self.rows.n_groups + g]

        inserted[0] = 0
        if chunk >= n_chunks:
            return
        slots = self._chunk_slots(g, chunk, out)
        for feature in range(self.n_cells.shape[0]):
            if self.group_of[feature] == g and is_live[feature]:
                any_live = True
                if not self.has_bundles[g] and self.packed == NULL:
                    memset(
                        slots + self.width * self.first_slot[feature], 0,
                        self.n_slots[feature] * self.width * sizeof(double),
                    )
        if not any_live:
            return
        if self.packed != NULL:
            self._insert_packed(
                g, chunk, rows, n * chunk // n_chunks, n * (chunk + 1) // n_chunks,
                is_live, slots,
            )
            return
        if self.has_bundles[g]:
            memset(slots, 0, group.n_slots * self.width * sizeof(double))
        if self.width == 4:
            insert_quads(
                group, rows, gradients, n * chunk // n_chunks,
                n * (chunk + 1) // n_chunks, slots, inserted,
            )
        else:
            insert_pairs(
                group, rows, gradients, n * chunk // n_chunks,
                n * (chunk + 1) // n_chunks, slots, inserted,
            )

    cdef void _insert_packed(
        self,
        Py_ssize_t g,
        Py_ssize_t chunk,
        const uint32_t* rows,
        Py_ssize_t start,
        Py_ssize_t stop,
        const uint8_t* is_live,
        double* slots,
    ) noexcept nogil:
        """Insert packed rows of a group, and unpack their sums into the chunk's slots.

        Slots of features that are not live keep whatever they have.
        """
        cdef const GroupRows* group = &self.rows.groups[g]
        cdef uint64_t* packed = &self.packed_scratch[
            self.packed_start[g] + chunk * group.n_slots
        ]
        cdef Py_ssize_t end, feature
        cdef int64_t inserted = 0
        cdef bint is_first = True

        while start < stop or is_first:
            end = min(start + MAX_PACKED_ROWS, stop)
            memset(packed, 0, group.n_slots * sizeof(uint64_t))
            insert_packed_rows(
                group, rows, self.packed, start, end, packed, &inserted
            )
            if self.adds_packed:
                break  # to be unpacked by `_add_packed`
            if self.has_bundles[g]:
                self._unpack_slots(packed, 0, group.n_slots, is_first, slots)
            else:
                for feature in range(self.n_cells.shape[0]):
                    if self.group_of[feature] == g and is_live[feature]:
                        self._unpack_slots(
                            packed, self.first_slot[feature], self.n_slots[feature],
                            is_first, slots,
                        )
            start, is_first = end, False
        self.inserted[chunk * self.rows.n_groups + g] = inserted

    cdef void _unpack_slots(
        self, const uint64_t* packed, Py_ssize_t first, Py_ssize_t n, bint is_first,
        double* slots
    ) noexcept nogil:
        """Unpack a stretch of the slots of a group."""
        if is_first:
            write_unpacked(
                packed + first, n, self.step_g, self.step_h, slots + 4 * first
            )
        else:
            add_unpacked(
                packed + first, n, self.step_g, self.step_h, slots + 4 * first
            )

    cdef void finish(
        self, Py_ssize_t feature, double n, double sum_g, double sum_h, double* out
    ) noexcept nogil:
        """Sum the cells of a feature from chunks or bundles that are not summed yet;
        fill in the cell that was left out. Once after each insertion.
        """
        cdef Py_ssize_t i, g = self.group_of[feature]
        cdef double* cells = out + self.width * self.first_cell[feature]
        cdef double* frequent

        if self.has_bundles[g]:
            self._sum_cells(feature, cells)
        elif self.adds_packed:
            self._add_packed(
                g, self.first_slot[feature],
                self.first_slot[feature] + self.n_slots[feature],
                self._chunk_slots(g, 0, out),
            )
        if self.is_sparse[feature]:
            frequent = cells + self.width * self.frequent_cell[feature]
            for i in range(self.width):
                frequent[i] = 0.0
            for i in range(self.n_cells[feature]):
                sum_g -= cells[i * self.width]
                n -= cells[i * self.width + 1]
                sum_h -= cells[i * self.width + self.width // 2]
            if n > 0.0:  # else sums that are but rounding errors
                frequent[0] = sum_g
                frequent[1] = n
                if self.width == 4:
                    frequent[2] = sum_h

    cdef void _sum_cells(self, Py_ssize_t feature, double* cells) noexcept nogil:
        """Sum the cells of a feature from the slots of its unit."""
        cdef Py_ssize_t size = self.n_cells[feature] * self.width
        cdef const double* slots = (
            self._chunk_slots(self.group_of[feature], 0, NULL)
            + self.width * self.first_slot[feature]
        )
        cdef const int32_t* cell

        if self.cell_place[feature] < 0:
            memcpy(cells, slots, size * sizeof(double))
            return
        memset(cells, 0, size * sizeof(double))
        cell = &self.bundle_cells[self.cell_place[feature]]
        if self.width == 4:
            sum_quads(slots, cell, self.n_slots[feature], cells)
        else:
            sum_pairs(slots, cell, self.n_slots[feature], cells)

    cdef void subtract(
        self, Py_ssize_t feature, const double* part, double* whole
    ) noexcept nogil:
        """Take one child's cells of a feature from its parent's: the other child's."""
        cdef Py_ssize_t start = self.first_cell[feature] * self.width, i

        for i in range(start, start + self.n_cells[feature] * self.width):
            whole[i] -= part[i]
