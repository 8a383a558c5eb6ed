"""Edges between sorted values, so that about equally many are in each bin."""

from libc.math cimport INFINITY, nextafterf

from sklearn_bandit._core.matrix cimport FEATURE_THRESHOLD
from sklearn_bandit._core.radix_sort cimport from_key, sort_keys, to_key


cdef Py_ssize_t sort_values(
    float* values, Py_ssize_t n, uint32_t* keys, uint32_t* spare
) noexcept nogil:
    """Sort values in place, NaN left out; return how many are left."""
    cdef Py_ssize_t i, n_kept = 0

    for i in range(n):
        if values[i] == values[i]:
            to_key(values[i], &keys[n_kept])
            n_kept += 1
    keys = sort_keys(keys, spare, n_kept, 0)
    for i in range(n_kept):
        from_key(keys[i], &values[i])
    return n_kept


cdef Py_ssize_t count_runs(
    float* values, Py_ssize_t n, uint32_t* counts
) noexcept nogil:
    """Leave the distinct ones of sorted values, with their counts; return how many."""
    cdef Py_ssize_t i, n_distinct = 0

    for i in range(n):
        if i > 0 and values[i] == values[n_distinct - 1]:
            counts[n_distinct - 1] += 1
        else:
            values[n_distinct] = values[i]
            counts[n_distinct] = 1
            n_distinct += 1
    return n_distinct


cdef bint hardly_vary(const float* values, Py_ssize_t n) noexcept nogil:
    """Whether several sorted values are so close to each other that they are one."""
    cdef Py_ssize_t i

    for i in range(1, n):
        if values[i] > values[i - 1] + FEATURE_THRESHOLD:
            return False
    return n > 1


cdef inline float midpoint(float low, float high) noexcept nogil:
    """An edge with low <= edge < high: the last number not above their middle."""
    cdef double exact = <double>low / 2.0 + <double>high / 2.0
    cdef float middle = <float>exact

    if middle > exact:
        middle = nextafterf(middle, -INFINITY)
    return middle if low <= middle < high else low


cdef Py_ssize_t cut(
    const float* values, const uint32_t* counts, Py_ssize_t n, Py_ssize_t max_bins,
    float* edges,
) noexcept nogil:
    """Cut distinct values into bins of about equal counts; return how many edges."""
    cdef Py_ssize_t i, n_edges = 0, bins_left = max_bins
    cdef double n_left = 0.0, in_bin = 0.0

    for i in range(n):
        n_left += counts[i]
    for i in range(n - 1):
        in_bin += counts[i]
        # Close the bin where its count is nearest to what is left for each bin, and
        # after every value once there are bins enough for all values to come.
        if bins_left > 1 and (
            n - 1 - i < bins_left
            or (in_bin + 0.5 * counts[i + 1]) * bins_left >= n_left
        ):
            edges[n_edges] = midpoint(values[i], values[i + 1])
            n_edges += 1
            n_left -= in_bin
            bins_left -= 1
            in_bin = 0.0
    return n_edges
