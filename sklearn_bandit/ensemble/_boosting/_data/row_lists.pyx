"""Write the rows of a matrix of bins as lists, group by group.

A list has the slot of each unit of the group: 16 bits. Where every unit is a feature of
its own, it has the feature's cell, of 8 bits: half of the memory to read, and the slot
is one addition away. A list of a sparse group has the slots that are not the frequent
ones, as many as these are.

The matrix is column-major. It is read in blocks of rows that stay in the cache while
the lists of the block are written.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit._core.simd cimport prefetch

from .._common cimport LISTS_AHEAD

cdef enum:
    # Rows of a task that writes lists.
    WRITTEN_ROWS = 512
    # Rows of a task that takes lists from others.
    TAKEN_ROWS = 4096
    # Bytes that are copied at once.
    PIECE = 16

ctypedef fused entry_t:
    uint8_t
    uint16_t


cdef class RowLists:
    """The rows of a matrix of bins, group by group.

    Parameters
    ----------
    layout : Layout
        Groups and slots.
    columns : ndarray of uint8 of shape (n_features, n_samples) or None
        The matrix; None for no rows yet, see `take`.
    n_threads : int
        Threads to use.
    """

    def __cinit__(self, layout, const uint8_t[:, :] columns, int n_threads):
        self.n_samples = 0 if columns is None else columns.shape[1]
        self.n_groups = len(layout.groups)
        self.groups = <GroupRows*> allocate_zeros(self.n_groups, sizeof(GroupRows))
        if self.groups == NULL:
            raise MemoryError()
        self.arrays = [None] * self.n_groups
        self.first_slots = [None] * self.n_groups
        self.layout = layout
        self.n_threads = n_threads
        if columns is None:
            return
        for g, group in enumerate(self.layout.groups):
            if group.is_sparse:
                self._write_sparse_group(g, group, columns)
            elif group.has_bundles:
                self._write_slots(g, group, columns)
            else:
                self._write_cells(g, group, columns)

    def __dealloc__(self):
        free(self.groups)

    def take(self, RowLists other, const uint32_t[::1] rows):
        """Become the lists of some rows of others, one after the other.

        A tree on a sample reads its rows many times: what lies close together is read
        in half the time. The memory of what was taken before is used again.

        Parameters
        ----------
        other : RowLists
            The lists, of the same layout.
        rows : ndarray of uint32 of shape (n_rows,)
            The rows.
        """
        cdef Py_ssize_t g

        self.n_samples = rows.shape[0]
        for g in range(self.n_groups):
            self.first_slots[g] = other.first_slots[g]
            self.groups[g] = other.groups[g]
            if other.groups[g].starts == NULL:
                self._take_dense(g, &other.groups[g], rows)
            else:
                self._take_sparse(g, &other.groups[g], rows)

    def _room(self, Py_ssize_t g, Py_ssize_t which, Py_ssize_t n, dtype):
        """Room for n numbers, with some to spare for the next rows."""
        if self.arrays[g] is None:
            self.arrays[g] = [np.empty(0, dtype), np.empty(0, np.int64)]
        if len(self.arrays[g][which]) < n:
            self.arrays[g][which] = None  # not twice at a time
            self.arrays[g][which] = np.empty(n + n // 8, dtype=dtype)
        return self.arrays[g][which]

    cdef int _take_dense(
        self, Py_ssize_t g, const GroupRows* other, const uint32_t[::1] rows
    ) except -1:
        cdef Py_ssize_t n = rows.shape[0], task
        cdef Py_ssize_t n_tasks = (n + TAKEN_ROWS - 1) // TAKEN_ROWS
        cdef int n_threads = max(1, min(self.n_threads, n_tasks))
        cdef bint has_cells = other.cells != NULL
        cdef Py_ssize_t size = other.width * (1 if has_cells else sizeof(uint16_t))
        cdef const uint8_t* lists = (
            other.cells if has_cells else <const uint8_t*> other.slots
        )
        cdef uint8_t[::1] taken = self._room(
            g, 0, max(n * other.width, 1), np.uint8 if has_cells else np.uint16
        ).view(np.uint8)

        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _take_lists(
                lists, size, rows, task * TAKEN_ROWS,
                min((task + 1) * TAKEN_ROWS, n), &taken[0],
            )
        if has_cells:
            self.groups[g].cells = &taken[0]
        else:
            self.groups[g].slots = <const uint16_t*> &taken[0]
        return 0

    cdef int _take_sparse(
        self, Py_ssize_t g, const GroupRows* other, const uint32_t[::1] rows
    ) except -1:
        cdef Py_ssize_t n = rows.shape[0], i, task
        cdef Py_ssize_t n_tasks = (n + TAKEN_ROWS - 1) // TAKEN_ROWS
        cdef int n_threads = max(1, min(self.n_threads, n_tasks))
        cdef int64_t[::1] starts = self._room(g, 1, n + 1, np.int64)
        cdef uint16_t[::1] slots

        starts[0] = 0
        for i in range(n):
            starts[i + 1] = (
                starts[i] + other.starts[rows[i] + 1] - other.starts[rows[i]]
            )
        slots = self._room(g, 0, max(starts[n], 1), np.uint16)
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _take_sparse_lists(
                other, rows, task * TAKEN_ROWS, min((task + 1) * TAKEN_ROWS, n),
                &starts[0], &slots[0],
            )
        self.groups[g].slots = &slots[0]
        self.groups[g].starts = &starts[0]
        return 0

    def _slot_of(self, group):
        """First slot of each unit and, if it is a single feature, slot of each bin."""
        n_slots = [unit.n_slots for unit in group.units]
        first = (np.cumsum(n_slots) - n_slots).astype(np.uint16)
        features = np.array([unit.features[0] for unit in group.units], dtype=np.intp)
        return first, features, first[:, None] + self.layout.cell_of[features]

    def _write_cells(self, Py_ssize_t g, group, const uint8_t[:, :] columns):
        cdef Py_ssize_t n = self.n_samples, width = len(group.units), task
        cdef Py_ssize_t n_tasks = (n + WRITTEN_ROWS - 1) // WRITTEN_ROWS
        cdef int n_threads = max(1, min(self.n_threads, n_tasks))
        cdef const uint16_t[::1] first
        cdef const Py_ssize_t[::1] features
        cdef const uint8_t[:, ::1] cell_of
        cdef uint8_t[::1] cells = np.empty(max(n * width, 1), dtype=np.uint8)

        first, features, _ = self._slot_of(group)
        cell_of = self.layout.cell_of[np.asarray(features)].astype(np.uint8)
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _write_dense(
                columns, features, cell_of, task * WRITTEN_ROWS,
                min((task + 1) * WRITTEN_ROWS, n), cells,
            )
        self.groups[g].cells = &cells[0]
        self.groups[g].first_slot = &first[0]
        self.groups[g].width = width
        self.groups[g].n_slots = group.n_slots
        self.arrays[g] = cells.base
        self.first_slots[g] = first

    def _write_slots(self, Py_ssize_t g, group, const uint8_t[:, :] columns):
        cdef Py_ssize_t n = self.n_samples, width = len(group.units), task, j
        cdef Py_ssize_t n_tasks = (n + WRITTEN_ROWS - 1) // WRITTEN_ROWS
        cdef int n_threads = max(1, min(self.n_threads, n_tasks))
        cdef const uint16_t[::1] first, which
        cdef const Py_ssize_t[::1] features
        cdef const uint16_t[:, ::1] slot_of
        cdef uint16_t[::1] slots

        slots = np.empty(max(n * width, 1), dtype=np.uint16)
        first, features, slot_of = self._slot_of(group)
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _write_dense(
                columns, features, slot_of, task * WRITTEN_ROWS,
                min((task + 1) * WRITTEN_ROWS, n), slots,
            )
        for j in range(width):
            if group.units[j].bundle is not None:
                which = group.units[j].bundle.which
                for task in prange(n_tasks, nogil=True, num_threads=n_threads):
                    _write_bundle(
                        which, first[j], task * WRITTEN_ROWS,
                        min((task + 1) * WRITTEN_ROWS, n), slots, j, width,
                    )
        self.groups[g].slots = &slots[0]
        self.groups[g].width = width
        self.groups[g].n_slots = group.n_slots
        self.arrays[g] = slots.base

    def _write_sparse_group(self, Py_ssize_t g, group, const uint8_t[:, :] columns):
        cdef Py_ssize_t n = self.n_samples, task
        cdef Py_ssize_t n_tasks = (n + WRITTEN_ROWS - 1) // WRITTEN_ROWS
        cdef int n_threads = max(1, min(self.n_threads, n_tasks))
        cdef const uint16_t[::1] frequent
        cdef const Py_ssize_t[::1] features
        cdef const uint16_t[:, ::1] slot_of
        cdef uint16_t[::1] slots
        cdef int64_t[::1] starts = np.zeros(n + 1, dtype=np.int64)

        first, features, slot_of = self._slot_of(group)
        frequent = (
            first + self.layout.frequent_cell[np.asarray(features)]
        ).astype(np.uint16)
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _count_sparse(
                columns, features, slot_of, frequent, task * WRITTEN_ROWS,
                min((task + 1) * WRITTEN_ROWS, n), starts,
            )
        np.cumsum(starts, out=starts.base)
        slots = np.empty(max(starts[n], 1), dtype=np.uint16)
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _write_sparse(
                columns, features, slot_of, frequent, task * WRITTEN_ROWS,
                min((task + 1) * WRITTEN_ROWS, n), starts, slots,
            )
        self.groups[g].slots = &slots[0]
        self.groups[g].starts = &starts[0]
        self.groups[g].width = starts[n] // max(n, 1) + 1
        self.groups[g].n_slots = group.n_slots
        self.arrays[g] = (slots.base, starts.base)


cdef void _take_lists(
    const uint8_t* lists, Py_ssize_t size, const uint32_t[::1] rows, Py_ssize_t start,
    Py_ssize_t end, uint8_t* out
) noexcept nogil:
    """Copy lists of some bytes each."""
    cdef Py_ssize_t i, j
    cdef const uint8_t* taken
    cdef const uint8_t* ahead

    for i in range(start, end):
        taken = lists + rows[i] * size
        ahead = lists + rows[min(i + LISTS_AHEAD, end - 1)] * size
        prefetch(ahead)
        prefetch(ahead + size - 1)
        if size < PIECE:
            for j in range(size):
                out[i * size + j] = taken[j]
            continue
        # In pieces of a known length, which are no calls; the last two may overlap.
        j = 0
        while j + PIECE < size:
            memcpy(out + i * size + j, taken + j, PIECE)
            j += PIECE
        j = size - PIECE
        memcpy(out + i * size + j, taken + j, PIECE)


cdef void _take_sparse_lists(
    const GroupRows* other, const uint32_t[::1] rows, Py_ssize_t start, Py_ssize_t end,
    const int64_t* starts, uint16_t* slots
) noexcept nogil:
    """Copy lists of any length."""
    cdef Py_ssize_t i

    for i in range(start, end):
        prefetch(other.slots + other.starts[rows[min(i + LISTS_AHEAD, end - 1)]])
        memcpy(
            slots + starts[i], other.slots + other.starts[rows[i]],
            (starts[i + 1] - starts[i]) * sizeof(uint16_t),
        )


cdef void _write_dense(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const entry_t[:, ::1] entry_of,
    Py_ssize_t start,
    Py_ssize_t end,
    entry_t[::1] lists,
) noexcept nogil:
    """Write the entry of each feature's bin."""
    cdef Py_ssize_t width = features.shape[0], n = end - start, j, i
    cdef const uint8_t* column
    cdef const entry_t* entry
    cdef entry_t* out

    for j in range(width):
        column, entry = &bins[features[j], start], &entry_of[j, 0]
        out = &lists[start * width + j]
        for i in range(n):
            out[i * width] = entry[column[i]]


