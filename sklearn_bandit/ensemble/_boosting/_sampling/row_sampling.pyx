"""Draw rows in rounds, without replacement.

A round has one row out of each of equally long stretches of the data: it is a random
sample, it represents what changes along the data, and it is read in the order of
memory. No row is drawn twice until all were drawn once. What is drawn is a hash of the
seed and the stretch, so that any number of threads draws the same rows.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint32_t, uint64_t

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.random cimport random_below

cdef enum:
    # Stretches of one task.
    TASK_STRETCHES = 1024

cdef struct Rounds:
    Py_ssize_t n_samples
    Py_ssize_t size             # rows of a round, and number of stretches
    Py_ssize_t first            # rounds to draw: first and last + 1
    Py_ssize_t last
    uint64_t seed


def draw_rounds(
    Py_ssize_t n_samples, Py_ssize_t size, uint64_t seed, Py_ssize_t start,
    Py_ssize_t stop, int n_threads,
):
    """Draw rows of the order in which all rows are drawn.

    Parameters
    ----------
    n_samples : int
        Number of rows to draw from.
    size : int
        Rows of a round; the last one has fewer if they are no divisor.
    seed : int
        What the order depends on.
    start, stop : int
        Places in the order, between rounds.
    n_threads : int
        Threads to use.

    Returns
    -------
    ndarray of uint32 of shape (stop - start,)
        The rows, ascending in each round.
    """
    cdef Py_ssize_t n_tasks = (size + TASK_STRETCHES - 1) // TASK_STRETCHES, task
    cdef uint32_t[::1] rows = np.empty(stop - start, dtype=np.uint32)
    cdef Rounds rounds
    n_threads = min(n_threads, n_tasks)
    # A stretch of each thread, to be shuffled.
    cdef uint32_t[:, ::1] room = np.empty(
        (n_threads, n_samples // size + 1), dtype=np.uint32
    )

    if start % size or (stop % size and stop != n_samples):
        raise ValueError("Only whole rounds are drawn.")
    rounds.n_samples, rounds.size, rounds.seed = n_samples, size, seed
    rounds.first, rounds.last = start // size, (stop + size - 1) // size
    for task in prange(
        n_tasks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        _draw_task(
            &rounds, task * TASK_STRETCHES, min((task + 1) * TASK_STRETCHES, size),
            &room[thread_num(), 0], rows,
        )
    return np.asarray(rows)


cdef void _draw_task(
    const Rounds* rounds, Py_ssize_t first, Py_ssize_t last, uint32_t* order,
    uint32_t[::1] rows
) noexcept nogil:
    """Shuffle some stretches, as far as they are wanted."""
    cdef Py_ssize_t n_samples = rounds.n_samples, size = rounds.size
    cdef Py_ssize_t n_full = n_samples // size      # rounds that all stretches are in
    cdef Py_ssize_t stretch, start, n, i, j, place
    cdef uint32_t row
    cdef uint64_t state

    for stretch in range(first, last):
        start = stretch * n_samples // size
        n = (stretch + 1) * n_samples // size - start
        for i in range(n):
            order[i] = <uint32_t> (start + i)
        state = rounds.seed ^ (<uint64_t> stretch * <uint64_t> 0xD1342543DE82EF95)
        for i in range(min(n, rounds.last)):
            j = i + random_below(&state, <uint32_t> (n - i))
            row = order[j]
            order[j] = order[i]
            if i >= rounds.first:
                # The last round has the longer stretches only.
                place = stretch if i < n_full else start - stretch * n_full
                rows[(i - rounds.first) * size + place] = row
