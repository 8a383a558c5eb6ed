"""Permutation importance from as many predictions as it takes."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_bandit.bandit import student_quantile
from sklearn_bandit.inspection import bandit_permutation_importance
from sklearn_bandit.inspection._permutation_losses import Losses

N_FEATURES = 12


@pytest.fixture(scope="module")
def regression():
    X, y = make_regression(
        900, N_FEATURES, n_informative=4, noise=5, shuffle=False, random_state=0
    )
    return Ridge().fit(X[:100], y[:100]), X, y


@pytest.fixture(scope="module")
def classification():
    X, y = make_classification(
        900,
        N_FEATURES,
        n_informative=5,
        n_classes=3,
        weights=[0.6, 0.3],
        random_state=0,
    )
    y = np.array(["a", "b", "c"])[y]
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y


def planted(n_rows, n_features, n_effects, seed, spread=0.5):
    """A linear model, and rows: the first features have effects of falling size."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    coef = 0.02 * rng.standard_normal(n_features)
    coef[:n_effects] = np.linspace(1, 1 - spread, n_effects)
    model = Ridge().fit(X[:50], X[:50] @ coef)
    model.coef_, model.intercept_ = coef, 0.0
    return model, X, X @ coef + rng.standard_normal(n_rows)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "neg_mean_absolute_error"},
        {"scoring": "neg_mean_squared_error", "weighted": True},
        {"scoring": "r2", "weighted": True},
        {"max_samples": 0.4},
        {"max_samples": 200, "weighted": True},
    ],
)
def test_exact_mode_is_scikit_learns_for_regression(regression, options):
    assert_exact(*regression, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "scoring", [None, "accuracy", "balanced_accuracy", "neg_log_loss"]
)
def test_exact_mode_is_scikit_learns_for_classes(classification, scoring, weighted):
    assert_exact(*classification, scoring=scoring, weighted=weighted)


@pytest.mark.parametrize("scoring", ["neg_brier_score", "neg_log_loss"])
def test_exact_mode_for_probabilities_of_two_classes(classification, scoring):
    _, X, y = classification
    X, y = X[y != "c"], y[y != "c"] == "b"
    assert_exact(GaussianNB().fit(X, y), X, y, scoring=scoring)


