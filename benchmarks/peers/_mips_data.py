"""Atoms and queries of the races of inner products."""

from functools import cache

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfVectorizer

from ..data import load

# Queries that are asked one by one, and in one call.
N_SINGLE = 100
N_BATCH = 200


@cache
def movielens():
    """MovieLens-1M as in the thesis: NMF with 15 factors; atoms are movies."""
    data = load("movielens_1m")
    places = data.user.astype(int) - 1, data.item.astype(int) - 1
    ratings = sparse.csr_matrix(
        (data.rating.astype(np.float32), places), shape=tuple(data.shape)
    )
    model = NMF(15, init="nndsvda", max_iter=200, random_state=0)
    movies = (model.fit_transform(ratings) @ model.components_).T.astype(np.float32)
    movies = movies[np.abs(movies).max(axis=1) > 0]
    return _hold_out(movies, N_BATCH)


@cache
def mnist():
    """MNIST digits, test digits as queries."""
    data = load("mnist")
    return data.X_train.astype(np.float32), data.X_test[:N_BATCH].astype(np.float32)


@cache
def mnist_transposed():
    """Pixels as atoms and queries: many queries are sparse."""
    pixels = load("mnist").X_train.T.astype(np.float32)
    return _hold_out(pixels[pixels.any(axis=1)], 300)


@cache
def newsgroups():
    """TF-IDF of 20 newsgroups, dense: atoms and queries are sparse vectors."""
    data = load("newsgroups20")
    text, ends = data.text.tobytes(), data.offsets
    posts = [text[ends[i] : ends[i + 1]].decode("latin-1") for i in range(1000)]
    vectors = TfidfVectorizer(min_df=3).fit_transform(posts).astype(np.float32)
    return _hold_out(vectors.toarray(), 500)


def low_rank(n_atoms=1000, n_features=4096, n_queries=500, rank=20):
    """Vectors of low rank plus noise."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((rank, n_features))

    def vectors(n):
        noise = 0.5 * rng.standard_normal((n, n_features))
        return (rng.standard_normal((n, rank)) @ factors + noise).astype(np.float32)

    return vectors(n_atoms), vectors(n_queries)


def pareto(n_atoms=1000, n_features=4096, n_queries=500):
    """Vectors with heavy tails: Pareto with exponent 1.5, random signs."""
    rng = np.random.default_rng(0)
    shape = n_atoms + n_queries, n_features
    vectors = rng.pareto(1.5, shape) * rng.choice([-1.0, 1.0], shape)
    vectors = vectors.astype(np.float32)
    return vectors[:n_atoms], vectors[n_atoms:]


def _hold_out(vectors, n_queries):
    order = np.random.default_rng(0).permutation(len(vectors))
    atoms, queries = vectors[order[n_queries:]], vectors[order[:n_queries]]
    return np.ascontiguousarray(atoms), np.ascontiguousarray(queries)
