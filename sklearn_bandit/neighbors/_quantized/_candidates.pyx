"""Rows that may be answers, by their bounds."""

from libc.float cimport FLT_MAX

from ._exact cimport KERNELS

cdef enum:
    # Bounds among which the largest are looked for at a time.
    CHUNK = 4096


cdef Py_ssize_t largest(
    float* bounds, Py_ssize_t n, Py_ssize_t k, int32_t* places, Candidate* best
) noexcept nogil:
    """Put the k largest bounds into a heap; return how many there are."""
    cdef Py_ssize_t chunk, start, i, n_best = 0, n_places, place, child
    cdef float least = -FLT_MAX
    cdef Candidate new

    for chunk in range((n + CHUNK - 1) // CHUNK):
        start = chunk * CHUNK
        n_places = KERNELS.select(
            bounds + start, NULL, min(n - start, CHUNK), 0.0, least, places
        )
        for i in range(n_places):
            new.place = <int32_t> start + places[i]
            new.bound = bounds[new.place]
            if n_best < k:
                place = n_best
                n_best += 1
                while place > 0 and best[(place - 1) // 2].bound > new.bound:
                    best[place] = best[(place - 1) // 2]
                    place = (place - 1) // 2
                best[place] = new
            elif new.bound > best[0].bound:
                place = 0
                while True:
                    child = 2 * place + 1
                    if child >= k:
                        break
                    if child + 1 < k and best[child + 1].bound < best[child].bound:
                        child += 1
                    if best[child].bound >= new.bound:
                        break
                    best[place] = best[child]
                    place = child
                best[place] = new
        if n_best == k:
            least = best[0].bound
    return n_best
