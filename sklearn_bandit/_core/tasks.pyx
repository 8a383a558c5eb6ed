"""Python functions in the threads that kernels run in.

Threads of one OpenMP wait for their next loop spinning, so that a loop costs a
microsecond or two to start. Any other thread, of Python or of the OpenMP that
scikit-learn brings, would compete for the processors with threads that do nothing.
"""

from cython.parallel cimport prange


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

    for i in prange(
        n, nogil=True, schedule="dynamic", num_threads=max(1, min(n_threads, n))
    ):
        with gil:
            function(tasks[i])
