"""Contributions of samples to scores."""

import pickle

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import get_scorer, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_bandit._core.contributions import (
    MEANS,
    N_GROUPS,
    SMOOTH,
    RecordedMetric,
    Score,
)
from sklearn_bandit.model_selection._scorers import DefaultScorer, record

N = 200


def classification(n_classes, weighted):
    X, y = make_classification(
        N, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=0
    )
    weight = np.random.RandomState(1).rand(N) + 0.1 if weighted else None
    return LogisticRegression().fit(X, y), X, np.array(list("abcd"))[y], y, weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score"]
)
def test_classification_scores_are_means_of_contributions(name, n_classes, weighted):
    model, X, names, y, weight = classification(n_classes, weighted)
    if (name, n_classes) == ("neg_brier_score", 2):
        names = y  # scikit-learn asks which of two strings is the positive class
    model.fit(X, names)
    options = {} if weight is None else {"sample_weight": weight}
    scorer = get_scorer(name)
    try:
        expected = scorer(model, X, names, **options)
    except ValueError:
        pytest.skip("scikit-learn of this version has no such score")
    score = record(scorer, None)(model, X, names, **options)
    assert score == expected
    assert score.contributions.values.shape == (N,)
    assert np.mean(score.contributions.values) == pytest.approx(expected)
    values, largest = score.contributions
    assert np.ptp(values) <= largest * (1 + 1e-9)


REGRESSION = [
    "r2",
    "neg_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_squared_log_error",
    "neg_mean_poisson_deviance",
    "neg_mean_gamma_deviance",
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REGRESSION)
def test_regression_scores_are_means_of_contributions(name, weighted):
    X, y = make_regression(N, 5, noise=10, random_state=0)
    y = np.exp(y / y.std()).round(2) + 0.01
    model = PoissonRegressor().fit(X, y)
    options = {"sample_weight": np.random.RandomState(1).rand(N)} if weighted else {}
    expected = get_scorer(name)(model, X, y, **options)
    score = record(get_scorer(name), None)(model, X, y, **options)
    assert score == expected
    assert np.mean(score.contributions.values) == pytest.approx(expected)


def test_several_outputs():
    X, y = make_regression(N, 5, n_targets=3, noise=10, random_state=0)
    model = Ridge().fit(X, y)
    for name in ("r2", "neg_mean_squared_error", "neg_mean_absolute_error"):
        score = record(get_scorer(name), None)(model, X, y)
        assert np.mean(score.contributions.values) == pytest.approx(float(score))
    scorer = make_scorer(metrics.mean_squared_error, multioutput=[0.2, 0.3, 0.5])
    # Weights of outputs are not known: the score is right, contributions are not made.
    assert not hasattr(record(scorer, None)(model, X, y), "contributions")


def test_every_mean_is_tested():
    tested = {get_scorer(name)._score_func for name in REGRESSION}
    tested |= {
        metrics.accuracy_score,
        metrics.balanced_accuracy_score,
        metrics.log_loss,
        metrics.brier_score_loss,
        metrics.zero_one_loss,
        metrics.mean_pinball_loss,
    }
    assert tested == set(MEANS)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (metrics.zero_one_loss, {}),
        (metrics.mean_pinball_loss, {"alpha": 0.2}),
        (metrics.balanced_accuracy_score, {"adjusted": True}),
    ],
)
def test_options(metric, options):
    rng = np.random.RandomState(0)
    y_true, y_pred = rng.randint(3, size=N), rng.randint(3, size=N)
    score = RecordedMetric(metric)(y_true, y_pred, **options)
    assert score == metric(y_true, y_pred, **options)
    assert np.mean(score.contributions.values) == pytest.approx(float(score))


def test_contributions_that_are_not_the_score_are_not_kept():
    y_true, y_pred = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    count = RecordedMetric(metrics.accuracy_score)(y_true, y_pred, normalize=False)
    assert count == 3
    assert not hasattr(count, "contributions")


