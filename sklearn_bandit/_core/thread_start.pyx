"""Threads that are there before memory is taken.

OpenMP makes its threads when the first loop asks for them, and ends the process when
the system refuses one: for lack of address space for its stack, or because a container
may have no more. Here threads are tried first, and only as many as could be started
are asked for.
"""

from cython.parallel cimport parallel
from libc.stdlib cimport free

from .memory cimport allocate
from .openmp cimport thread_num
from .threads import effective_n_threads

cdef extern from "thread_start.h":
    ctypedef struct pthread_t:
        pass
    int skb_try_threads(int n, pthread_t* threads) noexcept nogil
    int most_started "skb_most_started"
    void note_started "skb_note_started"(int n) noexcept nogil

cdef enum:
    # Bytes that must be left for what OpenMP and Python note of their threads: for all,
    # and for each.
    SPARE_BYTES = 1 << 20
    SPARE_BYTES_EACH = 1 << 16


def start_threads(n_jobs, most=None):
    """Start the threads of the loops to come, or as many as the system allows.

    They stay until a loop in several threads wants fewer. So it is called before a fit
    takes its memory, and before a loop whose number of threads differs from the last.

    Parameters
    ----------
    n_jobs : int or None
        As for `effective_n_threads`; this thread is one of them.
    most : int, optional
        How many of them there is work for.

    Returns
    -------
    int
        How many there are, at least 1.
    """
    cdef int n_threads = _wanted(n_jobs, most), n_started = 1
    cdef void* spare
    cdef pthread_t* threads
    cdef unsigned char* marks

    if n_threads <= 1:
        return 1
    with nogil:
        spare = allocate(SPARE_BYTES + n_threads * <size_t> SPARE_BYTES_EACH, 1)
        threads = <pthread_t*> allocate(n_threads, sizeof(pthread_t))
        marks = <unsigned char*> allocate(n_threads, 1)
        if spare != NULL and threads != NULL and marks != NULL:
            n_started += skb_try_threads(n_threads - 1, threads)
        free(spare)
        free(threads)
        if n_started > 1:
            with parallel(num_threads=n_started):
                # Something to do: a loop without would be left out.
                marks[thread_num()] = 1
        free(marks)
    note_started(n_started)
    return n_started


def keep_threads(n_jobs, most=None):
    """Start the threads of the loops to come, unless as many have been started before.

    For calls of a millisecond, in which starting them anew would show. Threads stay
    for the next call, unless a loop in several threads wants fewer.

    Parameters
    ----------
    n_jobs, most
        As for `start_threads`.

    Returns
    -------
    int
        How many there are, at least 1.
    """
    cdef int n_threads = _wanted(n_jobs, most)

    return n_threads if n_threads <= most_started else start_threads(n_threads)


def _wanted(n_jobs, most):
    """Return how many threads there should be."""
    n_threads = effective_n_threads(n_jobs)
    return n_threads if most is None else min(n_threads, most)
