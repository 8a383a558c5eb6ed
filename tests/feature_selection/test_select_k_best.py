"""The best features from as many rows as telling them takes."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.metrics import mutual_info_score

from sklearn_bandit.feature_selection import BanditSelectKBest, _scores


def planted(n_rows, n_features, n_effects, seed, least=0.5):
    """Features of all kinds; the first ones have effects of falling size."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1::4] = np.round(X[:, 1::4])
    X[:, 2::4] = X[:, 2::4] > 1
    X[:, 3::4] = np.maximum(X[:, 3::4], 0)  # one value fills half of the bins
    scale = np.maximum(X.std(axis=0), 0.3)
    effect = X[:, :n_effects] / scale[:n_effects] @ np.linspace(1, least, n_effects)
    return X, effect + rng.standard_normal(n_rows)


def mutual_information(selector, X, y):
    """The score of all rows, by scikit-learn, in the selector's bins."""
    return np.array(
        [
            mutual_info_score(np.searchsorted(edges, values, side="right"), y)
            for edges, values in zip(selector.bin_edges_, X.T, strict=True)
        ]
    )


def classes(target):
    return np.array(["low", "middle", "high"])[np.digitize(target, [-1.0, 0.7])]


def product(X, y):
    """A score per sample: how often the signs agree."""
    return (X > 0) == (y > 0)[:, None]


def test_exact_mutual_information_is_scikit_learns():
    X, target = planted(3000, 12, 4, seed=0)
    y = classes(target)
    selector = BanditSelectKBest(3, delta=0, random_state=0).fit(X, y)
    expected = mutual_information(selector, X, y)
    np.testing.assert_allclose(selector.scores_, expected, rtol=1e-9, atol=1e-12)
    reference = SelectKBest(lambda X, y: expected, k=3).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), reference.get_support())
    np.testing.assert_array_equal(selector.transform(X), reference.transform(X))
    assert selector.n_values_read_ == X.size
    assert selector.n_rows_read_ == len(X)


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_exact_f_is_scikit_learns(scale, shift):
    X, target = planted(3000, 12, 4, seed=0)
    for y, function in ((classes(target), f_classif), (target, f_regression)):
        selector = BanditSelectKBest(3, score_func="f", delta=0, random_state=0)
        selector.fit((X + shift) * scale, y)
        reference = SelectKBest(function, k=3).fit(X, y)
        np.testing.assert_allclose(selector.scores_, reference.scores_, rtol=1e-6)
        np.testing.assert_array_equal(selector.get_support(), reference.get_support())
        assert selector.bin_edges_ is None


@pytest.mark.parametrize("order", ["C", "F"])
def test_f_of_many_classes(monkeypatch, order):
    X, target = planted(3000, 12, 4, seed=0)
    X, y = np.asarray(X, order=order), np.round(9 * target).astype(int)
    for largest in (1, 1000):
        monkeypatch.setattr(_scores, "MAX_INDICATORS", largest)
        selector = BanditSelectKBest(3, score_func="f", delta=0).fit(X, y)
        assert_allclose(selector.scores_, f_classif(X, y)[0], rtol=1e-9)


@pytest.mark.parametrize("is_real", [False, True])
def test_influences_are_what_a_row_changes(is_real):
    """Of the share of the variance that is explained, when the row is left out."""
    X, target = planted(400, 5, 3, seed=0)
    X[:, 4] = 2.0
    every = np.arange(400)
    if is_real:
        score = _scores.SquaredCorrelation((target - target.mean()) / target.std())
    else:
        score = _scores.BetweenClasses(np.digitize(target, [-1.0, 0.7]))
    for rows in (every[:150], every[150:]):
        score.add(X[rows].T, np.arange(5), rows)
    places = np.array([3, 0, 4])
    influences = score.influences(places)
    full = score.estimate().values[places]
    for i in (0, 7, 399):
        rest = np.delete(every, i)
        without = type(score)(score.target)
        without.add(X[rest].T, np.arange(5), rest)
        changes = 399 * (full - without.estimate().values[places])
        assert_allclose(influences[:, i], changes, rtol=0.02, atol=0.02)
    assert_allclose(influences.mean(axis=1), 0.0, atol=1e-12)
    assert (influences[2] == 0.0).all()


def test_exact_means_of_a_callable():
    X, y = planted(3000, 12, 4, seed=0)
    selector = BanditSelectKBest(3, score_func=product, delta=0).fit(X, y)
    expected = product(X, y).mean(axis=0)
    np.testing.assert_allclose(selector.scores_, expected)
    reference = SelectKBest(lambda X, y: expected, k=3).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), reference.get_support())


