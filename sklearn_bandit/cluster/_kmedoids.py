"""The estimator: its parameters, and the way of a fit through the other files."""

import warnings
from contextlib import nullcontext
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._compat import (
    VALID_METRICS,
    Interval,
    StrOptions,
    _fit_context,
    with_callbacks,
)
from .._core.documentation import DocumentationLinkMixin
from .._core.progress import ProgressMixin
from .._core.thread_start import keep_threads, start_threads
from .._core.unchanged import unchanged_on_failure
from ._distances import fix_params, make_distances
from ._medoid_state import SMALL
from ._prediction import MedoidPrediction, without_nan
from ._samples import (
    check_init,
    check_n_clusters,
    check_samples,
    check_weights,
    n_samples_of,
    take_samples,
)
from ._silhouette import Silhouettes, choose_n_clusters
from ._starts import Sources, Starts, choose_algorithm, make_search
from ._weighted_samples import draw_order, merge_samples


class BanditKMedoids(
    DocumentationLinkMixin, ProgressMixin, MedoidPrediction, ClusterMixin, BaseEstimator
):
    """k-medoids clustering with the quality of PAM in almost linear time.

    k-medoids chooses `n_clusters` of the samples, the medoids, such that the sum of the
    distances of all samples to their nearest medoid is small. The distance may be any
    function of two objects. PAM, the best known method, looks at all pairs of samples;
    here each of its steps is a search for the best of many candidates by adaptive
    sampling, which needs few of the distances [1]_ [2]_.

    Read more in the :ref:`User Guide <kmedoids>`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of medoids. "auto" clusters with each number of `k_range` and keeps the
        one whose medoids have the largest mean silhouette (see
        :func:`medoid_silhouette`); the distances are shared.
    k_range : tuple of two int, default=(2, 10)
        Least and largest number of medoids that `n_clusters="auto"` tries.
    metric : str or callable, default="euclidean"
        Distance from a sample to a medoid. "euclidean", "sqeuclidean", "cosine" and
        "manhattan" ("l1") have fast kernels for dense data; all other names that
        :func:`sklearn.metrics.pairwise_distances` knows work too. "precomputed": `X` is
        a matrix, entry ``[i, j]`` the distance from sample i to the medoid j; only the
        entries needed are read. A callable is called as ``metric(sample, medoid)`` with
        two elements of `X`, which may then be any sequence of any objects (an array of
        objects has to be one-dimensional). Distances may be negative.
    metric_params : dict, default=None
        Further keyword arguments of the metric.
    metric_symmetric : {"auto"} or bool, default="auto"
        Whether a callable returns the same for two objects either way, and zero for an
        object and itself: then each pair is evaluated once, as long as the table of
        pairs fits into `cache_size`. "auto" tries a few pairs both ways and believes
        them. Set it to False if few pairs only are asymmetric.
    metric_batched : bool, default=False
        Whether a callable takes several objects at once: it is then called as
        ``metric(samples, medoids)`` with two parts of `X` (arrays, or lists of objects)
        and returns the matrix of their distances, as functions like
        :func:`sklearn.metrics.pairwise.haversine_distances` do.
    algorithm : {"auto", "bandit", "eager", "pam"}, default="auto"
        "bandit" follows PAM: its medoids, with probability `1 - delta`. "eager" makes
        any swap that improves and stops in a local optimum, which need not be PAM's but
        is as good on average. "pam" computes all distances. "auto" is "pam" up to 3,000
        different samples and "eager" above.
    init : {"build", "k-medoids++", "random"} or array-like, default="build"
        First medoids: PAM's greedy BUILD; samples drawn with probability as their
        distance to the medoids so far; samples drawn uniformly; given samples, as an
        array of indices; or the samples nearest to given coordinates, as an array of
        shape (n_clusters, n_features). BUILD takes a search for each medoid and saves
        swaps.
    n_init : "auto" or int, default="auto"
        Number of starts from different random `init`, of which the one with the least
        loss is kept; they share the distances. "auto" is 10 for "random" and 1
        otherwise.
    max_iter : int, default=300
        Maximum number of SWAP iterations of one start.
    tol : float, default=0.0
        A swap must improve the loss by this share of it. Larger values save the last,
        dearest searches; the loss may end several `tol` above the optimum.
    delta : float, default=0.01
        Error probability of "bandit", over all its searches: the chance that the
        medoids are not PAM's. For "eager", the chance that a swap which improves is
        missed at the end. For `n_clusters="auto"`, the chance that another number of
        clusters has the largest mean silhouette. Smaller values need more distances
        (slowly: as the logarithm).
    batch_size : int, default=512
        Samples in a block of references. Smaller blocks need fewer distances, which
        pays if they are costly (a callable); larger ones run faster.
    cache_size : int, default=2**31
        Bytes for distances that are kept. More memory saves computing distances again;
        the result is the same. The data's own working copy comes on top.
    max_exact : int, default=256
        Most candidates that one search computes exactly. It bounds the time where very
        many candidates are practically equal; a fit that was cut short by it warns.
    n_jobs : int, default=None
        Threads of the kernels; None and -1 mean all cores. The result does not depend
        on it.
    random_state : int, RandomState instance or None, default=None
        Determines the order in which references are sampled, and random `init`.
    verbose : int, default=0
        Print a line for each step.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Which samples are the medoids.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), list or None
        The medoids themselves: rows of `X`, or objects; None if precomputed.
    labels_ : ndarray of shape (n_samples,)
        Nearest medoid of each sample.
    n_clusters_ : int
        Number of medoids.
    silhouettes_ : SilhouettesByK or None
        Mean silhouettes with their radii, for each number of clusters that
        `n_clusters="auto"` has tried.
    inertia_ : float
        Sum of the (weighted) distances of the samples to their medoids.
    algorithm_ : {"bandit", "eager", "pam"}
        The algorithm of the fit: what "auto" stood for. "pam" samples nothing.
    n_iter_ : int
        SWAP iterations run.
    n_swaps_ : int
        Swaps made.
    n_distance_evaluations_ : int
        Distances computed, of all starts. For a callable, the number of calls. Sums
        of squared distances, which take one inner product a candidate and cluster, are
        not counted.
    n_features_in_ : int
        Number of features seen during `fit`; not for sequences of objects.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    See Also
    --------
    medoid_silhouette : How clear the clusters of medoids are.
    sklearn.cluster.KMeans : Means as centers, squared Euclidean distances only.

    Notes
    -----
    Samples of weight zero are never medoids and do not count; they get labels.

    `labels_`, `inertia_`, `predict` and `transform` have the same distances. Those of
    dense data under the metrics with kernels of their own come from the differences of
    the entries, in the precision of `X`: sums of d of them, off by no more than
    ``d + 2`` units in the last place. Under the cosine, rows are normalised before, and
    a small distance c is off by the rounding of ``sqrt(c)``. Those of sparse data come
    from products in double precision, and from differences where these cancel.

    Among more than 3,000 samples, equal rows of dense data are merged into one of their
    weight if there are many, for the metrics with kernels of their own. Labels and
    `inertia_` are those of all samples; of equal samples the first is the medoid.

    References
    ----------
    .. [1] M. Tiwari et al., "BanditPAM: Almost Linear Time k-Medoids Clustering via
       Multi-Armed Bandits", NeurIPS (2020).
    .. [2] M. Tiwari et al., "BanditPAM++: Faster k-medoids Clustering", NeurIPS
       (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_bandit.cluster import BanditKMedoids
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmedoids = BanditKMedoids(n_clusters=2, random_state=0).fit(X)
    >>> kmedoids.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> kmedoids.cluster_centers_
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> kmedoids.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)

    Any objects and any distance:

    >>> def distance(a, b):
    ...     return abs(len(a) - len(b))
    >>> words = ["a", "of", "to", "medoid", "bandit", "search"]
    >>> BanditKMedoids(2, metric=distance).fit(words).cluster_centers_
    ['of', 'medoid']
    """

    _parameter_constraints = {
        "n_clusters": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "k_range": ["array-like"],
        "metric": [StrOptions(set(VALID_METRICS) | {"precomputed"}), callable],
        "metric_params": [dict, None],
        "metric_symmetric": [StrOptions({"auto"}), "boolean"],
        "metric_batched": ["boolean"],
        "algorithm": [StrOptions({"auto", "bandit", "eager", "pam"})],
        "init": [StrOptions({"build", "k-medoids++", "random"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "max_exact": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        k_range=(2, 10),
        metric="euclidean",
        metric_params=None,
        metric_symmetric="auto",
        metric_batched=False,
        algorithm="auto",
        init="build",
        n_init="auto",
        max_iter=300,
        tol=0.0,
        delta=0.01,
        batch_size=512,
        cache_size=2**31,
        max_exact=256,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.k_range = k_range
        self.metric = metric
        self.metric_params = metric_params
        self.metric_symmetric = metric_symmetric
        self.metric_batched = metric_batched
        self.algorithm = algorithm
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.delta = delta
        self.batch_size = batch_size
        self.cache_size = cache_size
        self.max_exact = max_exact
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose the medoids.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
            The samples; the matrix of distances if `metric` is "precomputed"; any
            sequence of objects if it is a callable.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        shown = {"X": X, "y": y, "sample_weight": sample_weight}
        with unchanged_on_failure(self):
            n_truncated, converged = self._fit(X, sample_weight, shown)
        self._warn(n_truncated, converged)
        return self

    def _fit(self, X, sample_weight, shown):
        """Set all attributes; return the number of searches cut short, and convergence.

        Callbacks see `shown`.
        """
        X = check_samples(self, X, reset=True)
        candidates = check_n_clusters(self)
        weights, exponent = check_weights(X, sample_weight, candidates)
        params = fix_params(X, self.metric, self.metric_params)
        init = check_init(self, X, weights, params)
        least = candidates[-1] if isinstance(init, str) else init
        merged = merge_samples(X, self.metric, weights, least, self.n_jobs)
        n_used = len(merged.samples)
        algorithm = choose_algorithm(self.algorithm, n_used)
        random_state, n_heavy = None, 0
        order, merged_weights = merged.samples, merged.weights
        if algorithm != "pam" or self._draws():
            random_state = check_random_state(self.random_state)
        if algorithm != "pam":
            block = min(self.batch_size, n_used)
            places, n_heavy = draw_order(merged.weights, block, random_state)
            order, merged_weights = order[places], merged_weights[places]
        positions = merged.positions(order)
        if not isinstance(init, str):
            init = positions[np.searchsorted(merged.members, init)]
        is_quick = algorithm == "pam" and n_used <= SMALL
        n_threads = (keep_threads if is_quick else start_threads)(self.n_jobs)
        distances = self._distances(X, params, order, n_threads)
        with nullcontext() if algorithm == "pam" else distances.threads():
            sources = Sources(self, algorithm, distances, n_threads, n_heavy)
            make = partial(make_search, self, sources, merged_weights)
            hand_over = partial(self._fitted_so_far, X, order, params, exponent)
            starts = Starts(self, make, candidates, init, random_state)
            outcomes = starts.run(shown, hand_over)

        n_calls = distances.n_evaluations
        best, self.silhouettes_ = outcomes[-1], None
        if len(candidates) > 1:
            medoids = [order[outcome.medoids] for outcome in outcomes]
            source = Silhouettes(
                X, medoids, self.metric, params, self.metric_batched, self.n_jobs
            )
            with np.errstate(over="ignore"):
                losses = [float(np.ldexp(o.loss, exponent)) for o in outcomes]
            self.silhouettes_ = choose_n_clusters(
                source,
                losses,
                None if sample_weight is None else weights,
                self.delta,
                self.random_state if random_state is None else random_state,
            )
            n_calls += source.n_evaluations
            best = outcomes[candidates.index(self.silhouettes_.best)]
        labels = best.labels[positions]
        self._hand_over(X, order[best.medoids], labels, merged.members, params)
        # Samples of no weight get their labels there.
        n_calls += (n_samples_of(X) - len(merged.members)) * len(best.medoids)
        with np.errstate(over="ignore"):
            self.inertia_ = float(np.ldexp(best.loss, exponent))
        if not isfinite(self.inertia_):
            raise ValueError(
                "The sum of the weighted distances is beyond the range of double "
                "precision: divide sample_weight by its maximum."
            )
        self.algorithm_ = algorithm
        self.n_iter_ = best.n_iter
        self.n_swaps_ = best.n_swaps
        self.n_distance_evaluations_ = n_calls
        return starts.n_truncated, all(outcome.converged for outcome in outcomes)

    def _distances(self, X, params, order, n_threads):
        """Return where distances come from."""
        return make_distances(
            X,
            self.metric,
            params,
            order,
            self.cache_size,
            n_threads,
            self.n_jobs,
            symmetric=self.metric_symmetric,
            batched=self.metric_batched,
        )

    def _fitted_so_far(self, X, order, params, exponent, medoids, loss):
        """Return the attributes that prediction needs."""
        medoids = order[medoids]
        return {
            "_params": params,
            "n_clusters_": len(medoids),
            "medoid_indices_": medoids,
            "cluster_centers_": self._centers(X, medoids),
            "inertia_": float(np.ldexp(loss, exponent)),
        }

    def _centers(self, X, medoids):
        """Return the samples that are medoids; None if only distances are known."""
        if isinstance(self.metric, str) and self.metric == "precomputed":
            return None
        return take_samples(X, medoids)

    def _draws(self):
        """Whether the first medoids are random."""
        return isinstance(self.init, str) and self.init != "build"

    def _hand_over(self, X, medoids, labels, used, params):
        """Set the attributes that prediction needs, and the labels."""
        n_samples = n_samples_of(X)
        self._params = params
        self.n_clusters_ = len(medoids)
        self.medoid_indices_ = medoids
        self.cluster_centers_ = self._centers(X, medoids)
        self.labels_ = np.empty(n_samples, dtype=np.intc)
        self.labels_[used] = labels
        if len(used) < n_samples:
            rest = np.setdiff1d(np.arange(n_samples), used)
            to_medoids = without_nan(self._to_medoids(take_samples(X, rest)))
            self.labels_[rest] = to_medoids.argmin(axis=1)

    def _warn(self, n_truncated, converged):
        if not converged:
            warnings.warn(
                f"The swaps did not end within max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if n_truncated:
            warnings.warn(
                f"In {n_truncated} searches more than "
                f"max_exact={self.max_exact} candidates were practically equal, and "
                "only the best of them by estimate were computed. Raise max_exact or "
                "tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        n_found = np.count_nonzero(np.bincount(self.labels_))
        if n_found < self.n_clusters_:
            warnings.warn(
                f"Only {n_found} of {self.n_clusters_} clusters have members: there "
                "are fewer distinct samples than clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_distance_evaluations_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
