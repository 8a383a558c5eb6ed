"""Atoms and queries for maximum inner product search.

References
----------
.. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
   PhD thesis, Stanford University (2023), appendix to chapter 4.
"""

from numbers import Integral, Real

import numpy as np
from numpy.typing import DTypeLike

from .._compat import Interval, validate_params
from .._core.typing import RandomState

_SHAPE = {
    "n_atoms": [Interval(Integral, 1, None, closed="left")],
    "n_features": [Interval(Integral, 1, None, closed="left")],
    "n_queries": [Interval(Integral, 1, None, closed="left")],
    "dtype": "no_validation",
    "random_state": ["random_state"],
}


@validate_params(_SHAPE, prefer_skip_nested_validation=True)
def make_normal_custom(
    n_atoms: int = 100,
    n_features: int = 10_000,
    n_queries: int = 1,
    *,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate NORMAL_CUSTOM: every vector is normal around a level of its own.

    Each atom has a level theta_i drawn from N(0, 1) and coordinates drawn from
    N(theta_i, 1); queries are drawn in the same way [1]_. Most queries are easy,
    because the inner products follow the levels; a query whose own level is near zero
    is as hard as :func:`make_symmetric_normal`.

    Parameters
    ----------
    n_atoms : int, default=100
        Number of atoms.
    n_features : int, default=10_000
        Dimension of atoms and queries.
    n_queries : int, default=1
        Number of queries.
    dtype : dtype, default=np.float32
        Floating point type of what is returned.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; pass an int for reproducible data.

    Returns
    -------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    queries : ndarray of shape (n_queries, n_features)
        The queries.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), appendix to chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_normal_custom
    >>> atoms, queries = make_normal_custom(50, 1000, 2, random_state=0)
    >>> atoms.shape, queries.shape
    ((50, 1000), (2, 1000))
    """
    rng = _generator(random_state)
    atoms = _normal_around_levels(rng, n_atoms, n_features, dtype)
    return atoms, _normal_around_levels(rng, n_queries, n_features, dtype)


@validate_params(
    {
        **_SHAPE,
        "noise": [Interval(Real, 0, None, closed="left")],
        "query_noise": [Interval(Real, 0, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def make_correlated_normal_custom(
    n_atoms: int = 100,
    n_features: int = 10_000,
    n_queries: int = 1,
    *,
    noise: float = 1.0,
    query_noise: float = 0.3,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate CORRELATED_NORMAL_CUSTOM: atoms are noisy multiples of the query.

    The query has a level theta drawn from N(0, 1) and coordinates drawn from N(theta,
    1). Atom i is ``w_i * query`` plus normal noise, with w_i drawn from N(0, 1) [1]_:
    the gaps between the inner products grow with the dimension as fast as the inner
    products, so the number of coordinates needed to tell the best atom does not depend
    on it.

    Parameters
    ----------
    n_atoms : int, default=100
        Number of atoms.
    n_features : int, default=10_000
        Dimension of atoms and queries.
    n_queries : int, default=1
        Number of queries. The first is the one that the atoms are made from, the others
        are the same with noise added.
    noise : float, default=1.0
        Standard deviation of the atoms' noise.
    query_noise : float, default=0.3
        Standard deviation of the noise of all queries but the first.
    dtype : dtype, default=np.float32
        Floating point type of what is returned.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; pass an int for reproducible data.

    Returns
    -------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    queries : ndarray of shape (n_queries, n_features)
        The queries.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), appendix to chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_correlated_normal_custom
    >>> atoms, queries = make_correlated_normal_custom(50, 1000, random_state=0)
    >>> products = atoms @ queries[0]
    >>> bool(products.max() > 10 * products.std() / 50)
    True
    """
    rng = _generator(random_state)
    query = _normal_around_levels(rng, 1, n_features, dtype)[0]
    weights = rng.standard_normal(n_atoms, dtype=np.float64).astype(dtype)
    atoms = rng.standard_normal((n_atoms, n_features), dtype=dtype)
    atoms *= np.asarray(noise, dtype=dtype)
    # Row by row: a product of the whole size would double the memory.
    for atom, weight in zip(atoms, weights, strict=True):
        atom += weight * query
    queries = rng.standard_normal((n_queries, n_features), dtype=dtype)
    queries *= np.asarray(query_noise, dtype=dtype)
    queries[0] = 0
    queries += query
    return atoms, queries


@validate_params(_SHAPE, prefer_skip_nested_validation=True)
def make_symmetric_normal(
    n_atoms: int = 100,
    n_features: int = 10_000,
    n_queries: int = 1,
    *,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate SymmetricNormal: nothing tells one atom from another.

    All coordinates of atoms and queries are drawn from N(0, 1) [1]_. The gaps between
    the inner products are of the order of their sampling error until nearly every
    coordinate has been seen: the worst case for adaptive sampling, which should notice
    it early.

    Parameters
    ----------
    n_atoms : int, default=100
        Number of atoms.
    n_features : int, default=10_000
        Dimension of atoms and queries.
    n_queries : int, default=1
        Number of queries.
    dtype : dtype, default=np.float32
        Floating point type of what is returned.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; pass an int for reproducible data.

    Returns
    -------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    queries : ndarray of shape (n_queries, n_features)
        The queries.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), appendix to chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_symmetric_normal
    >>> atoms, queries = make_symmetric_normal(50, 1000, random_state=0)
    >>> round(float(atoms.std()), 1)
    1.0
    """
    rng = _generator(random_state)
    atoms = rng.standard_normal((n_atoms, n_features), dtype=dtype)
    return atoms, rng.standard_normal((n_queries, n_features), dtype=dtype)


def _generator(random_state):
    """Return a Generator (it draws float32 directly) seeded by scikit-learn's rules."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)


def _normal_around_levels(rng, n_vectors, n_features, dtype):
    vectors = rng.standard_normal((n_vectors, n_features), dtype=dtype)
    vectors += rng.standard_normal((n_vectors, 1), dtype=dtype)
    return vectors
