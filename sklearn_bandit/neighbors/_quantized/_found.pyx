"""What a query has found: the k best, or all within a radius.

Rows are ordered by key, equal keys by position: what is found does not depend on the
order in which rows are computed.
"""

from libc.stdlib cimport qsort

from ..._core.memory cimport reallocate


cdef inline bint _is_worse(const Neighbour* a, const Neighbour* b) noexcept nogil:
    return a.key > b.key or (a.key == b.key and a.position > b.position)


cdef double worst_key(const Found* found) noexcept nogil:
    """Return the largest key that may still be among the answers."""
    if found.k == 0 or found.n < found.k:
        return found.limit
    return min(found.rows[0].key, found.limit)


cdef void push(Found* found, double key, int64_t position) noexcept nogil:
    """Add a row if it may be an answer."""
    cdef Py_ssize_t place, child
    cdef Neighbour new
    cdef Neighbour* larger

    new.key = key
    new.position = position
    if not key <= found.limit:
        return
    if found.k == 0:
        if found.n == found.capacity:
            larger = <Neighbour*> reallocate(
                found.rows, 2 * found.capacity + 16, sizeof(Neighbour)
            )
            if larger == NULL:
                found.has_failed = True
                return
            found.rows = larger
            found.capacity = 2 * found.capacity + 16
        found.rows[found.n] = new
        found.n += 1
        return
    if found.n < found.k:
        place = found.n
        found.n += 1
        while place > 0 and _is_worse(&new, &found.rows[(place - 1) // 2]):
            found.rows[place] = found.rows[(place - 1) // 2]
            place = (place - 1) // 2
        found.rows[place] = new
        return
    if not _is_worse(&found.rows[0], &new):
        return
    place = 0
    while True:
        child = 2 * place + 1
        if child >= found.k:
            break
        if child + 1 < found.k and _is_worse(
            &found.rows[child + 1], &found.rows[child]
        ):
            child += 1
        if not _is_worse(&found.rows[child], &new):
            break
        found.rows[place] = found.rows[child]
        place = child
    found.rows[place] = new


cdef int _by_key(const void* a, const void* b) noexcept nogil:
    if _is_worse(<const Neighbour*> a, <const Neighbour*> b):
        return 1
    return -1


cdef int _by_position(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const Neighbour*> a).position
    cdef int64_t y = (<const Neighbour*> b).position

    return 1 if x > y else -1


cdef void sort_found(Found* found, bint by_key) noexcept nogil:
    """Order by key, or by position."""
    if found.n < 2:  # and perhaps no memory, which `qsort` must have
        return
    qsort(
        found.rows, found.n, sizeof(Neighbour), &_by_key if by_key else &_by_position
    )