cdef void _write_bundle(
    const uint16_t[::1] which, uint16_t first, Py_ssize_t start, Py_ssize_t end,
    uint16_t[::1] slots, Py_ssize_t j, Py_ssize_t width
) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(start, end):
        slots[i * width + j] = first + which[i]


cdef void _count_sparse(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const uint16_t[:, ::1] slot_of,
    const uint16_t[::1] frequent,
    Py_ssize_t start,
    Py_ssize_t end,
    int64_t[::1] starts,
) noexcept nogil:
    """Length of the list of row i, as starts[i + 1]."""
    cdef Py_ssize_t j, i

    for j in range(features.shape[0]):
        for i in range(start, end):
            starts[i + 1] += slot_of[j, bins[features[j], i]] != frequent[j]


cdef void _write_sparse(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const uint16_t[:, ::1] slot_of,
    const uint16_t[::1] frequent,
    Py_ssize_t start,
    Py_ssize_t end,
    const int64_t[::1] starts,
    uint16_t[::1] slots,
) noexcept nogil:
    cdef int64_t[WRITTEN_ROWS] place
    cdef Py_ssize_t j, i
    cdef uint16_t slot

    for i in range(start, end):
        place[i - start] = starts[i]
    for j in range(features.shape[0]):
        for i in range(start, end):
            slot = slot_of[j, bins[features[j], i]]
            if slot != frequent[j]:
                slots[place[i - start]] = slot
                place[i - start] += 1


