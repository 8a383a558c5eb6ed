"""Which features matter: predictions and rows that it takes, and failures counted.

Effects are planted: of 500 features 10 have one, of falling size. The full computation
has the same seed, rows and shuffles; the number of its predictions is known without
running it.
"""

import time
from unittest.mock import patch

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import f_classif, f_regression, mutual_info_classif
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge

from sklearn_bandit.ensemble import RandomForestRegressor
from sklearn_bandit.feature_selection import BanditSelectKBest
from sklearn_bandit.inspection import (
    _permutation_losses,
    bandit_permutation_importance,
)

from ..harness import Table, benchmark

N_ROWS, N_FEATURES, N_EFFECTS = 100_000, 500, 10
N_TRAIN = 20_000
DELTA = 0.05

MODELS = {
    "ridge": Ridge(),
    "boosting": HistGradientBoostingRegressor(max_iter=30, random_state=0),
}


def planted(n_rows, n_features, n_effects, least, seed):
    """Normal features; the effects fall from 1 to `least`."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    effects = np.linspace(1, least, n_effects)
    y = X[:, :n_effects] @ effects + rng.standard_normal(n_rows)
    return X, y


@benchmark("importance.permutation")
def permutation(options):
    """The top 10 of 500 features: predictions against one shuffle of each."""
    rows = []
    for case, least in (("10 matter", 0.4), ("all alike", None)):
        n_effects = N_EFFECTS if least else N_FEATURES
        X, y = planted(N_ROWS + N_TRAIN, N_FEATURES, n_effects, least or 1.0, seed=0)
        for name, model in MODELS.items():
            if least is None and name != "ridge":
                continue
            model.fit(X[:N_TRAIN], y[:N_TRAIN])
            for scoring in ("r2", "neg_mean_absolute_error"):
                found = bandit_permutation_importance(
                    model,
                    X[N_TRAIN:],
                    y[N_TRAIN:],
                    scoring=scoring,
                    n_repeats=1,
                    k=N_EFFECTS,
                    n_jobs=options.threads,
                    random_state=0,
                )
                full = N_ROWS * (1 + N_FEATURES)
                n_planted = int(sum(found.selected < n_effects))
                rows.append(
                    [
                        case,
                        name,
                        scoring,
                        found.n_predictions,
                        full / found.n_predictions,
                        n_planted if least else None,
                    ]
                )
    yield Table(
        f"The best {N_EFFECTS} of {N_FEATURES} features on {N_ROWS:,} held-out rows, "
        "n_repeats=1, delta=.01",
        [
            "features",
            "model",
            "score",
            "predictions",
            "times fewer than one shuffle of each",
            "planted ones found",
        ],
        rows,
        note=f"Where {N_EFFECTS} matter, their effects fall from 1 to .4 times the "
        "noise. Where nothing can be told apart everything is computed, once.",
    )


@benchmark("importance.call_size")
def call_size(options):
    """Values in one call of predict: where the CPU time of a batch is least."""
    X, y = planted(30_000, 100, N_EFFECTS, 0.4, seed=0)
    rows = []
    for name, model in MODELS.items():
        model.fit(X[:5000], y[:5000])
        for size in (1 << 13, 1 << 17, 1 << 19, 1 << 21, 1 << 23):
            with patch.object(_permutation_losses, "MAX_VALUES", size):
                start = time.process_time()
                bandit_permutation_importance(
                    model, X, y, n_repeats=1, k=N_EFFECTS, random_state=0
                )
            rows.append([name, size, time.process_time() - start])
    yield Table("30,000 x 100, top 10", ["model", "values", "CPU s"], rows)


@benchmark("importance.selection")
def selection(options):
    """SelectKBest's 10 of 500 features: values read, and CPU times."""
    rows = []
    for case, least in (("10 matter", 0.5), ("none", 0.0)):
        X, target = planted(N_ROWS, N_FEATURES, N_EFFECTS, least, seed=0)
        if case == "none":
            target = np.random.default_rng(1).standard_normal(N_ROWS)
        for score in ("mutual_info", "f"):
            for kind, y in (("classes", target > 0), ("real", target)):
                seconds = {}
                fitted = {}
                for delta in (0.01, 0.0):
                    start = time.process_time()
                    fitted[delta] = BanditSelectKBest(
                        N_EFFECTS, score_func=score, delta=delta, random_state=0
                    ).fit(X, y)
                    seconds[delta] = time.process_time() - start
                theirs = _their_seconds(score, kind, X, y)
                few, every = fitted[0.01], fitted[0.0]
                rows.append(
                    [
                        case,
                        score,
                        kind,
                        X.size / few.n_values_read_,
                        bool((few.get_support() == every.get_support()).all()),
                        seconds[0.01],
                        seconds[0.0],
                        theirs,
                    ]
                )
    yield Table(
        f"The best {N_EFFECTS} of {N_FEATURES} features, {N_ROWS:,} rows; processor "
        "seconds",
        [
            "features",
            "score",
            "target",
            "times fewer values",
            "as from all rows",
            "seconds",
            "all rows",
            "scikit-learn",
        ],
        rows,
        note=f"Where {N_EFFECTS} matter, their effects fall from 1 to .5 times the "
        "noise. scikit-learn: f_classif and f_regression; for mutual information of "
        "classes mutual_info_classif, another estimate by nearest neighbours, timed on "
        "5 features, times 100.",
    )


