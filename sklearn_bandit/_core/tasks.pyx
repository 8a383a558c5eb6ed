"""Python functions in the threads that kernels run in.

Threads of one OpenMP wait for their next loop spinning, so that a loop costs a
microsecond or two to start. Any other thread, of Python or of the OpenMP that
scikit-learn brings, would compete for the processors with threads that do nothing.
"""

from cython.parallel cimport prange
from libc.stdlib cimport free

from .memory cimport allocate, allocate_zeros

cdef enum:
    # Bytes that must be at hand before a thread calls Python. The interpreter takes
    # some hundred for what it notes of a thread, and ends the process without them.
    SPARE_BYTES = 1 << 16


def run_tasks(function, tasks, int n_threads):
    """Call a function that does its work without the GIL, once for each task.

    Parameters
    ----------
    function : callable
        What to call.
    tasks : list
        Its arguments, one a call.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t i, n = len(tasks)
    cdef unsigned char* refused = <unsigned char*> allocate_zeros(n, 1)
    cdef void* spare
    cdef bint all_called = True

    if refused == NULL:
        raise MemoryError
    try:
        for i in prange(
            n, nogil=True, schedule="dynamic", num_threads=max(1, min(n_threads, n))
        ):
            spare = allocate(SPARE_BYTES, 1)
            if spare == NULL:
                refused[i] = 1
            else:
                free(spare)
                with gil:
                    function(tasks[i])
        for i in range(n):
            all_called &= not refused[i]
        if not all_called:
            raise MemoryError
    finally:
        free(refused)