def test_unseen_large_losses_are_known():
    """A model that rules a class out has large losses, though none shows here."""
    y = np.array([0, 1, 1, 0])
    sure = np.array([0.0, 1.0, 0.9, 0.1])
    careful = np.array([0.1, 0.9, 0.9, 0.1])
    log_loss = RecordedMetric(metrics.log_loss)
    assert log_loss(y, sure).contributions.largest > 30
    assert log_loss(y, careful).contributions.largest == pytest.approx(-np.log(0.1))


@pytest.mark.parametrize("metric", sorted(SMOOTH, key=lambda f: f.__name__))
def test_smooth_metrics_have_a_jackknife(metric):
    rng = np.random.RandomState(0)
    y_true = rng.randint(2, size=N)
    y_pred = (y_true + rng.randn(N) > 0.5).astype(int)
    if metric is metrics.top_k_accuracy_score:
        y_true, y_pred = rng.randint(4, size=N), rng.rand(N, 4)
    options = {"beta": 2} if metric is metrics.fbeta_score else {}
    score = RecordedMetric(metric)(y_true, y_pred, **options)
    assert score == metric(y_true, y_pred, **options)
    values = score.contributions.values
    assert values.shape == (N_GROUPS,)
    assert np.mean(values) == pytest.approx(float(score), abs=0.05)


def test_jackknife_estimates_the_variance_of_an_auc():
    rng = np.random.RandomState(0)
    auc = RecordedMetric(metrics.roc_auc_score)
    scores, variances = [], []
    for _ in range(25):
        y = rng.randint(2, size=200)
        score = auc(y, y + 1.5 * rng.randn(200))
        scores.append(score)
        variances.append(np.var(score.contributions.values, ddof=1) / N_GROUPS)
    assert np.mean(variances) == pytest.approx(np.var(scores), rel=0.5)


def test_weights_are_split_with_the_groups():
    rng = np.random.RandomState(0)
    y, y_pred, weight = rng.randint(2, size=N), rng.rand(N), rng.rand(N)
    auc = RecordedMetric(metrics.roc_auc_score)
    score = auc(y, y_pred, sample_weight=weight)
    assert score == metrics.roc_auc_score(y, y_pred, sample_weight=weight)
    assert hasattr(score, "contributions")


@pytest.mark.parametrize("metric", [metrics.max_error, metrics.median_absolute_error])
def test_other_metrics_are_left_alone(metric):
    score = RecordedMetric(metric)(np.arange(9.0), np.arange(9.0) ** 2)
    assert type(score) is not Score


@pytest.mark.filterwarnings("ignore:Only one class")
def test_jackknife_without_a_class_gives_up():
    y = np.array([1] + [0] * 40)
    score = RecordedMetric(metrics.roc_auc_score)(y, np.arange(41.0))
    assert score == 0
    assert not hasattr(score, "contributions")


def test_default_score():
    model, X, names, _, weight = classification(3, True)
    pipe = make_pipeline(StandardScaler(), model).fit(X, names)
    called = []

    class Own(LogisticRegression):
        def score(self, X, y, sample_weight=None):
            called.append(True)
            return 0.5

    own = Own().fit(X, names)
    plain = DefaultScorer(lambda estimator, X, y, **o: estimator.score(X, y, **o))
    score = plain(pipe, X, names, sample_weight=weight)
    assert score == pipe.score(X, names, sample_weight=weight)
    assert np.mean(score.contributions.values) == pytest.approx(float(score))
    assert plain(own, X, names) == 0.5
    assert called
    X, y = make_regression(N, 5, noise=10, random_state=0)
    ridge = Ridge().fit(X, y)
    assert plain(ridge, X, y) == ridge.score(X, y)
    assert plain(ridge, X, y).contributions.values.shape == (N,)


def test_scores_are_numbers_that_travel():
    model, X, names, _, _ = classification(2, False)
    model.fit(X, names)
    score = record(get_scorer("accuracy"), None)(model, X, names)
    assert isinstance(score, float)
    copy = pickle.loads(pickle.dumps(score))
    assert copy == score
    np.testing.assert_array_equal(copy.contributions.values, score.contributions.values)
    scorer = pickle.loads(pickle.dumps(record(get_scorer("accuracy"), None)))
    assert scorer(model, X, names) == score
