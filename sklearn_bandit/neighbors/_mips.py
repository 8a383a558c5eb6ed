"""The estimator: validation, parameters, and the bookkeeping of atoms."""

from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._compat import Interval, StrOptions, _fit_context, check_is_fitted, validate_data
from .._core.thread_start import keep_threads
from .._core.typing import MatrixLike
from .._core.unchanged import unchanged_on_failure
from ._answer import to_single
from ._dispatch import search
from ._index import AtomIndex
from ._request import Request

# Sparse queries are made dense in parts of at most this number of entries.
MAX_DENSE = 1 << 24


class BanditMIPS(BaseEstimator):
    """Maximum inner product search by adaptive sampling of coordinates.

    Finds the atoms (rows of the fitted array) that have the largest inner products with
    a query. Instead of multiplying all coordinates, atoms are compared on a sample of
    them and dropped as soon as enough others are better; only the few that are left are
    computed in full [1]_. The cost depends on how different the inner products are, not
    on the dimension. Where sampling cannot gain (small dimensions, inner products that
    are too much alike) the search notices it early and uses BLAS.

    Read more in the :ref:`user guide <mips>`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of atoms that :meth:`kneighbors` returns.
    delta : float, default=0.01
        Probability, for each query, that the answer is not the true one. Smaller values
        need more coordinates; the cost grows with the logarithm only. With ``delta=0``
        the answer is always exact: only bounds that hold with certainty drop atoms.
    epsilon : float, default=0.0
        How much smaller than the k-th largest inner product one of those returned may
        be. Ends the search early among near ties.
    sampling : {"uniform", "weighted", "alpha"}, default="uniform"
        Which coordinates are sampled. All but "uniform" read single coordinates of the
        atoms, which saves multiplications rather than time.

        - "uniform": a random sample, the same for all queries, laid out at fit.
        - "weighted": drawn for each query with probabilities proportional to
          ``|q_j| ** (2 * beta)``, and weighted to be unbiased.
        - "alpha": the query's largest entries first (BanditMIPS-alpha of the thesis).
          Nothing is random then: the norms of what is left drop atoms, and the answer
          is exact, whatever `radius` is.
    beta : float, default=1.0
        How strongly "weighted" prefers large entries; 0 is uniform.
    radius : {"paired", "bernstein", "hoeffding"}, default="paired"
        Confidence radius. "paired" compares with the best atom on the same coordinates
        (Student-t, with guards against sparse and heavy-tailed vectors); its error
        probability is asymptotic. The other two hold for any data, and save little.
    buckets : int, default=None
        Visit atoms in buckets of this size by decreasing norm, and stop when the norms
        alone show that no other can be better. Makes the cost sublinear in the number
        of atoms where norms differ much; a burden where they do not.
    batch_size : int, default=64
        Coordinates in the first round; later rounds double. Rounded up to a multiple of
        8. Smaller ones decide easy queries sooner, larger ones waste fewer rounds.
    layout : {"auto", "zero-copy"}, default="auto"
        "auto" keeps, beside the atoms, their norms, a few components and a sample of
        ``16 * batch_size`` coordinates (up to ``128 * batch_size`` in high dimensions,
        where that is one in 32 or fewer): fitting costs as much as 10 to 20 exact
        queries. "zero-copy" prepares nothing, so fitting only checks the input; queries
        read blocks of the atoms, and below 20,000 dimensions all of them.
    n_jobs : int, default=None
        Number of threads for batches of queries; None means all. Single queries use
        one, unless many atoms have to be computed in full.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample of coordinates. Queries are answered from the same sample, so
        errors of one fit are not independent.

    Attributes
    ----------
    n_features_in_ : int
        Dimension of the atoms.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they were all strings.
    n_samples_fit_ : int
        Number of atoms at present.
    n_multiplications_ : ndarray of shape (n_queries,)
        Multiplications of coordinates in the last call of :meth:`kneighbors`, query by
        query. An exact search takes ``n_samples_fit_ * n_features_in_``. With several
        threads it is that of the call that ended last.

    See Also
    --------
    sklearn.neighbors.NearestNeighbors : Nearest neighbours by distance.
    sklearn_bandit.linear_model.BanditMatchingPursuit : Sparse approximation by the same
        search.

    Notes
    -----
    Several threads may query one fitted estimator at the same time, and get the same
    answers as one after the other. A query that is under way while :meth:`fit`,
    :meth:`partial_fit` or :meth:`remove` runs is answered from the atoms before it. Of
    these three only one may run at a time: use a lock.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_correlated_normal_custom
    >>> from sklearn_bandit.neighbors import BanditMIPS
    >>> atoms, queries = make_correlated_normal_custom(500, 20_000, random_state=0)
    >>> search = BanditMIPS(n_neighbors=1, random_state=0).fit(atoms)
    >>> products, indices = search.kneighbors(queries)
    >>> bool(indices[0, 0] == (atoms @ queries[0]).argmax())
    True
    >>> bool(search.n_multiplications_[0] < atoms.size / 20)
    True
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "sampling": [StrOptions({"uniform", "weighted", "alpha"})],
        "beta": [Interval(Real, 0, None, closed="left")],
        "radius": [StrOptions({"paired", "bernstein", "hoeffding"})],
        "buckets": [Interval(Integral, 2, None, closed="left"), None],
        "batch_size": [Interval(Integral, 16, None, closed="left")],
        "layout": [StrOptions({"auto", "zero-copy"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    # Whether a search may be given up for BLAS, or computed from the support of a
    # sparse query; tests of failure rates say no.
    _may_give_up = True

    def __init__(
        self,
        n_neighbors=5,
        *,
        delta=0.01,
        epsilon=0.0,
        sampling="uniform",
        beta=1.0,
        radius="paired",
        buckets=None,
        batch_size=64,
        layout="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.delta = delta
        self.epsilon = epsilon
        self.sampling = sampling
        self.beta = beta
        self.radius = radius
        self.buckets = buckets
        self.batch_size = batch_size
        self.layout = layout
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Take the atoms.

        Parameters
        ----------
        X : array-like of shape (n_atoms, n_features)
            The atoms. Float32 and float64 arrays in C order (memory-mapped ones, too)
            are used as they are; they must not change afterwards.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditMIPS
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
            self._check_combination()
            self._set_index(
                AtomIndex(
                    X,
                    with_sample=self.layout == "auto",
                    batch_size=self.batch_size,
                    rng=check_random_state(self.random_state),
                )
            )
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Add atoms behind those that are there.

        Parameters
        ----------
        X : array-like of shape (n_atoms, n_features)
            The new atoms; they are copied.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditMIPS
            The estimator.
        """
        if not hasattr(self, "_index"):
            return self.fit(X)
        X = validate_data(self, X, dtype=self._index.dtype, order="C", reset=False)
        self._set_index(self._index.add(X))
        return self

    def remove(self, indices: ArrayLike) -> Self:
        """Remove atoms; those behind them move up.

        Parameters
        ----------
        indices : int or array-like of int
            Present positions of the atoms, each at most once. At least one atom must
            remain.

        Returns
        -------
        self : BanditMIPS
            The estimator.
        """
        check_is_fitted(self)
        indices = np.atleast_1d(np.asarray(indices))
        n_atoms = self._index.n_atoms
        if indices.size == 0:
            return self
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise ValueError("indices must be an integer or a list of integers.")
        if indices.min() < 0 or indices.max() >= n_atoms:
            raise ValueError(f"indices must be in [0, {n_atoms}); got {indices}.")
        if len(np.unique(indices)) < len(indices):
            raise ValueError("An atom can be removed only once; indices are repeated.")
        if len(indices) == n_atoms:
            raise ValueError("At least one atom must remain.")
        self._set_index(self._index.remove(indices))
        return self

    def _set_index(self, index):
        """Search in these atoms from now on."""
        self._index = index
        self.n_samples_fit_ = index.n_atoms

    def kneighbors(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Find the atoms with the largest inner products.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries. None takes the atoms themselves, each one's inner product with
            itself not counted.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the inner products, too.

        Returns
        -------
        products : ndarray of shape (n_queries, n_neighbors)
            Inner products, in descending order. Only if `return_distance`. Of the type
            of the atoms; in double precision where single precision cannot hold them.
        indices : ndarray of shape (n_queries, n_neighbors)
            Positions of the atoms; ties in increasing order.
        """
        if not hasattr(self, "_index"):
            check_is_fitted(self)
        return self._kneighbors(self._index, X, n_neighbors, return_distance)

    def _kneighbors(self, index, X, n_neighbors, return_distance):
        """Answer from this index, even if another thread sets another one meanwhile."""
        exclude_self = X is None
        k = self._check_neighbors(index, n_neighbors, exclude_self)
        self._check_combination()
        queries = self._check_queries(index, X)
        n_queries = queries.shape[0]
        request = Request(
            k=k + exclude_self,
            delta=self.delta,
            epsilon=self.epsilon,
            sampling=self.sampling,
            beta=self.beta,
            radius=self.radius,
            buckets=self.buckets,
            n_jobs=self.n_jobs,
            n_threads=self._n_threads(n_queries),
            may_give_up=self._may_give_up,
            with_products=return_distance,
        )
        if type(queries) is np.ndarray:
            products, indices, counts = search(index, queries, request)
        else:
            products, indices, counts = _search_sparse(index, queries, request)
        if exclude_self:
            products, indices = _drop_self(products, indices)
        self.n_multiplications_ = counts
        if not return_distance:
            return indices
        if index.dtype == np.float32:
            narrow = to_single(products)
            products = products if narrow is None else narrow
        return products, indices

    def kneighbors_graph(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "product", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the neighbours as a sparse matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; None takes the atoms themselves.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        mode : {"connectivity", "product", "distance"}, default="connectivity"
            Whether the entries are ones or the inner products. "distance" is the same
            as "product", for callers that know scikit-learn's name: the largest
            entries are the nearest.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, `n_samples_fit_`)
            One row a query, with as many stored entries as there are neighbours.
        """
        if mode not in ("connectivity", "product", "distance"):
            raise ValueError(
                "mode must be 'connectivity', 'product' or 'distance', "
                f"got {mode!r} instead."
            )
        check_is_fitted(self)
        index = self._index
        if mode == "connectivity":
            indices = self._kneighbors(index, X, n_neighbors, return_distance=False)
            data = np.ones(indices.size)
        else:
            products, indices = self._kneighbors(
                index, X, n_neighbors, return_distance=True
            )
            data = products.ravel()
        n_queries, k = indices.shape
        ends = np.arange(0, indices.size + 1, k)
        shape = (n_queries, index.n_atoms)
        return sparse.csr_matrix((data, indices.ravel(), ends), shape=shape)

    def _n_threads(self, n_queries):
        """Return the number of threads that share the queries, and have them start."""
        if n_queries == 1:
            return 1
        return keep_threads(self.n_jobs, n_queries)

    def _check_combination(self):
        """Refuse parameters that do not go together."""
        if self.buckets is None:
            return
        if self.layout != "auto" or self.sampling != "uniform":
            raise ValueError("buckets need layout='auto' and sampling='uniform'.")
        if self.radius != "paired":
            raise ValueError("buckets need radius='paired'.")

    def _check_neighbors(self, index, n_neighbors, exclude_self):
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if type(k) is not int and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise TypeError(f"n_neighbors must be an integer, got {type(k)} instead.")
        if k < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {k} instead.")
        n_others = index.n_atoms - exclude_self
        if k > n_others:
            raise ValueError(
                f"n_neighbors={k} atoms are wanted, but there are only {n_others}"
                + (" others." if exclude_self else ".")
            )
        return int(k)

    def _check_queries(self, index, X):
        """Validate the queries; an array that needs no conversion takes a microsecond.

        Whether all entries are finite is checked by the search, which reads all of them
        in any case.
        """
        if X is None:
            return index.all_atoms()
        if (
            type(X) is np.ndarray
            and X.dtype == index.dtype
            and X.ndim == 2
            and X.shape[1] == index.n_features
            and X.shape[0] > 0
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
        ):
            return X
        return validate_data(
            self, X, accept_sparse="csr", dtype=index.dtype, order="C", reset=False
        )


def _search_sparse(index, queries, request):
    """Search for the rows of a CSR matrix, some at a time."""
    n_chunk = max(MAX_DENSE // queries.shape[1], 1)
    parts = []
    for first in range(0, queries.shape[0], n_chunk):
        dense = queries[first : first + n_chunk].toarray()
        parts.append(search(index, np.ascontiguousarray(dense), request))
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _drop_self(products, indices):
    """Take each query's own index out of its neighbours (or the last of them)."""
    n_queries, k = indices.shape
    own = indices == np.arange(n_queries)[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (n_queries, k - 1)
    return products[~own].reshape(shape), indices[~own].reshape(shape)
