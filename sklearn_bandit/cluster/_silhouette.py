"""Silhouettes of medoids: how clear a clustering is, and which of several is clearest.

The silhouette of a sample is ``1 - d1 / d2``, with the distances to its nearest and
second nearest medoid: it takes k distances and not n, as Rousseeuw's own does. The mean
over all samples is estimated on a sample, within an interval.
"""

from dataclasses import dataclass
from math import ceil, inf, log2
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._compat import (
    VALID_METRICS,
    Interval,
    StrOptions,
    _check_sample_weight,
    validate_params,
)
from .._core.typing import RandomState
from ..bandit import bernstein_radius, best_arm, split_delta
from ._distances import call_metric, distances_between, fix_params
from ._samples import Samples, check_samples, n_samples_of, take_samples

# Samples of the first batch, and of an exact computation at a time.
BATCH = 512
CHUNK_SAMPLES = 4096

# Silhouettes are in [0, 1] for distances that are not negative.
RANGE = 1.0

# Distances that are negative by no more than this share of the largest are zero: the
# correlation distance of equal rows is -2e-16.
NEGATIVE_ROUNDING = 1e-6


@dataclass(frozen=True)
class MedoidSilhouette:
    """The mean silhouette of some medoids, within an interval.

    Attributes
    ----------
    mean : float
        Estimate of the mean over all samples.
    radius : float
        It is off by no more than this with probability ``1 - delta``; 0 if exact.
    samples : ndarray of shape (n_used,)
        Silhouettes of the samples that were looked at.
    indices : ndarray of shape (n_used,)
        Which samples these are.
    labels : ndarray of shape (n_used,)
        Their nearest medoids.
    n_distance_evaluations : int
        Distances computed.
    exact : bool
        Whether all samples were looked at.
    """

    mean: float
    radius: float
    samples: np.ndarray
    indices: np.ndarray
    labels: np.ndarray
    n_distance_evaluations: int
    exact: bool

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end, within [0, 1]."""
        return max(self.mean - self.radius, 0.0), min(self.mean + self.radius, RANGE)


@dataclass(frozen=True)
class SilhouettesByK:
    """Mean silhouettes of clusterings with different numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of shape (n_candidates,)
        The numbers of clusters.
    means : ndarray of shape (n_candidates,)
        Estimates of their mean silhouettes.
    radii : ndarray of shape (n_candidates,)
        All are off by no more than this with probability ``1 - delta``; 0 if exact.
    inertias : ndarray of shape (n_candidates,)
        Sums of the distances to the medoids, exact.
    best : int
        The number of clusters with the largest mean silhouette.
    n_samples : ndarray of shape (n_candidates,)
        Samples that each mean was taken over.
    exact : bool
        Whether these are all samples.
    """

    n_clusters: np.ndarray
    means: np.ndarray
    radii: np.ndarray
    inertias: np.ndarray
    best: int
    n_samples: np.ndarray
    exact: bool


@validate_params(
    {
        "medoids": ["array-like"],
        "metric": [StrOptions(set(VALID_METRICS) | {"precomputed"}), callable],
        "metric_params": [dict, None],
        "metric_batched": ["boolean"],
        "sample_weight": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def medoid_silhouette(
    X: Any,
    medoids: ArrayLike,
    *,
    metric: Any = "euclidean",
    metric_params: dict | None = None,
    metric_batched: bool = False,
    sample_weight: ArrayLike | None = None,
    tol: float = 0.0,
    delta: float = 0.01,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> MedoidSilhouette:
    """Compute the mean silhouette of medoids, exactly or to within a tolerance.

    The silhouette of a sample is ``1 - d1 / d2``, with the distances to its nearest and
    second nearest medoid: 1 for a medoid, 0 between two clusters [1]_, and 0 where both
    distances are zero. It takes as many distances as there are medoids.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
        The samples; the matrix of distances if `metric` is "precomputed"; any sequence
        of objects if it is a callable.
    medoids : array-like of int of shape (n_clusters,)
        Which samples are the medoids, as `medoid_indices_`; two at least.
    metric : str or callable, default="euclidean"
        As of :class:`BanditKMedoids`. Distances must not be negative.
    metric_params : dict, default=None
        Further keyword arguments of the metric.
    metric_batched : bool, default=False
        Whether a callable takes collections of objects and returns a matrix.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each sample counts. Weighted means are always exact.
    tol : float, default=0.0
        Samples are drawn until the mean is known to within this. Zero looks at all of
        them.
    delta : float, default=0.01
        Probability that the mean is farther off than `radius`. The bound holds for any
        data (empirical Bernstein).
    n_jobs : int, default=None
        Threads of the kernels, jobs of scikit-learn's metrics. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines which samples are drawn.

    Returns
    -------
    MedoidSilhouette
        The mean with its radius, and the silhouettes that were looked at.

    References
    ----------
    .. [1] L. Lenssen and E. Schubert, "Clustering by direct optimization of the medoid
       silhouette", SISAP (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_bandit.cluster import medoid_silhouette
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> silhouette = medoid_silhouette(X, [1, 4])
    >>> round(silhouette.mean, 3)
    0.933
    >>> silhouette.radius
    0.0
    """
    samples = Samples(metric)
    X = check_samples(samples, X, reset=True)
    params = fix_params(X, metric, metric_params)
    n_samples = n_samples_of(X)
    medoids = _check_medoids(medoids, n_samples)
    weights = _check_weights(sample_weight, n_samples)
    source = Silhouettes(X, [medoids], metric, params, metric_batched, n_jobs)
    order = None
    if tol > 0 and weights is None:
        order = check_random_state(random_state).permutation(n_samples)
    indices = np.arange(n_samples) if order is None else order
    values, labels, n_used, radius = [], [], 0, inf
    while n_used < n_samples and (order is None or radius > tol):
        stop = n_used + CHUNK_SAMPLES if order is None else max(2 * n_used, BATCH)
        found, nearest = source(indices[n_used:stop])
        values.append(found[0])
        labels.append(nearest[0])
        n_used += len(found[0])
        if order is not None:
            radius = mean_radius(np.concatenate(values), delta, n_samples)
    values = np.concatenate(values)
    is_exact = n_used == n_samples
    return MedoidSilhouette(
        mean=float(np.average(values, weights=weights)),
        radius=0.0 if is_exact else float(radius),
        samples=values,
        indices=indices[:n_used],
        labels=np.concatenate(labels),
        n_distance_evaluations=n_used * len(medoids),
        exact=is_exact,
    )


def mean_radius(values, delta, n_total):
    """Return the confidence radius of the mean of silhouettes.

    It holds after each of the doublings of a sample at once, so that it may decide
    when to stop.
    """
    n_rounds = 1 + max(ceil(log2(n_total / BATCH)), 0)
    share = split_delta(delta, 1, 1, n_rounds)
    return bernstein_radius(values.var(), RANGE, len(values), share, n_total)


def choose_n_clusters(source, inertias, sample_weight, delta, random_state):
    """Return the silhouettes of several clusterings, of which the largest is certain.

    Parameters
    ----------
    source : Silhouettes
        Of the clusterings.
    inertias : list of float
        Their losses.
    sample_weight : ndarray or None
        Weights of the samples; with weights everything is computed.
    delta : float
        Probability that another one has the largest mean silhouette.
    random_state : int
        Determines which samples are drawn.

    Returns
    -------
    SilhouettesByK
        Of equal ones the smallest number of clusters is best.
    """
    n_candidates, n_samples = len(source.medoids), source.n_samples
    values = [[] for _ in range(n_candidates)]

    def pull(arms, references):
        found, _ = source(references, arms)
        for arm, silhouettes in zip(arms.tolist(), found, strict=True):
            values[arm].append(silhouettes)
        return found

    if sample_weight is None and n_candidates > 1 and n_samples > CHUNK_SAMPLES:
        best_arm(
            pull,
            n_candidates,
            n_samples,
            maximize=True,
            delta=delta,
            batch_size=BATCH,
            random_state=random_state,
        )
    else:
        for first in range(0, n_samples, CHUNK_SAMPLES):
            references = np.arange(first, min(first + CHUNK_SAMPLES, n_samples))
            pull(np.arange(n_candidates), references)
    values = [np.concatenate(v) for v in values]
    n_used = np.array([len(v) for v in values])
    share = delta / n_candidates
    means = [np.average(v, weights=sample_weight) for v in values]
    radii = [
        0.0 if len(v) == n_samples else mean_radius(v, share, n_samples) for v in values
    ]
    # A clustering that was dropped may look better on its few samples than it is.
    contenders = np.where(n_used == n_used.max(), means, -inf)
    return SilhouettesByK(
        n_clusters=np.array([len(m) for m in source.medoids]),
        means=np.array(means),
        radii=np.array(radii),
        inertias=np.array(inertias),
        best=len(source.medoids[int(np.argmax(contenders))]),
        n_samples=n_used,
        exact=bool((n_used == n_samples).all()),
    )


class Silhouettes:
    """Silhouettes of samples under several sets of medoids, which share distances.

    Parameters
    ----------
    X : array, sparse matrix or sequence
        The samples.
    medoids : list of ndarray
        Sets of indices.
    metric, params, batched, n_jobs
        The distance.
    """

    def __init__(self, X, medoids, metric, params, batched=False, n_jobs=None):
        self.medoids = medoids
        self.n_samples = n_samples_of(X)
        self.n_evaluations = 0
        self._X = X
        self._metric = metric
        self._params = params
        self._batched = batched
        self._n_jobs = n_jobs

    def __call__(self, samples, sets=(0,)):
        """Return silhouettes and nearest medoids, of shape (n_sets, n_samples)."""
        medoids = [self.medoids[i] for i in sets]
        different = np.unique(np.concatenate(medoids))
        to_all = self._distances(samples, different)
        self.n_evaluations += to_all.size
        _check_distances(to_all)
        values = np.empty((len(medoids), len(samples)))
        labels = np.empty((len(medoids), len(samples)), dtype=np.intc)
        for i, chosen in enumerate(medoids):
            to_medoids = to_all[:, np.searchsorted(different, chosen)]
            labels[i] = to_medoids.argmin(axis=1)
            two = np.partition(to_medoids, 1, axis=1)[:, :2].astype(np.float64)
            np.maximum(two, 0.0, out=two)
            # Between two medoids that are equal to it, a sample is in no cluster.
            ratio = np.ones(len(two))
            np.divide(two[:, 0], two[:, 1], out=ratio, where=two[:, 1] > 0)
            values[i] = RANGE - ratio
        return values, labels

    def _distances(self, samples, medoids):
        X, metric, params = self._X, self._metric, self._params
        if isinstance(metric, str) and metric == "precomputed":
            return X[np.ix_(samples, medoids)]
        some, others = take_samples(X, samples), take_samples(X, medoids)
        if callable(metric):
            return call_metric(metric, some, others, params, self._batched)
        found = distances_between(some, others, metric, params, self._n_jobs)
        # Rounding may leave a trace; zeros are far from zeros under the cosine.
        found[samples[:, None] == medoids] = 0.0
        return found


def _check_distances(distances):
    """Refuse what has no silhouettes."""
    if not np.isfinite(distances).all():
        raise ValueError("Silhouettes need finite distances.")
    if distances.min(initial=0.0) < -NEGATIVE_ROUNDING * distances.max(initial=0.0):
        raise ValueError("Silhouettes need distances that are not negative.")


def _check_weights(sample_weight, n_samples):
    """Return the weights as an array; None if there are none."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(
        sample_weight, np.empty(n_samples), dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("All weights are zero.")
    return weights


def _check_medoids(medoids, n_samples):
    medoids = np.asarray(medoids)
    if medoids.ndim != 1 or medoids.dtype.kind not in "iu" or len(medoids) < 2:
        raise ValueError(
            "medoids must be at least two indices of samples, got an array of shape "
            f"{medoids.shape} and type {medoids.dtype}."
        )
    if medoids.min() < 0 or medoids.max() >= n_samples:
        raise ValueError(f"medoids names a sample that is not in 0..{n_samples - 1}.")
    if len(np.unique(medoids)) < len(medoids):
        raise ValueError("medoids names a sample twice.")
    return medoids.astype(np.intp)
