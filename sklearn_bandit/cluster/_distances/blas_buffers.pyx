"""Memory that BLAS takes for itself, looked at before it is called in several threads.

OpenBLAS has a buffer for each thread that multiplies at the same time, made when it is
first needed and kept. Where there is no room for one it ends the process (0.3.18) or
tries again without end (0.3.29).

BLAS does not tell how many buffers there are. They are counted: there are as many as
products have run at the same time. All loops of the process share the count,
which begins anew in a fork.
"""

import os

from sklearn_bandit._core.memory cimport can_allocate

cdef extern from "blas_buffers.h":
    long fetch_add "skb_fetch_add"(long* number, long change) noexcept nogil
    void raise_to "skb_raise"(long* number, long value) noexcept nogil

cdef enum:
    # The largest of the sizes that OpenBLAS is built with on 64 bits, and a page.
    BUFFER_BYTES = (128 << 20) + 4096

cdef long n_reserved = 0        # threads of all loops that run now
cdef long n_running = 0         # products that run now
cdef long n_made = 0            # buffers that there are at least


cdef int reserve_buffers(int n_threads) except -1:
    """Raise a MemoryError if there might not be a buffer for every thread of a loop."""
    cdef long n_missing = fetch_add(&n_reserved, n_threads) + n_threads

    n_missing -= fetch_add(&n_made, 0)
    if n_missing > 0 and not can_allocate(n_missing, BUFFER_BYTES):
        release_buffers(n_threads)
        raise MemoryError("There is too little memory for the buffers of BLAS.")
    return 0


cdef void release_buffers(int n_threads) noexcept:
    """Say that a loop has ended."""
    fetch_add(&n_reserved, -n_threads)


cdef long begin_product() noexcept nogil:
    """Count a product; return how many run now."""
    return fetch_add(&n_running, 1) + 1


cdef void end_product(long n_begun) noexcept nogil:
    """Count the buffers of the products that ran when this one began and when it ended.

    A product that has just begun may have no buffer yet; nearly always it has one
    before another ends.
    """
    cdef long n_ending = fetch_add(&n_running, -1)

    raise_to(&n_made, min(n_begun, n_ending))


def n_buffers():
    """Return how many buffers there are at least."""
    return n_made


def _after_fork():
    global n_reserved, n_running, n_made
    n_reserved = n_running = n_made = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
