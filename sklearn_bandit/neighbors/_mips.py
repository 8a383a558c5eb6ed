"""The estimator: validation, parameters, and the bookkeeping of atoms."""

from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state

from .._compat import Interval, StrOptions, _fit_context, check_is_fitted, validate_data
from .._core.documentation import DocumentationLinkMixin
from .._core.thread_start import keep_threads
from .._core.typing import MatrixLike
from .._core.unchanged import unchanged_on_failure
from ._answer import to_single
from ._calls import check_ids, check_mode, check_n_neighbors, neighbors_graph
from ._dispatch import search
from ._index import AtomIndex
from ._request import Request
from ._sparse_index import SparseAtomIndex, is_worth_sparse

# Sparse queries are made dense in parts of at most this number of entries.
MAX_DENSE = 1 << 24


class BanditMIPS(
    DocumentationLinkMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Maximum inner product search by adaptive sampling of coordinates.

    Finds the atoms (rows of the fitted array) that have the largest inner products with
    a query. Instead of multiplying all coordinates, atoms are compared on a sample of
    them and dropped as soon as enough others are better; only the few that are left are
    computed in full [1]_. The cost depends on how different the inner products are, not
    on the dimension. Where sampling cannot gain (small dimensions, inner products that
    are too much alike) the search notices it early and uses BLAS. Sparse atoms are
    searched exactly, by their entries that are not zero.

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
    >>> products, ids = search.kneighbors(queries)
    >>> bool(ids[0, 0] == (atoms @ queries[0]).argmax())
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
    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Take the atoms, with ids from 0 on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_atoms, n_features)
            The atoms. Float32 and float64 arrays in C order (memory-mapped ones, too)
            are used as they are; they must not change afterwards. Sparse ones are
            copied, and searched exactly, whatever `delta`, `sampling`, `radius` and
            `buckets` are. A sparse matrix that takes as much memory as an array of all
            its entries (about every second is not zero) is made one.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditMIPS
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
            )
            self._check_combination()
            self._set_index(self._make_index(X))
        return self

    def _make_index(self, X):
        """Return the index of atoms that are an array or a CSR matrix."""
        if sparse.issparse(X):
            X.check_format()
            if is_worth_sparse(X):
                return SparseAtomIndex.of(X)
            X = X.toarray()
        return AtomIndex(
            X,
            with_sample=self.layout == "auto",
            batch_size=self.batch_size,
            rng=check_random_state(self.random_state),
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: MatrixLike, y: None = None) -> Self:
        """Add atoms, which get the next ids.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_atoms, n_features)
            The new atoms; they are copied, and kept in the form of those that are
            there, dense or sparse.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditMIPS
            The estimator.
        """
        if not hasattr(self, "_index"):
            return self.fit(X)
        index = self._index
        X = validate_data(
            self, X, accept_sparse="csr", dtype=index.dtype, order="C", reset=False
        )
        if isinstance(index, SparseAtomIndex):
            X = sparse.csr_matrix(X)
        elif sparse.issparse(X):
            X = X.toarray()
        self._set_index(index.add(X))
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove atoms; the others keep their ids.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of atoms that are present, each once. At least one atom must remain.

        Returns
        -------
        self : BanditMIPS
            The estimator.
        """
        check_is_fitted(self)
        ids = check_ids(ids, self._index.present_ids())
        if len(ids):
            self._set_index(self._index.remove(ids))
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
        ids : ndarray of shape (n_queries, n_neighbors)
            Ids of the atoms; ties in increasing order. They are the positions of the
            fitted atoms, then of those added; :meth:`remove` does not change them.
        """
        if not hasattr(self, "_index"):
            check_is_fitted(self)
        index = self._index
        products, ids, counts = self._search(index, X, n_neighbors, return_distance)
        self.n_multiplications_ = counts
        return (products, ids) if return_distance else ids

    def _search(self, index, X, n_neighbors, with_products):
        """Answer from this index, even if another thread sets another one meanwhile."""
        exclude_self = X is None
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(k, index.n_atoms - exclude_self)
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
            with_products=with_products,
        )
        if isinstance(index, SparseAtomIndex):
            products, ids, counts = index.search(queries, request)
        elif type(queries) is np.ndarray:
            products, ids, counts = search(index, queries, request)
        else:
            products, ids, counts = _search_sparse(index, queries, request)
        if exclude_self:
            products, ids = _drop_self(products, ids, index.present_ids())
        if with_products and index.dtype == np.float32:
            narrow = to_single(products)
            products = products if narrow is None else narrow
        return products, ids, counts

    def kneighbors_graph(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the neighbours as a sparse matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; None takes the atoms themselves.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or, in the place of distances, the inner
            products: the largest are the nearest.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_ids)
            One row a query, with as many stored entries as there are neighbours. One
            column an id; after :meth:`remove` some columns are empty.
        """
        check_mode(mode)
        check_is_fitted(self)
        index = self._index
        is_weighted = mode == "distance"
        products, ids, _ = self._search(index, X, n_neighbors, is_weighted)
        return neighbors_graph(products if is_weighted else None, ids, index.n_ids)

    def transform(self, X: MatrixLike) -> sparse.csr_matrix:
        """Return the largest inner products of samples with the atoms.

        Features for what comes next in a pipeline: of all similarities to the atoms,
        each sample keeps the `n_neighbors` largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. None takes the atoms themselves, each without itself.

        Returns
        -------
        CSR matrix of shape (n_samples, n_ids)
            The graph of :meth:`kneighbors_graph` with ``mode="distance"``.
        """
        return self.kneighbors_graph(X, mode="distance")

    @property
    def _n_features_out(self):
        """Number of columns of :meth:`transform`, for their names."""
        return self._index.n_ids

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

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


def _drop_self(products, ids, own_ids):
    """Take each query's own id out of its neighbours (or the last of them)."""
    n_queries, k = ids.shape
    own = ids == own_ids[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (n_queries, k - 1)
    return products[~own].reshape(shape), ids[~own].reshape(shape)