def join(
    const uint16_t[::1] which, Py_ssize_t n_which, const uint8_t[::1] bins,
    const uint16_t[::1] cell_of, Py_ssize_t n_cells, int n_threads
):
    """Number the combinations of a bundle and one more feature.

    Parameters
    ----------
    which : ndarray of uint16 of shape (n_samples,)
        Combination of the bundle, below `n_which`, of each row.
    n_which : int
        Number of combinations.
    bins : ndarray of uint8 of shape (n_samples,)
        Bin of the feature of each row.
    cell_of : ndarray of uint16 of shape (256,)
        Cell of each bin.
    n_cells : int
        Number of cells.
    n_threads : int
        Threads to use.

    Returns
    -------
    joined : ndarray of uint16 of shape (n_samples,)
        Combination of each row; without meaning if there are more than 65,536.
    before, cell : ndarray of int32 of shape (n_joined,)
        Combination of the bundle and cell of the feature, for each new combination.
    """
    cdef Py_ssize_t n = which.shape[0], i
    cdef uint8_t[::1] occurs = np.zeros(n_which * n_cells, dtype=np.uint8)
    cdef uint16_t[::1] number
    cdef uint16_t[::1] joined = np.empty(n, dtype=np.uint16)

    for i in prange(n, nogil=True, num_threads=n_threads):
        # Whichever thread comes first writes the same.
        occurs[which[i] * n_cells + cell_of[bins[i]]] = 1
    codes = np.flatnonzero(occurs)
    number = (np.cumsum(occurs) - 1).astype(np.uint16)
    for i in prange(n, nogil=True, num_threads=n_threads):
        joined[i] = number[which[i] * n_cells + cell_of[bins[i]]]
    before, cell = np.divmod(codes, n_cells)
    return joined.base, before.astype(np.int32), cell.astype(np.int32)
