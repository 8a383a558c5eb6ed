"""The largest of all scores, where all of them are computed."""

import numpy as np

# Scores that are held at a time: 128 MB in double precision.
MAX_SCORES = 1 << 24


def query_parts(n_queries, n_scores):
    """Yield slices of queries whose scores may be held together.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_scores : int
        Number of scores of a query.

    Yields
    ------
    slice
        Queries that follow each other.
    """
    n_together = max(MAX_SCORES // n_scores, 1)
    for first in range(0, n_queries, n_together):
        yield slice(first, min(first + n_together, n_queries))


def largest_scores(score, queries, n_scores, k):
    """Compute all scores and return the largest.

    Parameters
    ----------
    score : callable
        ``score(queries)`` returns an array of shape (n_queries, n_scores).
    queries : {ndarray, sparse matrix} of shape (n_queries, n_features)
        The queries, at least one.
    n_scores : int
        Number of scores of a query.
    k : int
        How many of these to return.

    Returns
    -------
    scores : ndarray of shape (n_queries, k)
        The largest, in descending order.
    places : ndarray of intp of shape (n_queries, k)
        Where they are among the scores of a query.
    """
    found = []
    for part in query_parts(queries.shape[0], n_scores):
        scores = score(queries[part])
        places = largest_first(scores, k)
        found.append((np.take_along_axis(scores, places, axis=1), places))
    scores, places = (np.concatenate(each) for each in zip(*found, strict=True))
    return scores, places


def largest_first(values, k):
    """Return where the k largest values of each row are, equal ones in their order."""
    found = np.empty((len(values), k), dtype=np.intp)
    for row, places in zip(values, found, strict=True):
        least = np.partition(row, len(row) - k)[len(row) - k]
        # All that equal the last one are there: partitions take any of them.
        some = np.flatnonzero(~(row < least))
        places[:] = some[np.argsort(-row[some], kind="stable")[:k]]
    return found