@pytest.mark.parametrize("score_func", ["mutual_info", "f", product])
def test_few_features_of_many_are_found_on_few_rows(score_func):
    X, y = planted(60_000, 100, 3, seed=0)
    X = X.astype(np.float32)
    kind = y if score_func is product else y > 0
    options = {"k": 3, "score_func": score_func, "random_state": 0}
    few = BanditSelectKBest(**options).fit(X, kind)
    every = BanditSelectKBest(**options, delta=0).fit(X, kind)
    np.testing.assert_array_equal(few.get_support(), every.get_support())
    assert few.n_values_read_ * 5 < X.size
    assert few.n_rows_read_ * 3 < len(X)
    np.testing.assert_allclose(
        few.scores_ / every.scores_.max(), every.scores_ / every.scores_.max(), atol=0.2
    )


@pytest.mark.parametrize("score_func", ["mutual_info", "f"])
@pytest.mark.parametrize("is_real", [False, True])
def test_ties_are_read_once(score_func, is_real):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 15))
    y = rng.standard_normal(20_000) if is_real else rng.integers(0, 3, 20_000)
    options = {"k": 5, "score_func": score_func, "random_state": 0}
    selector = BanditSelectKBest(**options).fit(X, y)
    assert selector.n_values_read_ <= X.size
    every = BanditSelectKBest(**options, delta=0).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), every.get_support())


def test_copies_are_chosen_as_by_scikit_learn():
    X, target = planted(9000, 4, 2, seed=0)
    X = np.repeat(X, 3, axis=1)
    selector = BanditSelectKBest(4, score_func="f", random_state=0).fit(X, target > 0)
    reference = SelectKBest(f_classif, k=4).fit(X, target > 0)
    np.testing.assert_array_equal(selector.get_support(), reference.get_support())


@pytest.mark.parametrize("score_func", ["mutual_info", "f", product])
@pytest.mark.parametrize("is_real", [False, True])
def test_failures_are_counted(score_func, is_real):
    """Close effects, over 60 seeds: at delta = .05, 3 failures are expected at most,
    and 8 have a chance of 1%."""
    n_wrong, n_early = 0, 0
    for seed in range(60):
        X, target = planted(12_000, 16, 6, seed=seed, least=0.3)
        y = target if is_real or score_func is product else classes(target)
        options = {"k": 3, "score_func": score_func, "random_state": seed}
        few = BanditSelectKBest(**options, delta=0.05).fit(X, y)
        every = BanditSelectKBest(**options, delta=0).fit(X, y)
        n_wrong += (few.get_support() != every.get_support()).any()
        n_early += few.n_values_read_ < X.size
    assert n_wrong <= 7
    assert n_early > 50


@pytest.mark.parametrize("n_labels", [2, 8])
def test_independent_features_are_not_told_apart(n_labels):
    """The curvature of mutual information: without it, noise looks decided."""
    n_wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (12_000, 30)).astype(float)
        y = rng.integers(0, n_labels, 12_000)
        options = {"k": 2, "random_state": seed}
        few = BanditSelectKBest(**options, delta=0.05).fit(X, y)
        every = BanditSelectKBest(**options, delta=0).fit(X, y)
        n_wrong += (few.get_support() != every.get_support()).any()
    assert n_wrong <= 3


