"""Times of short calls."""

import time


def alternate(calls, n_rounds):
    """Time calls by turns, after one turn that does not count.

    Parameters
    ----------
    calls : dict of str to callable
        What to time, by name.
    n_rounds : int
        Number of turns.

    Returns
    -------
    dict of str to list of float
        Seconds of every turn.
    """
    seconds = {name: [] for name in calls}
    for i_round in range(n_rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if i_round:
                seconds[name].append(time.perf_counter() - start)
    return seconds
