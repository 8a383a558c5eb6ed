"""Memory that BLAS takes for itself, looked at before it is called in several threads.

OpenBLAS has a buffer for each thread that multiplies at the same time, made when it is
first needed and kept. Where there is no room for one it ends the process (0.3.18) or
tries again for ever (0.3.29).
"""

from sklearn_bandit._core.memory cimport can_allocate

cdef enum:
    # The largest of the sizes that OpenBLAS is built with on 64 bits, and a page.
    BUFFER_BYTES = (128 << 20) + 4096


cdef inline int check_buffers(int n_threads) except -1:
    """Raise a MemoryError if there might not be a buffer for every thread.

    It takes two microseconds, next to nothing of a loop of products. The buffers may be
    there already, which BLAS does not tell: an error may come early.
    """
    if not can_allocate(n_threads, BUFFER_BYTES):
        raise MemoryError("There is too little memory for the buffers of BLAS.")
    return 0