def test_bias_is_corrected():
    """Estimates of dropped features are right on average; plug-in ones are not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 60))
    y = (X[:, 0] > 0) * 5 + rng.integers(0, 5, 40_000)
    options = {"k": 1, "random_state": 0}
    few = BanditSelectKBest(**options).fit(X, y)
    every = BanditSelectKBest(**options, delta=0).fit(X, y)
    assert few.n_rows_read_ < 5000
    gaps = few.scores_[1:] - every.scores_[1:]
    bias = 15 * 9 / 2 / few.n_rows_read_
    assert abs(gaps.mean()) < bias / 4


def test_rare_values_and_atoms_have_bins():
    rng = np.random.default_rng(0)
    rare = (rng.random(5000) < 0.02).astype(float)
    mixed = np.where(rng.random(5000) < 0.9, 0.0, rng.random(5000))
    X = np.column_stack([rare, mixed, np.zeros(5000), rng.standard_normal(5000)])
    y = (rare > 0) | (mixed > 0)
    selector = BanditSelectKBest(2, n_bins=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
    assert [len(edges) for edges in selector.bin_edges_] == [1, 1, 0, 3]
    assert selector.scores_[2] == 0


@pytest.mark.parametrize("score_func", ["mutual_info", "f"])
def test_constant_features_and_targets(score_func):
    X, target = planted(2000, 6, 3, seed=0)
    X[:, :2] = 7.1
    for y in (target > 0, target, np.zeros(2000), np.full(2000, 0.5)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            selector = BanditSelectKBest(2, score_func=score_func, random_state=0)
            selector.fit(X, y)
        assert (selector.scores_[:2] == 0).all()
        assert np.isfinite(selector.scores_).all()
        assert selector.get_support().sum() == 2


def test_same_seed_same_selection():
    X, target = planted(5000, 12, 4, seed=0)
    first, second = (
        BanditSelectKBest(3, random_state=1).fit(X, target > 0) for _ in range(2)
    )
    np.testing.assert_array_equal(first.scores_, second.scores_)
    other = BanditSelectKBest(3, random_state=2).fit(X, target > 0)
    assert not np.array_equal(first.scores_, other.scores_)


def test_all_features():
    X, target = planted(5000, 6, 4, seed=0)
    selector = BanditSelectKBest("all", random_state=0).fit(X, target)
    assert selector.get_support().all()
    assert selector.n_rows_read_ < 5000
    every = BanditSelectKBest("all", delta=0, random_state=0).fit(X, target)
    assert every.n_rows_read_ == 5000
    np.testing.assert_allclose(selector.scores_, every.scores_, atol=0.1)
    with pytest.warns(UserWarning, match="greater than n_features=6"):
        assert BanditSelectKBest(7).fit(X, target).get_support().all()


def test_memory_is_bounded(monkeypatch):
    """Where influences would not fit, the survivors are scored on all rows."""
    X, target = planted(20_000, 12, 6, seed=0)
    module = "sklearn_bandit.feature_selection._search"
    monkeypatch.setattr(f"{module}.MAX_INFLUENCES", 2000)
    monkeypatch.setattr(f"{module}.MAX_VALUES", 5000)
    for score_func in ("mutual_info", "f", product):
        options = {"score_func": score_func, "random_state": 0}
        y = target if score_func is product else target > 0
        selector = BanditSelectKBest(4, **options).fit(X, y)
        every = BanditSelectKBest(4, delta=0, **options).fit(X, y)
        np.testing.assert_array_equal(selector.get_support(), every.get_support())
        assert selector.n_rounds_ == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "'k' parameter"),
        ({"k": "some"}, "'k' parameter"),
        ({"delta": 1.0}, "'delta' parameter"),
        ({"n_bins": 1}, "'n_bins' parameter"),
        ({"n_bins": 256}, "'n_bins' parameter"),
        ({"score_func": "gini"}, "'score_func' parameter"),
        ({"score_func": lambda X, y: X.mean(axis=0)}, "shape of X"),
        ({"score_func": lambda X, y: X * np.nan}, "NaN"),
    ],
)
def test_bad_parameters(options, message):
    X, target = planted(200, 4, 2, seed=0)
    selector = BanditSelectKBest(**{"k": 2} | options)
    with pytest.raises(ValueError, match=message):
        selector.fit(X, target > 0)
    assert not hasattr(selector, "n_features_in_")


def test_bad_data():
    X, target = planted(200, 4, 2, seed=0)
    selector = BanditSelectKBest(2)
    with pytest.raises(ValueError, match="requires y"):
        selector.fit(X, None)
    with pytest.raises(ValueError, match="inconsistent"):
        selector.fit(X, target[:-1])
    with pytest.raises(ValueError, match="1d array"):
        selector.fit(X, np.column_stack([target, target]))
    with pytest.raises(ValueError, match="NaN"):
        selector.fit(X, np.where(target > 1, np.nan, target))


@pytest.mark.parametrize("score_func", ["f", "mutual_info"])
def test_integers_are_classes_unless_said_otherwise(score_func):
    X, target = planted(3000, 6, 3, seed=0)
    counts = np.round(20 * target).astype(int)
    common = {"k": 2, "score_func": score_func, "delta": 0, "random_state": 0}
    real, same, auto, labels = (
        BanditSelectKBest(target_type=kind, **common).fit(X, y).scores_
        for kind, y in [
            ("continuous", counts),
            ("auto", counts + 0.5),
            ("auto", counts),
            ("classes", counts + 0.5),
        ]
    )
    assert_allclose(real, same, rtol=1e-9)
    assert_allclose(auto, labels, rtol=1e-9)
    assert not np.allclose(real, labels, rtol=0.1)
    if score_func == "f":
        assert_allclose(real, f_regression(X, counts)[0], rtol=1e-6)
    with pytest.raises(ValueError, match="could not convert string"):
        BanditSelectKBest(target_type="continuous", **common).fit(X, classes(target))


def test_functions_of_scikit_learn_are_named():
    X, target = planted(200, 4, 2, seed=0)
    with pytest.raises(ValueError, match='score_func="f" or "mutual_info"'):
        BanditSelectKBest(2, score_func=f_regression).fit(X, target)


@pytest.mark.parametrize("score_func", ["f", "mutual_info"])
@pytest.mark.parametrize("scale", [1e307, 1e-300])
def test_targets_of_any_size(score_func, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = X[:, 1] + 0.5 * X[:, 2] + rng.standard_normal(2000)
    common = {"k": 2, "score_func": score_func, "random_state": 0}
    expected = BanditSelectKBest(**common).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of scikit-learn's own check
        found = BanditSelectKBest(**common).fit(X, y * scale)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6)
    assert found.get_support(indices=True).tolist() == [1, 2]
