"""Contenders that ask a search: one query at a time, all at once, or lazily built."""

import numpy as np


def one_by_one(query, queries):
    """Return a contender that asks one query at a time."""
    return lambda seed: np.vstack(
        [query(queries[i : i + 1]) for i in range(len(queries))]
    )


def at_once(query, queries):
    """Return a contender that asks all queries in one call."""
    return lambda seed: query(queries)


def lazily(make, ask, queries):
    """Return a contender whose index is built in its first run, off the clock.

    Parameters
    ----------
    make : callable
        Builds the index and returns the function that answers queries.
    ask : callable
        `one_by_one` or `at_once`.
    queries : ndarray of shape (n_queries, n_features)
        The queries.

    Returns
    -------
    callable
        The contender.
    """
    runs = []

    def run(seed):
        if not runs:
            runs.append(ask(make(), queries))
        return runs[0](seed)

    return run
