"""The racing searches in place of scikit-learn's."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_bandit.model_selection import BanditGridSearchCV, BanditRandomizedSearchCV

TREE = DecisionTreeClassifier(random_state=0)
GRID = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 8]}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="module")
def binary():
    return make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)


def assert_same_table(race, full):
    """What both searches computed is the same to the last bit."""
    ours, theirs = race.cv_results_, full.cv_results_
    extra = {"n_folds_done", "dropped_after"}
    assert set(ours) == set(theirs) | extra
    assert ours["params"] == theirs["params"]
    done = ours["n_folds_done"] == race.n_splits_
    for key in theirs:
        if "time" in key or key.startswith(("param", "rank")):
            continue
        assert_array_equal(ours[key][done], theirs[key][done], err_msg=key)
        if key.startswith("split"):
            known = ~np.isnan(ours[key])
            assert_array_equal(ours[key][known], theirs[key][known], err_msg=key)


@pytest.mark.parametrize(
    "scoring",
    [
        None,
        "balanced_accuracy",
        "neg_log_loss",
        "roc_auc",
        "f1",
        make_scorer(matthews_corrcoef),
        lambda estimator, X, y: estimator.score(X, y),
    ],
    ids=["None", "balanced", "log-loss", "auc", "f1", "make_scorer", "function"],
)
def test_beside_the_full_search(binary, scoring):
    options = {"cv": 10, "scoring": scoring, "return_train_score": scoring is None}
    race = BanditGridSearchCV(TREE, GRID, tol=0.0, **options).fit(*binary)
    full = GridSearchCV(TREE, GRID, **options).fit(*binary)
    assert race.best_params_ == full.best_params_
    assert race.best_index_ == full.best_index_
    assert race.best_score_ == full.best_score_
    assert race.n_splits_ == 10
    assert race.n_fits_ == race.cv_results_["n_folds_done"].sum() < 80
    assert race.n_fits_ + race.n_fits_saved_ == 80
    assert repr(race.scorer_) == repr(full.scorer_)
    assert_array_equal(race.predict(binary[0]), full.predict(binary[0]))
    assert_same_table(race, full)


def test_table(digits):
    race = BanditGridSearchCV(TREE, GRID, cv=10).fit(*digits)
    table = race.cv_results_
    n_done, dropped = table["n_folds_done"], table["dropped_after"]
    survived = n_done == 10
    assert 1 <= survived.sum() < 8
    assert_array_equal(dropped.mask, survived)
    assert_array_equal(dropped[~survived].data, n_done[~survived])
    splits = np.stack([table[f"split{k}_test_score"] for k in range(10)], axis=1)
    assert_array_equal(np.isfinite(splits).sum(axis=1), n_done)
    np.testing.assert_allclose(table["mean_test_score"], np.nanmean(splits, axis=1))
    np.testing.assert_allclose(table["std_test_score"], np.nanstd(splits, axis=1))
    ranks = table["rank_test_score"]
    assert ranks[survived].max() < ranks[~survived].min()
    assert ranks[race.best_index_] == 1
    for key in ("mean_fit_time", "std_fit_time", "mean_score_time"):
        assert np.isfinite(table[key]).all()


def test_nothing_dropped_is_the_full_search(digits):
    race = BanditGridSearchCV(TREE, GRID, cv=5, delta=0).fit(*digits)
    full = GridSearchCV(TREE, GRID, cv=5).fit(*digits)
    assert race.n_fits_saved_ == 0
    assert_same_table(race, full)
    ranks = [s.cv_results_["rank_test_score"] for s in (race, full)]
    assert_array_equal(*ranks)


def test_randomized(binary):
    space = {"C": loguniform(1e-4, 1e3), "class_weight": [None, "balanced"]}
    options = {"n_iter": 12, "cv": 10, "random_state": 3}
    model = LogisticRegression()
    race = BanditRandomizedSearchCV(model, space, tol=0.0, **options).fit(*binary)
    full = RandomizedSearchCV(model, space, **options).fit(*binary)
    assert race.best_params_ == full.best_params_
    assert race.n_fits_saved_ > 0
    assert_same_table(race, full)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_for_any_n_jobs(digits, n_jobs):
    first = BanditGridSearchCV(TREE, GRID, cv=10, scoring="neg_log_loss").fit(*digits)
    second = clone(first).set_params(n_jobs=n_jobs, pre_dispatch=4).fit(*digits)
    for key, value in first.cv_results_.items():
        if "time" not in key and key != "params":
            assert_array_equal(value, second.cv_results_[key])


def test_pickle_and_clone(digits):
    race = BanditGridSearchCV(TREE, GRID, cv=10).fit(*digits)
    copy = pickle.loads(pickle.dumps(race))
    assert_array_equal(copy.predict(digits[0]), race.predict(digits[0]))
    assert copy.get_params().keys() == race.get_params().keys()
    assert "_course" not in vars(race)
    assert (
        len(pickle.dumps(race)) < 2 * len(pickle.dumps(race.best_estimator_)) + 20_000
    )
    with pytest.raises(NotFittedError):
        clone(race).predict(digits[0])


def test_several_metrics(digits):
    options = {"cv": 10, "scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}
    race = BanditGridSearchCV(TREE, GRID, tol=0.0, **options).fit(*digits)
    full = GridSearchCV(TREE, GRID, **options).fit(*digits)
    assert race.multimetric_
    assert race.best_score_ == full.best_score_
    assert race.scorer_.keys() == full.scorer_.keys()
    assert_same_table(race, full)
    assert race.score(*digits) == full.score(*digits)


def several_scores(estimator, X, y):
    return {"a": estimator.score(X, y), "b": -estimator.score(X, y)}


def test_a_function_with_several_scores(digits):
    race = BanditGridSearchCV(TREE, GRID, cv=10, scoring=several_scores, refit="b")
    race.fit(*digits)
    assert race.best_params_["max_depth"] == 1
    with pytest.raises(ValueError, match="refit must name"):
        race.set_params(refit=True).fit(*digits)


@pytest.mark.parametrize("refit", [False, lambda results: 0, True])
def test_several_metrics_need_one_to_race_on(digits, refit):
    race = BanditGridSearchCV(TREE, GRID, scoring=["accuracy", "f1"], refit=refit)
    with pytest.raises(ValueError, match="refit must name"):
        race.fit(*digits)


def test_refit(digits):
    race = BanditGridSearchCV(TREE, GRID, cv=5, refit=False).fit(*digits)
    assert race.best_params_
    assert not hasattr(race, "best_estimator_")
    race.set_params(refit=lambda results: results["rank_test_score"].argmax())
    race.fit(*digits)
    assert race.cv_results_["rank_test_score"][race.best_index_] > 1


@pytest.mark.parametrize(
    "cv",
    [
        KFold(7, shuffle=True, random_state=0),
        ShuffleSplit(6, test_size=0.3, random_state=0),
        RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
        TimeSeriesSplit(6),
        [(np.arange(300), np.arange(300, 600)), (np.arange(200), np.arange(300, 400))],
        [(np.arange(300), np.arange(300, 600))],
        (pair for pair in [(np.arange(300), np.arange(300, 600))] * 4),
    ],
    ids=["KFold", "Shuffle", "Repeated", "Time", "unequal", "one fold", "generator"],
)
def test_splitters(digits, cv):
    if not hasattr(cv, "split"):
        cv = list(cv)
    race = BanditGridSearchCV(TREE, GRID, cv=cv).fit(*digits)
    full = GridSearchCV(TREE, GRID, cv=cv).fit(*digits)
    assert race.cv is cv
    assert race.n_splits_ == full.n_splits_
    assert_same_table(race, full)
    table = full.cv_results_
    lost = full.best_score_ - table["mean_test_score"][race.best_index_]
    assert lost <= table["std_test_score"][full.best_index_]


def test_generator_of_folds_is_used_once(digits):
    splits = list(KFold(4).split(digits[0]))
    race = BanditGridSearchCV(TREE, GRID, cv=iter(splits), delta=0).fit(*digits)
    assert race.n_fits_ == 32


def test_leave_one_out(binary):
    X, y = binary[0][:40], binary[1][:40]
    race = BanditGridSearchCV(
        GaussianNB(), {"var_smoothing": [1e-9, 1e3]}, cv=LeaveOneOut()
    )
    race.fit(X, y)
    assert race.n_splits_ == 40


def test_folds_by_groups_are_not_trusted_at_once(digits):
    X, y = digits
    groups = np.arange(600) // 30
    race = BanditGridSearchCV(TREE, GRID, cv=GroupKFold(10)).fit(X, y, groups=groups)
    assert race.cv_results_["n_folds_done"].min() == 3
    race.set_params(min_folds=1).fit(X, y, groups=groups)
    assert race.cv_results_["n_folds_done"].min() == 1
    with pytest.raises(ValueError, match="groups"):
        race.fit(X, y)


def test_inconsistent_splitter(digits):
    class Liar(KFold):
        def get_n_splits(self, X=None, y=None, groups=None):
            return 4

    with pytest.raises(ValueError, match="inconsistent"):
        BanditGridSearchCV(TREE, GRID, cv=Liar(3)).fit(*digits)


def test_sample_weight(binary):
    X, y = binary
    weight = np.random.RandomState(0).rand(len(y))
    race = BanditGridSearchCV(TREE, GRID, cv=10, tol=0.0)
    full = GridSearchCV(TREE, GRID, cv=10)
    race.fit(X, y, sample_weight=weight)
    full.fit(X, y, sample_weight=weight)
    assert race.best_score_ == full.best_score_
    assert_same_table(race, full)


def test_metadata_routing(binary):
    import sklearn

    X, y = binary
    weight, groups = np.random.RandomState(0).rand(len(y)), np.arange(len(y)) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(TREE).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        searches = [
            Search(model, GRID, cv=GroupKFold(10)).fit(
                X, y, sample_weight=weight, groups=groups
            )
            for Search in (BanditGridSearchCV, GridSearchCV)
        ]
    assert_same_table(*searches)


def test_pipelines_and_steps_as_candidates(binary):
    pipe = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    grid = [
        {"model": [LogisticRegression()], "model__C": [0.01, 1.0]},
        {"model": [TREE], "model__max_depth": [1, 4]},
    ]
    race = BanditGridSearchCV(pipe, grid, cv=10, tol=0.0).fit(*binary)
    full = GridSearchCV(pipe, grid, cv=10).fit(*binary)
    assert race.best_score_ == full.best_score_
    assert race.best_index_ == full.best_index_


def test_kinds_of_data(binary):
    X, y = binary
    names = np.array(["no", "yes"])[y]
    model, grid = LogisticRegression(), {"C": [1e-4, 1e-2, 1.0]}
    dense = BanditGridSearchCV(model, grid, cv=10).fit(X, names)
    assert set(dense.predict(X)) == {"no", "yes"}
    assert_array_equal(dense.classes_, ["no", "yes"])
    thin = BanditGridSearchCV(model, grid, cv=10).fit(sparse.csr_matrix(X), names)
    assert thin.best_params_ == dense.best_params_
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    framed = BanditGridSearchCV(model, grid, cv=10).fit(frame, pandas.Series(names))
    assert framed.best_score_ == dense.best_score_
    assert_array_equal(framed.feature_names_in_, frame.columns)


def test_several_outputs():
    X, y = make_regression(300, 8, n_targets=3, noise=50, random_state=0)
    grid = {"alpha": [1e-2, 1, 1e2, 1e4]}
    race = BanditGridSearchCV(Ridge(), grid, cv=10, tol=0.0).fit(X, y)
    full = GridSearchCV(Ridge(), grid, cv=10).fit(X, y)
    assert race.best_params_ == full.best_params_
    assert race.n_fits_saved_ > 0


def test_unsupervised(digits):
    X = digits[0][:200]
    model, grid = KMeans(n_init=1, random_state=0), {"n_clusters": [2, 4, 16]}
    race = BanditGridSearchCV(model, grid, cv=5).fit(X)
    full = GridSearchCV(model, grid, cv=5).fit(X)
    assert race.best_params_ == full.best_params_


def test_one_candidate_and_ties(digits):
    race = BanditGridSearchCV(TREE, {"max_depth": [4]}, cv=4).fit(*digits)
    assert race.n_fits_ == 4
    ties = {"strategy": ["most_frequent", "prior", "most_frequent"]}
    race = BanditGridSearchCV(DummyClassifier(), ties, cv=4, tol=0.0).fit(*digits)
    assert race.best_index_ == 0
    assert_array_equal(race.cv_results_["rank_test_score"], 1)
    with pytest.raises(ValueError, match=r"non-empty|No fits"):
        BanditGridSearchCV(TREE, {"max_depth": []}).fit(*digits)


class Failing(ClassifierMixin, BaseEstimator):
    """Fails for some parameters, on some folds."""

    def __init__(self, quality=0.5, fails="never"):
        self.quality = quality
        self.fails = fails

    def fit(self, X, y):
        # The folds below leave out 60 consecutive rows; X holds their numbers.
        out = np.setdiff1d(np.arange(600), X[:, 0])
        late = len(out) > 0 and out.min() in (180, 240)
        if self.fails == "always" or (self.fails == "sometimes" and late):
            raise ValueError("it fails")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        right = (X[:, 0] * 7919 % 100) < 100 * self.quality
        return np.where(right, 0, 1)


@pytest.fixture
def rows():
    return np.arange(600)[:, None], np.zeros(600, dtype=int)


def test_failing_candidates(rows):
    grid = [{"quality": [0.5, 0.7]}, {"quality": [0.99], "fails": ["always"]}]
    race = BanditGridSearchCV(Failing(), grid, cv=KFold(10))
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        race.fit(*rows)
    assert race.best_params_ == {"quality": 0.7}
    assert race.cv_results_["n_folds_done"][2] == 1
    assert race.cv_results_["rank_test_score"][2] == 3
    race.set_params(error_score="raise")
    with pytest.raises(ValueError, match="it fails"):
        race.fit(*rows)


def test_the_last_survivor_fails(rows):
    """The full search takes the best of the others: they come back."""
    grid = [{"quality": [0.5, 0.7]}, {"quality": [0.99], "fails": ["sometimes"]}]
    searches = []
    for Search in (BanditGridSearchCV, GridSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            searches.append(Search(Failing(), grid, cv=KFold(10)).fit(*rows))
    race, full = searches
    assert race.best_params_ == full.best_params_ == {"quality": 0.7}
    assert race.best_score_ == full.best_score_


@pytest.mark.parametrize("error_score", [0.0, 1.0])
def test_a_fold_on_which_all_fail(rows, error_score):
    grid = {"quality": [0.5, 0.9], "fails": ["sometimes"]}
    options = {"cv": KFold(10), "error_score": error_score}
    searches = []
    for Search in (BanditGridSearchCV, GridSearchCV):
        with pytest.warns(FitFailedWarning):
            searches.append(Search(Failing(), grid, **options).fit(*rows))
    race, full = searches
    assert race.best_params_ == full.best_params_
    assert race.best_score_ == full.best_score_


def test_the_first_fold_cannot_be_fitted(rows):
    """All means are NaN, as in the full search, but that is no reason to raise."""
    grid = {"quality": [0.5, 0.9], "fails": ["sometimes"]}
    splits = [list(KFold(10).split(rows[0]))[k] for k in (3, 4, 0)]
    for cv in (splits[:2] + splits[2:], splits[2:] + splits[:2]):
        race = BanditGridSearchCV(Failing(), grid, cv=cv)
        with pytest.warns(FitFailedWarning):
            race.fit(*rows)
        assert race.best_index_ == 0
        assert np.isnan(race.best_score_)
        assert race.best_estimator_.classes_ == [0]


def test_all_fits_fail(rows):
    race = BanditGridSearchCV(Failing(), {"quality": [0.1, 0.2], "fails": ["always"]})
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="fits failed"):
        race.fit(*rows)
    assert race.cv is None
    assert not hasattr(race, "cv_results_")


def test_scores_that_are_not_numbers(rows):
    race = BanditGridSearchCV(
        Failing(), {"quality": [0.1, 0.2]}, scoring=lambda *args: np.nan
    )
    with pytest.warns(UserWarning, match="non-finite"):
        race.fit(*rows)
    assert race.best_index_ == 0
    assert np.isnan(race.best_score_)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 1.0), ("delta", -0.1), ("tol", -1.0), ("tol", "se"), ("min_folds", 0)],
)
def test_wrong_parameters(binary, name, value):
    with pytest.raises(ValueError, match=name):
        BanditGridSearchCV(TREE, GRID, **{name: value}).fit(*binary)


def test_verbose(digits, capsys):
    BanditGridSearchCV(TREE, GRID, cv=10, verbose=1).fit(*digits)
    said = capsys.readouterr().out
    assert "1 of 10 folds done" in said
    assert "of 8 candidates left" in said


def test_tolerance(binary):
    """Candidates that are nearly equal are told apart to the end, or not at all."""
    options = {"cv": 10, "scoring": "neg_log_loss"}
    grid = {"C": [1.0, 1.1, 1.2, 1.3, 1e-6]}
    model = LogisticRegression()
    n_fits = {
        tol: BanditGridSearchCV(model, grid, tol=tol, **options).fit(*binary).n_fits_
        for tol in (0.0, "one_se", 0.1)
    }
    assert n_fits[0.0] > n_fits["one_se"] >= n_fits[0.1]
