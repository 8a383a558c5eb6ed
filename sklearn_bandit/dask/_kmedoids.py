"""k-medoids of dask collections.

Medoids of a random sample are found on the client, as the local class finds them. Then
all rows are arms of swaps, for any medoid (``_kmedoids_rounds``).
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit import cluster
from sklearn_bandit._compat import MAX_INT, Interval, _fit_context
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit._core.validation import check_n_samples
from sklearn_bandit.ensemble import draw_share

from ._base import DaskEstimator
from ._boosting_blocks import check_weights
from ._client import Tasks
from ._collections import Block, make_partitions
from ._kmedoids_rounds import Rounds
from ._placement import PlacedBlocks
from ._sums import add_sums, exact_sum

# Samples that medoids are found from on the client, and what they are distances to.
MAX_ROWS = 1 << 16


class BanditKMedoids(
    DaskEstimator, cluster.BanditKMedoids, local_class=cluster.BanditKMedoids
):
    """k-medoids clustering of dask collections.

    :class:`sklearn_bandit.cluster.BanditKMedoids` whose samples are on the workers of a
    cluster. Up to `max_rows` samples it is that class. Of more, a random sample comes
    to the client, which finds the medoids of the sample; then swaps of any medoid and
    any sample are looked for, where the samples are. Losses are those of all samples.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    max_rows : int, default=65536
        Samples that come to the client. Swaps are compared on them: more tell smaller
        differences apart.
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. `metric` may not be "precomputed", and `init` not be
        given samples. `max_iter` is also the most rounds of swaps with all samples, and
        `tol` the share of the loss that a round must gain. All samples are compared
        on `batch_size` of those on the client first.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        Nearest medoid of each sample, computed when it is asked for.
    n_rounds_ : int
        Rounds of swaps with all samples.
    **attributes : object
        As for the local class; `algorithm_`, `n_iter_`, `n_swaps_` and
        `n_distance_evaluations_` are those of the sample.

    See Also
    --------
    sklearn_bandit.cluster.BanditKMedoids : The same in memory.

    Notes
    -----
    The result is a local optimum with respect to swaps of any medoid and any sample, as
    far as estimates on the samples of the client go, and the losses of the few swaps
    that are best by these. A cluster that has no sample on the client is not seen.
    Samples are drawn by their numbers, and losses summed without rounding: partitions
    make no difference, but for near ties of distances that are rounded.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import BanditKMedoids
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(2000, 2), chunks=(500, 2))
    >>> X = da.concatenate([X, X + 10])
    >>> model = BanditKMedoids(2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_[:, 0].round().tolist())
    [0.0, 10.0]
    >>> client.close()
    """

    _more_parameters: ClassVar[dict[str, Any]] = {"max_rows": MAX_ROWS}
    _more_constraints: ClassVar[dict[str, Any]] = {
        "max_rows": [Interval(Integral, 2, None, closed="left")]
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Choose the medoids.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The samples. Persist them: they are read three times in each round, and if
            they are in memory, where they are.
        y : None
            Ignored; for consistency.
        sample_weight : dask array or series of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise ValueError("metric='precomputed' is not supported on a cluster.")
        if not isinstance(self.init, str):
            raise ValueError("Given samples as init are not supported on a cluster.")
        with unchanged_on_failure(self), Tasks(self._resolve_client()) as tasks:
            partitions = make_partitions(tasks, X, None, sample_weight)
            check_n_samples(partitions.n_samples)
            blocks = PlacedBlocks(tasks, partitions)
            weight = add_sums(list(tasks.gather(blocks.compute(_check))))
            if not weight > 0:
                raise ValueError("All sample weights are zero.")
            numbers = self._sample(partitions.n_samples)
            rows, weights = self._bring(blocks, numbers)
            local = self._make_local()
            names = local.get_params()
            local.fit(rows, sample_weight=weights)
            search = Rounds(blocks, local, rows, weights, numbers)
            n_rounds = 0
            if len(numbers) < partitions.n_samples:
                n_rounds = search.run(self.max_iter, self.tol)
            for name, value in vars(local).items():
                if name not in names:
                    setattr(self, name, value)
            self.cluster_centers_ = search.medoids
            self.medoid_indices_ = search.numbers
            if search.loss is not None:
                self.inertia_ = float(search.loss)
            self.n_rounds_ = n_rounds
            self._set_feature_names(partitions)
            self.labels_ = self.predict(X)
        return self

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Return the negative sum of the distances to the nearest medoid.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            New samples.
        y : None
            Ignored; for consistency.
        sample_weight : array-like or dask array of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        float
            The score.
        """
        nearest = self.transform(X).min(axis=1)
        if sample_weight is not None:
            nearest = nearest * sample_weight
        (loss,) = self._compute(nearest.sum())
        return -float(loss)

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of the local class.

        Returns
        -------
        sklearn_bandit.cluster.BanditKMedoids
            With the same parameters and fitted attributes; labels are computed.
        """
        local = super().to_local()
        if hasattr(local, "labels_"):
            (local.labels_,) = self._compute(local.labels_)
        return local

    def _row_model(self):
        # Labels are of no use to a worker, and would have to be computed.
        model = super().to_local()
        vars(model).pop("labels_", None)
        return model

    def __getstate__(self) -> dict[str, Any]:
        # Labels would bring all samples along.
        state = super().__getstate__()
        state.pop("labels_", None)
        return state

    def _sample(self, n_samples):
        """Numbers of the samples that come to the client, ascending."""
        if n_samples <= self.max_rows:
            return np.arange(n_samples)
        seed = int(check_random_state(self.random_state).randint(MAX_INT))
        n = self.max_rows
        return draw_share(n_samples, n, seed, n, 0, n_samples)[0].astype(np.int64)

    @staticmethod
    def _bring(blocks, numbers):
        """Samples and weights of some numbers."""
        located = dict(blocks.partitions.locate(numbers))
        none = np.empty(0, dtype=np.int64)
        here = [located.get(i, none) for i in range(len(blocks.partitions))]
        futures = blocks.compute(_take, each=here)
        rows, weights = zip(*blocks.tasks.gather(futures), strict=True)
        weights = None if weights[0] is None else np.concatenate(weights)
        return np.concatenate(rows), weights


def _take(block: Block, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """On a worker: samples and weights of some rows."""
    weights = block.sample_weight
    return block.X[rows], None if weights is None else weights[rows]


def _check(block: Block) -> Fraction | float:
    """On a worker: check weights; return their sum."""
    if block.sample_weight is None:
        return Fraction(len(block.X))
    weights = check_weights(block.sample_weight)
    if weights.min() < 0.0:
        raise ValueError("Negative values in data passed to `sample_weight`")
    return exact_sum(weights)