def _their_seconds(score, kind, X, y):
    start = time.process_time()
    if score == "f":
        (f_regression if kind == "real" else f_classif)(X, y)
        return time.process_time() - start
    if kind == "real":
        return np.nan
    mutual_info_classif(X[:, :5], y, random_state=0)
    return (time.process_time() - start) * X.shape[1] / 5


@benchmark("importance.guarantee")
def guarantee(options):
    """How often the selection is not the full computation's, with close effects."""
    n_seeds = 200 if options.rounds is None else options.rounds
    rows = []
    for name, case in CASES.items():
        if not options.wants(name):
            continue
        wrong, share = [], []
        for seed in range(n_seeds):
            is_wrong, used = case(seed)
            wrong.append(is_wrong)
            share.append(used)
        rows.append([name, n_seeds, int(sum(wrong)), np.mean(share)])
    yield Table(
        f"Selections that are not the full computation's: delta = {DELTA}, 6 effects "
        "from 1 to .3, the best 3 wanted",
        ["what", "searches", "wrong", "share of predictions or values used"],
        rows,
    )


def _permutation_case(seed):
    X, y = planted(4000, 30, 6, 0.3, seed)
    model = Ridge().fit(X[:1000], y[:1000])
    X, y = X[1000:], y[1000:]
    common = {"n_repeats": 1, "random_state": seed}
    mean = permutation_importance(model, X, y, **common).importances_mean
    found = bandit_permutation_importance(model, X, y, k=3, delta=DELTA, **common)
    is_wrong = set(found.selected) != set(np.argsort(-mean)[:3])
    return is_wrong, found.n_predictions / (len(X) * 31)


def _intervals_case(seed):
    X, y = planted(4000, 30, 6, 0.3, seed)
    model = Ridge().fit(X[:1000], y[:1000])
    X, y = X[1000:], y[1000:]
    common = {"n_repeats": 1, "random_state": seed}
    mean = permutation_importance(model, X, y, **common).importances_mean
    found = bandit_permutation_importance(model, X, y, tol=0.05, delta=DELTA, **common)
    low, high = found.importances_low - 1e-12, found.importances_high + 1e-12
    return ((mean < low) | (mean > high)).any(), found.n_predictions / (len(X) * 31)


def _out_of_bag_case(seed):
    X, y = planted(3000, 20, 6, 0.3, seed)
    forest = RandomForestRegressor(10, max_depth=8, n_jobs=1, random_state=seed)
    forest.fit(X, y)
    common = {"oob": True, "n_repeats": 1, "random_state": seed}
    full = bandit_permutation_importance(forest, X, y, **common)
    found = bandit_permutation_importance(forest, X, y, k=3, delta=DELTA, **common)
    best = np.argsort(-full.importances_mean)[:3]
    share = found.n_predictions / full.n_predictions
    return set(found.selected) != set(best), share


def _selection_case(score, is_real, n_effects=6):
    def case(seed):
        X, target = planted(12_000, 16, n_effects, 0.3, seed)
        y = target if is_real else np.digitize(target, [-1, 0.7])
        common = {"k": 3, "score_func": score, "random_state": seed}
        few = BanditSelectKBest(delta=DELTA, **common).fit(X, y)
        every = BanditSelectKBest(delta=0, **common).fit(X, y)
        is_wrong = (few.get_support() != every.get_support()).any()
        return is_wrong, few.n_values_read_ / X.size

    return case


CASES = {
    "permutation importance, k": _permutation_case,
    "permutation importance, any interval": _intervals_case,
    "out-of-bag permutation importance, k": _out_of_bag_case,
    "mutual information, classes": _selection_case("mutual_info", False),
    "mutual information, real": _selection_case("mutual_info", True),
    "F, classes": _selection_case("f", False),
    "F, real": _selection_case("f", True),
    "mutual information, 2 effects": _selection_case("mutual_info", False, 2),
    "F, 2 effects": _selection_case("f", False, 2),
}
