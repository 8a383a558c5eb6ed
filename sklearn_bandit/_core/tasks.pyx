"""Python functions in the threads that kernels run in.

The threads of OpenMP spin while they wait for the next loop, so that a loop takes a
microsecond or two to start. Any other thread, of Python or of the OpenMP that
scikit-learn brings, would compete for the processors with threads that do nothing.
"""

from cython cimport critical_section
from cython.parallel cimport prange
from libc.stdlib cimport free

from .memory cimport allocate_zeros, can_allocate

cdef enum:
    # Bytes that must be free before a thread calls Python. The interpreter takes
    # some hundred for what it notes of a thread, and ends the process without them.
    SPARE_BYTES = 1 << 16


cdef class Calls:
    """The calls of one function, made by whichever thread comes first."""

    cdef object function
    cdef list tasks
    cdef object error           # what the first call that failed raised, or None

    def __cinit__(self, function, list tasks):
        self.function = function
        self.tasks = tasks
        self.error = None


cdef void _call(void* calls, Py_ssize_t i) noexcept with gil:
    """Make a call, unless one has failed.

    A function of its own: with Python in the loop itself, Cython would have each thread
    note itself before the loop begins, and so before memory is checked.
    """
    cdef Calls own = <Calls> calls
    cdef bint has_failed

    # Without a global lock, threads fail at the same time.
    with critical_section(own):
        has_failed = own.error is not None
    if has_failed:
        return
    try:
        own.function(own.tasks[i])
    except BaseException as error:
        with critical_section(own):
            if own.error is None:
                own.error = error


def run_tasks(function, list tasks, int n_threads):
    """Call a function that does its work without the GIL, once for each task.

    Parameters
    ----------
    function : callable
        What to call.
    tasks : list
        Its arguments, one a call. After a call that raises, no other is made.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t i, n = len(tasks)
    cdef Calls calls = Calls(function, tasks)
    cdef void* shared = <void*> calls
    cdef unsigned char* refused = <unsigned char*> allocate_zeros(n, 1)
    cdef bint all_called = True

    if refused == NULL:
        raise MemoryError
    for i in prange(
        n, nogil=True, schedule="dynamic", num_threads=max(1, min(n_threads, n))
    ):
        if can_allocate(SPARE_BYTES, 1):
            _call(shared, i)
        else:
            refused[i] = 1
    for i in range(n):
        all_called &= not refused[i]
    free(refused)
    if calls.error is not None:
        raise calls.error
    if not all_called:
        raise MemoryError
