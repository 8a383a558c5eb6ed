"""k-medoids of dask collections.

Medoids of a random sample are found on the client, as the local class finds them. Then
each cluster looks for a better medoid among all its members: every member of a
partition is an arm, and samples of the cluster are its references. Most arms are
dropped where they are, on few references; of those that are left the client drops most
on all the references that it has; the loss with each of the last few is computed from
all samples, by blocks.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from dask.delayed import delayed
from sklearn.utils import check_random_state

from sklearn_bandit import cluster
from sklearn_bandit._compat import Interval, _fit_context
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit.ensemble import draw_share

from ._base import DaskEstimator
from ._boosting_blocks import check_weights
from ._client import Tasks
from ._collections import Block, make_partitions
from ._sums import add_sums, exact_sum

MAX_SEED = np.iinfo(np.int32).max

# Samples that medoids are found from on the client, and what they are distances to.
MAX_ROWS = 1 << 16

# References of a cluster on the workers: first for all members, then for a share.
REFERENCES = (64, 512)
SHARE = 0.05

# Members of a cluster that a partition proposes, and those whose loss is computed.
N_PROPOSED = 16
N_EXACT = 4

# Distances that a worker holds at a time.
MAX_DISTANCES = 1 << 22


class Proposal(NamedTuple):
    """What a partition says of the present medoids, and what it proposes instead.

    Parameters
    ----------
    loss : Fraction or float
        Sum of weighted distances to the nearest medoid.
    rows : list of ndarray
        Numbers of the proposed members of each cluster.
    members : list of ndarray of shape (n_proposed, n_features)
        Their values.
    """

    loss: Fraction | float
    rows: list[np.ndarray]
    members: list[np.ndarray]


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


class Distances:
    """Distances from samples to given ones, by the local model.

    Parameters
    ----------
    model : BanditKMedoids
        Fitted.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def to(self, X: np.ndarray, medoids: np.ndarray) -> np.ndarray:
        """Distances from rows of X to medoids."""
        self.model.cluster_centers_ = medoids
        return self.model.transform(X)

    def by_parts(self, X, medoids):
        """Yield slices of X with their distances, as many as memory is meant for."""
        n = max(1, MAX_DISTANCES // max(1, len(medoids)))
        for start in range(0, len(X), n):
            rows = slice(start, min(start + n, len(X)))
            yield rows, self.to(X[rows], medoids)

    def sums(self, X, weights, candidates):
        """Weighted sums of the distances from all rows of X to each candidate."""
        total = np.zeros(len(candidates))
        for rows, found in self.by_parts(X, candidates):
            total += found.sum(axis=0) if weights is None else weights[rows] @ found
        return total


def _best(distances, candidates, references, n):
    """Positions of the candidates with the least sums, best first."""
    sums = distances.sums(*references, candidates)
    return np.argsort(sums, kind="stable")[:n]


def _propose(
    block: Block, model: Any, medoids: np.ndarray, references: list, first: int
) -> Proposal:
    """On a worker: labels, loss, and members that may be better medoids."""
    distances = Distances(model)
    weights = block.sample_weight
    losses, labels = np.empty(len(block.X)), np.empty(len(block.X), dtype=np.intp)
    for rows, found in distances.by_parts(block.X, medoids):
        labels[rows] = found.argmin(axis=1)
        losses[rows] = found.min(axis=1)
    if weights is not None:
        losses *= weights
    proposed = []
    for k, (X, sample_weight) in enumerate(references):
        members = np.flatnonzero(labels == k)
        if weights is not None:
            members = members[weights[members] > 0.0]
        for n in REFERENCES:
            some = X[:n], None if sample_weight is None else sample_weight[:n]
            n_kept = max(N_PROPOSED, int(SHARE * len(members)))
            if n == REFERENCES[-1]:
                n_kept = N_PROPOSED
            if len(members) > n_kept and len(X):
                members = members[_best(distances, block.X[members], some, n_kept)]
        proposed.append(np.sort(members[:N_PROPOSED]))
    return Proposal(
        exact_sum(losses),
        [first + rows for rows in proposed],
        [block.X[rows] for rows in proposed],
    )


def _losses(
    block: Block, model: Any, medoids: np.ndarray, candidates: list
) -> list[list[Fraction | float]]:
    """On a worker: loss with each candidate in the place of its cluster's medoid."""
    distances = Distances(model)
    sums: list = [[Fraction(0)] * len(some) for some in candidates]
    every = np.concatenate([medoids, *candidates])
    n = len(medoids)
    for rows, found in distances.by_parts(block.X, every):
        weights = None if block.sample_weight is None else block.sample_weight[rows]
        start = n
        for k, some in enumerate(candidates):
            others = np.delete(found[:, :n], k, axis=1).min(axis=1, initial=np.inf)
            for j in range(len(some)):
                nearest = np.minimum(others, found[:, start + j])
                if weights is not None:
                    nearest = nearest * weights
                sums[k][j] = add_sums([sums[k][j], exact_sum(nearest)])
            start += len(some)
    return sums


class BanditKMedoids(
    DaskEstimator, cluster.BanditKMedoids, local_class=cluster.BanditKMedoids
):
    """k-medoids clustering of dask collections.

    :class:`sklearn_bandit.cluster.BanditKMedoids` whose samples are on the workers of a
    cluster. Up to `max_rows` samples it is that class. Of more, a random sample comes
    to the client, which finds the medoids of the sample; then every cluster looks for a
    better medoid among all its members, which are compared where they are. Losses are
    those of all samples.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    max_rows : int, default=65536
        Samples that come to the client. More give better first medoids.
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. `metric` may not be "precomputed", and `init` not be
        given samples. `max_iter` is also the most rounds in which clusters look for
        better medoids, `tol` the share of the loss that a round must gain.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        Nearest medoid of each sample, computed when it is asked for.
    n_rounds_ : int
        Rounds in which clusters looked for better medoids.
    **attributes : object
        As for the local class; `n_iter_`, `n_swaps_` and `n_distance_evaluations_` are
        those of the sample.

    See Also
    --------
    sklearn_bandit.cluster.BanditKMedoids : The same in memory.

    Notes
    -----
    The result is a local optimum with respect to swaps of a medoid and a member of its
    own cluster, as far as the estimates go; other swaps are looked for in the sample.
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
            The samples. Persist them: they are looked at twice in each round.
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
            weight = add_sums(list(tasks.gather(tasks.compute(partitions.map(_check)))))
            if not weight > 0:
                raise ValueError("All sample weights are zero.")
            numbers = self._sample(partitions.n_samples)
            rows, weights = self._bring(tasks, partitions, numbers)
            names = self._local_class().get_params()
            local = self._local_class(**{name: getattr(self, name) for name in names})
            local.fit(rows, sample_weight=weights)
            search = _Rounds(tasks, partitions, local, rows, weights, numbers)
            n_rounds = 0
            if len(numbers) < partitions.n_samples:
                n_rounds = search.run(self.max_iter, self.tol)
            inertia = search.loss if n_rounds else local.inertia_
            for name, value in vars(local).items():
                if name not in names:
                    setattr(self, name, value)
            self.cluster_centers_ = search.medoids
            self.medoid_indices_ = search.numbers
            self.inertia_ = float(inertia)
            self.n_rounds_ = n_rounds
            if partitions.feature_names is not None:
                self.feature_names_in_ = partitions.feature_names
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
        return -float(nearest.sum())

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of the local class.

        Returns
        -------
        sklearn_bandit.cluster.BanditKMedoids
            With the same parameters and fitted attributes; labels are computed.
        """
        local = super().to_local()
        if hasattr(local.__dict__.get("labels_"), "compute"):
            local.labels_ = local.labels_.compute()
        return local

    def __getstate__(self) -> dict[str, Any]:
        # Labels would bring all samples along.
        state = super().__getstate__()
        state.pop("labels_", None)
        return state

    def _sample(self, n_samples):
        """Numbers of the samples that come to the client, ascending."""
        if n_samples <= self.max_rows:
            return np.arange(n_samples)
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        n = self.max_rows
        return draw_share(n_samples, n, seed, n, 0, n_samples)[0].astype(np.int64)

    @staticmethod
    def _bring(tasks, partitions, numbers):
        """Samples and weights of some numbers."""
        call = delayed(_take, pure=False, traverse=False)
        futures = tasks.compute(
            [call(partitions.blocks[i], rows) for i, rows in partitions.locate(numbers)]
        )
        rows, weights = zip(*tasks.gather(futures), strict=True)
        weights = None if weights[0] is None else np.concatenate(weights)
        return np.concatenate(rows), weights


class _Rounds:
    """Rounds in which clusters look for better medoids among all their members."""

    def __init__(self, tasks, partitions, local, rows, weights, numbers):
        self.tasks = tasks
        self.partitions = partitions
        self.rows, self.weights = rows, weights
        self.medoids = np.asarray(local.cluster_centers_)
        self.numbers = numbers[local.medoid_indices_]
        self.distances = Distances(_for_distances(local))
        self.loss: Fraction | float | None = None

    def run(self, max_rounds, tol):
        """Go on until nothing is gained; return the number of rounds."""
        for i in range(max_rounds):
            references = self._references()
            proposals = self._by_blocks(_propose, self.medoids, references, by_row=True)
            self.loss = add_sums([one.loss for one in proposals])
            candidates, numbers = self._candidates(proposals, references)
            if not self._swap(candidates, numbers, tol):
                return i + 1
        self.loss = add_sums(
            [
                one.loss
                for one in self._by_blocks(_propose, self.medoids, [], by_row=True)
            ]
        )
        return max_rounds

    def _by_blocks(self, function, *args, by_row=False):
        """Results of a function of each block."""
        call = delayed(function, pure=False, traverse=False)
        shared = [
            delayed(one, pure=False, traverse=False)
            for one in (self.distances.model, *args)
        ]
        firsts = self.partitions.starts.tolist()
        futures = self.tasks.compute(
            [
                call(block, *shared, *([first] if by_row else []))
                for block, first in zip(self.partitions.blocks, firsts, strict=True)
            ]
        )
        return list(self.tasks.gather(futures))

    def _references(self):
        """Samples of each cluster on the client, and their weights, in random order."""
        labels = np.empty(len(self.rows), dtype=np.intp)
        for rows, found in self.distances.by_parts(self.rows, self.medoids):
            labels[rows] = found.argmin(axis=1)
        order = np.random.RandomState(0).permutation(len(labels))
        parts = [order[labels[order] == k] for k in range(len(self.medoids))]
        self.parts = parts
        n = REFERENCES[-1]
        return [self._some(part[:n]) for part in parts]

    def _some(self, part):
        weights = self.weights
        return self.rows[part], None if weights is None else weights[part]

    def _candidates(self, proposals, references):
        """The best of what all partitions propose, by all samples on the client."""
        candidates, numbers = [], []
        for k in range(len(self.medoids)):
            rows = np.concatenate([one.rows[k] for one in proposals])
            members = np.concatenate([one.members[k] for one in proposals])
            if len(rows) and len(self.parts[k]):
                best = _best(self.distances, members, references[k], 4 * N_PROPOSED)
                rows, members = rows[best], members[best]
                whole = self._some(self.parts[k])
                best = _best(self.distances, members, whole, N_EXACT)
                rows, members = rows[best], members[best]
            known = rows == self.numbers[k]
            candidates.append(members[~known][:N_EXACT])
            numbers.append(rows[~known][:N_EXACT])
        return candidates, numbers

    def _swap(self, candidates, numbers, tol):
        """Put better medoids in; return whether there were any."""
        found = self._by_blocks(_losses, self.medoids, candidates)
        best: list[tuple] = []
        for k, some in enumerate(numbers):
            sums = [add_sums([one[k][j] for one in found]) for j in range(len(some))]
            if sums and min(sums) < self.loss:
                j = sums.index(min(sums))
                best.append((sums[j], k, j))
        best.sort(key=lambda one: one[:2])
        if not best or not best[0][0] < (1 - tol) * self.loss:
            return False
        # All together gain most, unless they are in each other's way.
        for chosen in (best, best[:1]):
            medoids, rows = self.medoids.copy(), self.numbers.copy()
            for _, k, j in chosen:
                medoids[k], rows[k] = candidates[k][j], numbers[k][j]
            if len(chosen) > 1:
                losses = self._by_blocks(_propose, medoids, [], by_row=True)
                if not add_sums([one.loss for one in losses]) <= best[0][0]:
                    continue
            self.medoids, self.numbers = medoids, rows
            return True
        return False


def _for_distances(local):
    """Return a copy of a fitted model that has all that distances need."""
    model = copy(local)
    del model.labels_
    model.n_jobs = 1
    return model