def assert_exact(model, X, y, weighted=False, **options):
    if weighted:
        options["sample_weight"] = np.random.RandomState(1).rand(len(X)) + 0.1
    options |= {"n_repeats": 3, "random_state": 7}
    full = permutation_importance(model, X, y, **options)
    exact = bandit_permutation_importance(model, X, y, k=4, delta=0, **options)
    mean = full.importances_mean
    np.testing.assert_allclose(exact.importances_mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(exact.selected, np.argsort(-mean)[:4])
    np.testing.assert_array_equal(exact.importances_low, exact.importances_high)
    by_tol = bandit_permutation_importance(model, X, y, tol=1, delta=0, **options)
    np.testing.assert_allclose(by_tol.importances_mean, mean, rtol=1e-9, atol=1e-12)


def test_without_k_and_tol_it_is_scikit_learns(classification):
    model, X, y = classification
    for scoring in (None, "roc_auc_ovr"):  # any score
        options = {"scoring": scoring, "n_repeats": 2, "random_state": 0}
        full = permutation_importance(model, X, y, **options)
        ours = bandit_permutation_importance(model, X, y, **options)
        np.testing.assert_array_equal(ours.importances, full.importances)
        np.testing.assert_array_equal(ours.importances_std, full.importances_std)
        assert ours.n_predictions == len(X) * (1 + 2 * N_FEATURES)
        assert ours.selected is None
    every = bandit_permutation_importance(model, X, y, k=N_FEATURES, random_state=0)
    assert sorted(every.selected) == list(range(N_FEATURES))


def test_several_scores_and_no_targets_are_scikit_learns(classification):
    model, X, y = classification
    options = {"n_repeats": 2, "random_state": 0}
    for scoring in (["accuracy", "neg_log_loss"], two_scores):
        full = permutation_importance(model, X, y, scoring=scoring, **options)
        ours = bandit_permutation_importance(model, X, y, scoring=scoring, **options)
        assert list(ours) == list(full)
        for name, each in full.items():
            np.testing.assert_array_equal(ours[name].importances, each.importances)
            assert ours[name].n_predictions == len(X) * (1 + 2 * N_FEATURES)
    means = KMeans(3, n_init=1, random_state=0).fit(X)
    full = permutation_importance(means, X, None, **options)
    ours = bandit_permutation_importance(means, X, None, **options)
    np.testing.assert_array_equal(ours.importances, full.importances)
    for too_many in ({"k": 2}, {"tol": 0.1}):
        with pytest.raises(ValueError, match="a single score"):
            bandit_permutation_importance(model, X, y, scoring=["r2"], **too_many)
        with pytest.raises(ValueError, match="targets are needed"):
            bandit_permutation_importance(means, X, None, **too_many)


def two_scores(estimator, X, y):
    score = estimator.score(X, y)
    return {"score": score, "twice": 2 * score}


class Counting(Ridge):
    """Counts the rows that it predicts, and the calls."""

    def predict(self, X):
        self.rows_ = getattr(self, "rows_", 0) + len(X)
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().predict(X)


@pytest.mark.parametrize("options", [{"k": 3}, {"tol": 0.1}, {}])
@pytest.mark.parametrize("max_samples", [1.0, 0.5])
def test_predictions_are_counted(regression, options, max_samples):
    _, X, y = regression
    model = Counting().fit(X, y)
    result = bandit_permutation_importance(
        model, X, y, max_samples=max_samples, random_state=0, **options
    )
    assert result.n_predictions == model.rows_
    if options:  # several features in a call
        assert model.calls_ <= 2 + result.n_rounds


def test_ten_features_of_many():
    """Ten times fewer predictions than one shuffle of every feature takes."""
    model, X, y = planted(20_000, 200, 10, seed=0)
    result = bandit_permutation_importance(
        model, X, y, n_repeats=1, k=10, random_state=0
    )
    assert sorted(result.selected) == list(range(10))
    assert result.n_predictions * 10 < X.size
    assert result.n_rounds > 1


def test_ties_cost_no_more_than_the_full_computation():
    model, X, y = planted(1000, 20, 20, seed=0, spread=0.0)
    for options in ({"k": 5}, {"tol": 1e-9}):
        result = bandit_permutation_importance(
            model, X, y, n_repeats=1, random_state=0, **options
        )
        assert result.n_predictions <= X.size + len(X)


def test_large_searches_predict_nothing_twice(monkeypatch):
    """With little memory for losses the end is exact; what was sampled is used."""
    model, X, y = planted(4000, 20, 20, seed=0, spread=0.0)
    options = {"n_repeats": 1, "k": 5, "random_state": 0}
    kept = bandit_permutation_importance(model, X, y, **options)
    module = "sklearn_bandit.inspection"
    monkeypatch.setattr(f"{module}._bandit_permutation.MAX_KEPT_LOSSES", 0)
    monkeypatch.setattr(f"{module}._permutation_losses.MAX_VALUES", 1000)
    result = bandit_permutation_importance(model, X, y, **options)
    assert result.n_predictions <= X.size + len(X)
    np.testing.assert_array_equal(result.selected, kept.selected)
    full = permutation_importance(model, X, y, n_repeats=1, random_state=0)
    np.testing.assert_allclose(
        result.importances_mean[result.selected],
        full.importances_mean[result.selected],
    )


def test_failures_are_counted():
    """The selection and all intervals, over 60 seeds: at delta = .05, 3 are expected
    at most, and 8 have a chance of 1%."""
    n_wrong, n_outside, n_tol = 0, 0, 0
    for seed in range(60):
        model, X, y = planted(3000, 30, 8, seed=seed)
        options = {"n_repeats": 1, "random_state": seed}
        mean = permutation_importance(model, X, y, **options).importances_mean
        options["delta"] = 0.05
        top = bandit_permutation_importance(model, X, y, k=4, **options)
        n_wrong += set(top.selected) != set(np.argsort(-mean)[:4])
        low, high = top.importances_low - 1e-12, top.importances_high + 1e-12
        n_outside += ((mean < low) | (mean > high)).any()
        near = bandit_permutation_importance(model, X, y, tol=0.05, **options)
        n_tol += (np.abs(near.importances_mean - mean) > 0.05).any()
        assert near.n_predictions < X.size
    assert n_wrong <= 7
    assert n_outside <= 7
    assert n_tol <= 7


def test_known_to_tol(regression):
    model, X, y = regression
    result = bandit_permutation_importance(model, X, y, tol=0.1, random_state=0)
    assert (result.importances_high - result.importances_low <= 0.2 + 1e-12).all()
    assert result.selected is None
    assert (result.importances_std < 0.1).all()


def test_features_without_any_effect_are_known_soon():
    model, X, y = planted(20_000, 10, 2, seed=0)
    model.coef_[2:] = 0.0
    result = bandit_permutation_importance(
        model, X, y, n_repeats=1, tol=0.1, random_state=0
    )
    assert (result.importances_mean[2:] == 0).all()
    assert (result.importances_high[2:] > 0).all()
    assert result.n_predictions < X.size / 2


@pytest.mark.parametrize(
    ("Tree", "scoring"),
    [
        (DecisionTreeClassifier, "accuracy"),
        (DecisionTreeRegressor, "neg_mean_squared_error"),
    ],
)
def test_bounds_where_a_batch_sees_no_loss(Tree, scoring):
    """One row in 370 matters: half of the first batches show no effect at all."""
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((6000, 3))
        y = (X[:, 0] > 3).astype(int)
        model = Tree(max_depth=1).fit(X, y)
        options = {"scoring": scoring, "n_repeats": 1, "random_state": seed}
        mean = permutation_importance(model, X, y, **options).importances_mean
        found = bandit_permutation_importance(model, X, y, tol=0.05, **options)
        assert (found.importances_low <= mean + 1e-12).all()
        assert (found.importances_high >= mean - 1e-12).all()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_intervals_are_about_the_mean(offset):
    """A mean that all losses share says nothing of their spread."""
    losses = offset + np.random.default_rng(0).standard_normal((2, 5000))

    class Scores:
        of_all = staticmethod(lambda X: np.zeros(len(X)))
        largest_loss = staticmethod(lambda: np.inf)

    search = Losses(Scores(), np.zeros((5000, 2)), np.arange(5000)[None], None)
    search._losses = lambda features, references, start, stop: losses[
        features[:, None], references
    ].ravel()[start:stop]
    features = np.arange(2)
    for batch in np.arange(1000).reshape(4, 250):
        search(features, batch)
    seen = losses[:, :1000]
    np.testing.assert_allclose(search.means(), seen.mean(axis=1), rtol=1e-12)
    error = seen.std(axis=1, ddof=1) * np.sqrt(1 / 1000 - 1 / 5000)
    np.testing.assert_allclose(search.standard_errors(), error, rtol=1e-6)
    # About 1,000 / 3 degrees of freedom, of normal losses.
    quantile = student_quantile(0.1 / (2 * 6), 1000 / 3)
    np.testing.assert_allclose(search.radii(features, 0.1), quantile * error, rtol=0.01)


def test_single_precision():
    model, X, y = planted(3000, 5, 2, seed=0)
    model.coef_ = model.coef_.astype(np.float32)
    X, y = X.astype(np.float32), y.astype(np.float32)
    options = {"scoring": "neg_mean_absolute_error", "random_state": 0}
    mean = permutation_importance(model, X, y, **options).importances_mean
    near = bandit_permutation_importance(model, X, y, tol=0.05, **options)
    np.testing.assert_allclose(near.importances_mean, mean, atol=0.05)


@pytest.mark.parametrize("scale", [1e40, 1e60])
def test_losses_whose_powers_overflow(regression, scale):
    _, X, y = regression
    large = Ridge().fit(X[:100], y[:100] * scale)
    options = {"scoring": "neg_mean_squared_error", "random_state": 0}
    mean = permutation_importance(large, X, y * scale, **options).importances_mean
    top = bandit_permutation_importance(large, X, y * scale, k=3, **options)
    assert set(top.selected) == set(np.argsort(-mean)[:3])
    near = bandit_permutation_importance(
        large, X, y * scale, tol=0.1 * mean.max(), **options
    )
    np.testing.assert_allclose(near.importances_mean, mean, atol=0.1 * mean.max())


def test_tolerance_of_a_selection():
    model, X, y = planted(4000, 20, 20, seed=0, spread=0.02)
    options = {"n_repeats": 1, "k": 5, "random_state": 0}
    exact = bandit_permutation_importance(model, X, y, **options)
    near = bandit_permutation_importance(model, X, y, tol=0.2, **options)
    assert near.n_predictions < exact.n_predictions / 2


def test_tolerance_where_fewer_than_k_have_an_effect():
    """Features without any effect are equal; to within `tol` that is soon known."""
    model, X, y = planted(20_000, 30, 3, seed=0)
    model.coef_[3:] = 0.0
    options = {"n_repeats": 1, "k": 5, "random_state": 0}
    near = bandit_permutation_importance(model, X, y, tol=0.1, **options)
    assert near.n_predictions < X.size / 2
    assert set(near.selected) >= {0, 1, 2}
    exact = bandit_permutation_importance(model, X, y, **options)
    assert exact.n_predictions <= X.size + len(X)
    np.testing.assert_array_equal(exact.selected, np.arange(5))


def test_selections_within_the_tolerance_are_counted():
    """Over 60 seeds at delta = .05: see above."""
    n_wrong = 0
    for seed in range(60):
        model, X, y = planted(3000, 20, 8, seed=seed)
        model.coef_[10:] = 0.0
        options = {"n_repeats": 1, "random_state": seed}
        mean = permutation_importance(model, X, y, **options).importances_mean
        found = bandit_permutation_importance(
            model, X, y, k=4, tol=0.03, delta=0.05, **options
        )
        n_wrong += mean[found.selected].min() < np.sort(mean)[-4] - 0.03
    assert n_wrong <= 7


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "number": rng.standard_normal(600),
            "count": rng.integers(0, 9, 600),
            "kind": pandas.Categorical(rng.choice(["x", "y", "z"], 600)),
            "text": rng.choice(["u", "v"], 600),
        },
        index=np.arange(600)[::-1],
    )
    y = frame["number"] + 3 * (frame["kind"] == "x") + (frame["text"] == "v")
    encode = make_column_transformer(
        (OneHotEncoder(), ["kind", "text"]), remainder="passthrough"
    )
    model = make_pipeline(encode, Ridge()).fit(frame, y)
    full = permutation_importance(model, frame, y, n_repeats=2, random_state=0)
    exact = bandit_permutation_importance(
        model, frame, y, n_repeats=2, k=2, delta=0, random_state=0
    )
    np.testing.assert_allclose(
        exact.importances_mean, full.importances_mean, atol=1e-12
    )
    top = bandit_permutation_importance(model, frame, y, k=1, random_state=0)
    assert frame.columns[top.selected[0]] == "kind"


