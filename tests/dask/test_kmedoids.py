"""k-medoids on a cluster: the local medoids of few samples, as good ones of many."""

import pickle

import dask.array as da
import numpy as np
import pytest
from dask_data import bytes_received
from distributed import wait
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances_argmin

from sklearn_bandit import cluster
from sklearn_bandit import dask as sd
from sklearn_bandit.dask._kmedoids_rounds import Rounds, references_of
from sklearn_bandit.dask._placement import share_out

N, N_FEATURES, N_CLUSTERS = 12_000, 6, 5
RNG = np.random.default_rng(0)
CENTRES = 3 * RNG.standard_normal((N_CLUSTERS, N_FEATURES))
X = CENTRES[RNG.integers(N_CLUSTERS, size=N)] + RNG.standard_normal((N, N_FEATURES))
WEIGHTS = RNG.random(N)


def cut(chunks, array=X):
    return da.from_array(array, chunks=(chunks, *array.shape[1:]))


def loss_of(model, weights=None):
    nearest = model.transform(X).min(axis=1)
    return nearest.sum() if weights is None else nearest @ weights


def test_few_samples_are_local(client):
    some = X[:2000]
    model = sd.BanditKMedoids(N_CLUSTERS, random_state=0).fit(cut(300, some))
    local = cluster.BanditKMedoids(N_CLUSTERS, random_state=0).fit(some)
    assert_array_equal(model.medoid_indices_, local.medoid_indices_)
    assert model.inertia_ == local.inertia_
    assert model.n_rounds_ == 0
    assert model.algorithm_ == local.algorithm_ == "pam"
    assert_array_equal(model.labels_.compute(), local.labels_)
    assert_array_equal(model.to_local().labels_, local.labels_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(some), local.labels_)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_samples(client, weighted):
    """Within .1% of the local loss, and the same for any partitions."""
    weights = WEIGHTS if weighted else None
    local = cluster.BanditKMedoids(N_CLUSTERS, random_state=0)
    local.fit(X, sample_weight=weights)
    models = [
        sd.BanditKMedoids(N_CLUSTERS, max_rows=1500, random_state=0).fit(
            cut(chunks), sample_weight=cut(5000, WEIGHTS) if weighted else None
        )
        for chunks in (5000, (1, 0, 4999, 7000), 1700)
    ]
    for model in models:
        assert model.n_rounds_ >= 1
        assert model.inertia_ <= 1.001 * local.inertia_
        assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
        assert_allclose(model.inertia_, loss_of(model, weights), rtol=1e-9)
    for model in models[1:]:
        assert_array_equal(models[0].medoid_indices_, model.medoid_indices_)
    assert models[0].inertia_ == pytest.approx(models[1].inertia_, rel=1e-12)
    if not weighted:
        assert models[0].score(X) == pytest.approx(-models[0].inertia_)
        assert models[0].score(cut(3000)) == pytest.approx(-models[0].inertia_)


def test_swaps_go_across_clusters(client, monkeypatch):
    """As good as local where medoids have to leave the clusters that a sample has.

    With swaps within clusters alone the loss is .5% above that of the local class.
    """
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((15, 20))
    rows = centres[rng.integers(15, size=20_000)] + rng.standard_normal((20_000, 20))
    firsts, run = [], Rounds.run

    def noted(self, *args):
        firsts.append(self.medoids)
        return run(self, *args)

    monkeypatch.setattr(Rounds, "run", noted)
    ratios, n_left = [], 0
    for seed in range(2):
        local = cluster.BanditKMedoids(N_CLUSTERS, random_state=seed).fit(rows)
        model = sd.BanditKMedoids(N_CLUSTERS, max_rows=1000, random_state=seed)
        ratios.append(model.fit(cut(4000, rows)).inertia_ / local.inertia_)
        left = np.unique(pairwise_distances_argmin(model.cluster_centers_, firsts[-1]))
        n_left += N_CLUSTERS - len(left)
    assert np.mean(ratios) <= 1.001
    # Two medoids end in one cluster of a sample, and another cluster has none.
    assert n_left > 0


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_metrics(client, metric):
    """Any partitions give the same model, one of the local quality."""
    local = cluster.BanditKMedoids(N_CLUSTERS, metric=metric, random_state=0).fit(X)
    models = [
        sd.BanditKMedoids(N_CLUSTERS, metric=metric, max_rows=1500, random_state=0).fit(
            cut(chunks)
        )
        for chunks in (5000, 3100)
    ]
    assert_array_equal(models[0].medoid_indices_, models[1].medoid_indices_)
    assert models[0].inertia_ == pytest.approx(models[1].inertia_, rel=1e-12)
    assert models[0].inertia_ <= 1.001 * local.inertia_


