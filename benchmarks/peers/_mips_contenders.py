"""Searches for the largest inner products, and the quality of their answers.

A contender is a function of a block of queries that returns indices.
"""

import numpy as np

from sklearn_bandit.neighbors import BanditMIPS

DELTA = 0.01


def ours(atoms, k, **parameters):
    """Return a fitted search, as a function of the queries."""
    search = BanditMIPS(k, delta=DELTA, random_state=0).set_params(**parameters)
    search.fit(atoms)
    return lambda queries: search.kneighbors(queries)[1]


def blas(atoms, k):
    """Return the matrix product, the faster way round, and a partial sort."""

    def query(queries):
        if len(queries) == 1:
            scores = (atoms @ queries[0])[None]
        elif len(atoms) > 8 * atoms.shape[1]:
            scores = queries @ atoms.T
        else:
            scores = (atoms @ queries.T).T
        if k == 1:
            return scores.argmax(axis=1)[:, None]
        return np.argpartition(-scores, k, axis=1)[:, :k]

    return query


def faiss_flat(atoms, k):
    """Return faiss's exact index."""
    import faiss

    index = faiss.IndexFlatIP(atoms.shape[1])
    index.add(atoms)
    return lambda queries: index.search(queries, k)[1]


def ask_counting(search, queries):
    """Ask one query at a time; return all answers and their multiplications."""
    answers = []
    for i in range(len(queries)):
        found = search.kneighbors(queries[i : i + 1])[1]
        answers.append((found[0], search.n_multiplications_[0]))
    found, counts = zip(*answers, strict=True)
    return np.array(found), np.array(counts)


def hits(atoms, queries, k):
    """Return which of the atoms in an answer are among the true best k; ties are."""
    scores = queries @ atoms.T
    bars = np.partition(scores, -k, axis=1)[:, -k]
    slack = 1e-6 * np.linalg.norm(queries, axis=1) * np.linalg.norm(atoms, axis=1).max()

    def compare(indices):
        found = np.take_along_axis(scores, indices, axis=1)
        return found >= (bars - slack)[:, None]

    return compare


def precision(atoms, queries, k):
    """Return the share of the true best k that an answer holds, as a quality."""
    compare = hits(atoms, queries, k)
    return {f"precision@{k}": lambda indices: compare(indices).mean()}
