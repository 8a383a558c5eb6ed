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


def draw_share(
    Py_ssize_t n_samples, Py_ssize_t size, uint64_t seed, Py_ssize_t stop,
    Py_ssize_t first_row, Py_ssize_t last_row,
):
    """Draw the rows of an order that are between two rows of the data.

    Parameters
    ----------
    n_samples, size, seed : int
        As for `draw_rounds`.
    stop : int
        How many places of the order count, between rounds.
    first_row, last_row : int
        Where the rows begin, and end.

    Returns
    -------
    rows : ndarray of uint32 of shape (n_rows,)
        The rows, less `first_row`, in the order in which they are drawn.
    places : ndarray of uint32 of shape (n_rows,)
        Their places in the order of all rows, ascending.
    """
    cdef Py_ssize_t first = 0, last = 0, n_rounds, n_rows, i
    cdef uint32_t[::1] order, rows, places
    cdef Rounds rounds

    if not 0 <= first_row <= last_row <= n_samples or not 0 < size <= n_samples:
        raise ValueError("There are no such rows.")
    # Stretches that have some of the rows: from that of the first to that of the last.
    if first_row < last_row:
        first = ((first_row + 1) * size - 1) // n_samples
        last = (last_row * size - 1) // n_samples + 1
    n_rounds = min((stop + size - 1) // size, n_samples // size + 1)
    n_rows = n_rounds * (last - first)
    order = np.empty(n_samples // size + 1, dtype=np.uint32)
    rows = np.empty(n_rows + 1, dtype=np.uint32)
    places = np.empty(n_rows + 1, dtype=np.uint32)
    rounds.n_samples, rounds.size, rounds.seed = n_samples, size, seed
    rounds.first, rounds.last = 0, n_rounds
    with nogil:
        i = _draw_stretches(&rounds, first, last, &order[0], &rows[0], &places[0])
    found, at = np.asarray(rows)[:i], np.asarray(places)[:i]
    inside = (found >= first_row) & (found < last_row) & (at < stop)
    found, at = found[inside], at[inside]
    by_place = np.argsort(at)
    return found[by_place] - np.uint32(first_row), at[by_place]


cdef Py_ssize_t _draw_stretches(
    const Rounds* rounds, Py_ssize_t first, Py_ssize_t last, uint32_t* order,
    uint32_t* rows, uint32_t* places
) noexcept nogil:
    """Shuffle some stretches; return how many rows were drawn."""
    cdef Py_ssize_t n_found = 0, stretch, i, n

    for stretch in range(first, last):
        n = _shuffle(rounds, stretch, order)
        for i in range(min(n, rounds.last)):
            rows[n_found] = order[i]
            places[n_found] = <uint32_t> (i * rounds.size + _place(rounds, stretch, i))
            n_found += 1
    return n_found


cdef Py_ssize_t _shuffle(
    const Rounds* rounds, Py_ssize_t stretch, uint32_t* order
) noexcept nogil:
    """Write the rows of a stretch in the order of rounds; return how many there are."""
    cdef Py_ssize_t start = stretch * rounds.n_samples // rounds.size
    cdef Py_ssize_t n = (stretch + 1) * rounds.n_samples // rounds.size - start, i, j
    cdef uint64_t state
    cdef uint32_t row

    for i in range(n):
        order[i] = <uint32_t> (start + i)
    state = rounds.seed ^ (<uint64_t> stretch * <uint64_t> 0xD1342543DE82EF95)
    for i in range(min(n, rounds.last)):
        j = i + random_below(&state, <uint32_t> (n - i))
        row = order[j]
        order[j] = order[i]
        order[i] = row
    return n


cdef inline Py_ssize_t _place(
    const Rounds* rounds, Py_ssize_t stretch, Py_ssize_t i
) noexcept nogil:
    """Place of a stretch in its i-th round; the last has the longer stretches only."""
    cdef Py_ssize_t n_full = rounds.n_samples // rounds.size
    if i < n_full:
        return stretch
    return stretch * rounds.n_samples // rounds.size - stretch * n_full


cdef void _draw_task(
    const Rounds* rounds, Py_ssize_t first, Py_ssize_t last, uint32_t* order,
    uint32_t[::1] rows
) noexcept nogil:
    """Shuffle some stretches, as far as they are wanted."""
    cdef Py_ssize_t stretch, i, n

    for stretch in range(first, last):
        n = _shuffle(rounds, stretch, order)
        for i in range(rounds.first, min(n, rounds.last)):
            rows[(i - rounds.first) * rounds.size + _place(rounds, stretch, i)] = (
                order[i]
            )