def test_same_seed_same_result_for_any_n_jobs(classification, monkeypatch):
    model, X, y = classification
    module = "sklearn_bandit.inspection._permutation_losses"
    monkeypatch.setattr(f"{module}.MAX_VALUES", 5000)  # several calls in a batch
    first, *others = (
        bandit_permutation_importance(model, X, y, k=3, random_state=0, n_jobs=n_jobs)
        for n_jobs in (None, None, 2, 3)
    )
    for other in others:
        for name in first:
            np.testing.assert_array_equal(first[name], other[name])


def test_data_is_left_as_it_was(regression):
    model, X, y = regression
    X = X.copy()
    X.flags.writeable = False
    bandit_permutation_importance(model, X, y, k=3, random_state=0)


def test_missing_values_and_several_outputs():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    Y = np.column_stack([X[:, 0], 2 * X[:, 1]])
    X[::9, 3] = np.nan
    model = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, Y)
    assert_exact(model, X, Y)


def a_score(estimator, X, y):
    return 0.0


@pytest.mark.parametrize("options", [{"k": 2}, {"tol": 0.1}])
@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "f1_macro", a_score])
def test_scores_that_are_no_means_are_refused(classification, scoring, options):
    model, X, y = classification
    with pytest.raises(ValueError, match="mean over rows"):
        bandit_permutation_importance(model, X, y, scoring=scoring, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 13}, "only 12"),
        ({"k": 0}, "'k' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"delta": 1.0}, "'delta' parameter"),
        ({"n_repeats": 0}, "'n_repeats' parameter"),
        ({"max_samples": 901, "k": 2}, "max_samples=901"),
        ({"scoring": "no such score", "k": 2}, "scoring"),
        ({"sample_weight": np.zeros(900), "k": 2}, "zero"),
        ({"sample_weight": np.ones(3), "k": 2}, "sample_weight"),
    ],
)
def test_bad_input(regression, options, message):
    model, X, y = regression
    with pytest.raises(ValueError, match=message):
        bandit_permutation_importance(model, X, y, **options)
    with pytest.raises(ValueError, match="inconsistent"):
        bandit_permutation_importance(model, X, y[:-1], k=2)
    with pytest.raises(NotFittedError):
        bandit_permutation_importance(Ridge(), X, y, k=2)
    with pytest.raises(ValueError, match="not finite on some rows"):  # R2
        bandit_permutation_importance(model, X, np.zeros(900), k=2)