def test_no_swaps(client):
    """The loss is still that of all samples."""
    model = sd.BanditKMedoids(N_CLUSTERS, max_rows=500, max_iter=0, random_state=0)
    with pytest.warns(Warning, match="max_iter"):
        model.fit(cut(4000))
    assert_allclose(model.inertia_, loss_of(model), rtol=1e-9)


def test_prediction_computes_no_other_labels(client, monkeypatch):
    model = sd.BanditKMedoids(N_CLUSTERS, max_rows=500, random_state=0).fit(cut(3000))
    predict, lengths = cluster.BanditKMedoids.predict, []

    def noted(self, X):
        lengths.append(len(X))
        return predict(self, X)

    monkeypatch.setattr(cluster.BanditKMedoids, "predict", noted)
    labels = model.predict(cut(6000)).compute()
    assert sorted(lengths) == [1, 6000, 6000]
    assert_array_equal(labels, model.to_local().labels_)


def test_another_fit_forgets_names(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    names = list("abcdef")
    frame = dd.from_pandas(pd.DataFrame(X[:900], columns=names), npartitions=2)
    model = sd.BanditKMedoids(2, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == names
    assert not hasattr(model.fit(cut(900, X[:900])), "feature_names_in_")


def test_one_cluster(client):
    """The medoid of all rows is the best of the last few, to the last digit."""
    model = sd.BanditKMedoids(1, max_rows=1500, random_state=0).fit(cut(5000))
    local = cluster.BanditKMedoids(1, random_state=0).fit(X)
    assert model.inertia_ <= 1.001 * local.inertia_


def test_samples_without_weight_are_no_medoids(client):
    """The samples that were medoids, for example."""
    weights = np.ones(N)
    for _ in range(2):
        model = sd.BanditKMedoids(N_CLUSTERS, max_rows=1500, random_state=0)
        model.fit(cut(4000), sample_weight=cut(4000, weights))
        assert (weights[model.medoid_indices_] == 1.0).all()
        weights[model.medoid_indices_] = 0.0


def test_blocks_in_memory_move_once(process_client):
    """Half of them, if one worker has all; the model is the same."""
    expected = sd.BanditKMedoids(N_CLUSTERS, max_rows=1500, random_state=0).fit(cut(N))
    worker = min(process_client.nthreads())
    blocks = process_client.persist(cut(1000), workers=[worker])
    wait(blocks)
    received = bytes_received(process_client)
    model = sd.BanditKMedoids(N_CLUSTERS, max_rows=1500, random_state=0).fit(blocks)
    assert model.n_rounds_ > 1
    assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    # References go to each worker once.
    shared = (
        (N_FEATURES + 1) * X.itemsize * min(references_of(model)[1], model.max_rows)
    )
    moved = bytes_received(process_client) - received
    assert X.nbytes / 2 <= moved <= X.nbytes / 2 + 2 * shared


@pytest.mark.parametrize(
    ("n_rows", "homes", "threads", "expected"),
    [
        ([5, 5, 5, 5], "aabb", {"a": 1, "b": 1}, {"a": [0, 1], "b": [2, 3]}),
        ([5, 5, 5, 5], "aaaa", {"a": 1, "b": 1}, {"a": [2, 3], "b": [0, 1]}),
        ([5, 5, 5, 5], "aaaa", {"a": 3, "b": 1}, {"a": [1, 2, 3], "b": [0]}),
        ([9, 1, 1], "aaa", {"a": 1, "b": 1}, {"a": [0], "b": [1, 2]}),
        ([9], "a", {"a": 1, "b": 1, "c": 2}, {"a": [0], "b": [], "c": []}),
    ],
)
def test_blocks_are_shared_out(n_rows, homes, threads, expected):
    assert share_out(np.array(n_rows), list(homes), threads) == expected


def test_a_round_at_most(client):
    model = sd.BanditKMedoids(N_CLUSTERS, max_rows=500, max_iter=1, random_state=0)
    with pytest.warns(Warning, match="max_iter"):
        model.fit(cut(4000))
    assert model.n_rounds_ == 1
    assert_allclose(model.inertia_, loss_of(model), rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "weights", "match"),
    [
        ({"metric": "precomputed"}, None, "precomputed"),
        ({"init": [0, 1]}, None, "init"),
        ({}, np.zeros(N), "weights are zero"),
        ({}, -WEIGHTS, "Negative values"),
        ({"max_rows": 1}, None, "max_rows"),
    ],
)
def test_what_cannot_be_clustered(client, parameters, weights, match):
    model = sd.BanditKMedoids(2, **parameters)
    with pytest.raises(ValueError, match=match):
        model.fit(
            cut(4000), sample_weight=None if weights is None else cut(4000, weights)
        )
    assert not hasattr(model, "inertia_")
