"""``python -m benchmarks.history``: small tasks beside their last entry.

For each task a counter (insertions, distances, multiplications, fits: the same on every
machine) and, where scikit-learn does the same, how many times faster we are. One line
of JSON is appended to ``benchmarks/results/history.jsonl``. A counter that grew, or a
ratio that fell on the same processor, is reported, and the exit code is 1. All data is
made here; it takes half a minute.
"""

import argparse
import json
import sys
import time
from statistics import median

import numpy as np
from sklearn import ensemble as sk_ensemble
from sklearn import tree as sk_tree
from sklearn.datasets import load_digits, make_blobs, make_classification
from sklearn.tree import DecisionTreeClassifier

from sklearn_bandit import ensemble, tree
from sklearn_bandit.bandit import best_arm
from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.datasets import make_correlated_normal_custom, make_simple_song
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.model_selection import BanditGridSearchCV
from sklearn_bandit.neighbors import BanditMIPS

from .harness import Options, print_table
from .report import MOST_OTHERS, RESULTS, OtherLoad, provenance

FILE = RESULTS / "history.jsonl"
ROUNDS = 3

# Counters repeat to the last digit; a change of an algorithm may move them a little.
MOST_GROWTH = 1.05
# Ratios of short fits vary by a fifth from run to run.
LEAST_RATIO = 0.7

TASKS = {}


def task(function):
    """Register a task: it returns a counter and two calls, ours and theirs or None."""
    TASKS[function.__name__] = function
    return function


def _classification(n_samples, n_features):
    X, y = make_classification(
        n_samples, n_features, n_informative=n_features // 2, random_state=0
    )
    return X.astype(np.float32), y


@task
def forest():
    """Ten full trees, 60,000 x 30."""
    data = _classification(60_000, 30)
    ours = ensemble.RandomForestClassifier(10, n_jobs=2, random_state=0)
    theirs = sk_ensemble.RandomForestClassifier(10, n_jobs=2, random_state=0)
    count = ours.fit(*data).n_insertions_
    return count, lambda: ours.fit(*data), lambda: theirs.fit(*data)


@task
def single_tree():
    """One tree of depth 6, all features, 100,000 x 30."""
    data = _classification(100_000, 30)
    ours = tree.DecisionTreeClassifier(max_depth=6, random_state=0)
    theirs = sk_tree.DecisionTreeClassifier(max_depth=6, random_state=0)
    count = ours.fit(*data).n_insertions_
    return count, lambda: ours.fit(*data), lambda: theirs.fit(*data)


@task
def boosting():
    """Thirty exact trees, 100,000 x 20."""
    data = _classification(100_000, 20)
    settings = {"max_iter": 30, "early_stopping": False, "random_state": 0}
    ours = ensemble.HistGradientBoostingClassifier(solver="exact", **settings)
    theirs = sk_ensemble.HistGradientBoostingClassifier(**settings)
    count = ours.fit(*data).n_insertions_
    return count, lambda: ours.fit(*data), lambda: theirs.fit(*data)


@task
def boosting_on_samples():
    """Thirty trees on samples, 200,000 x 10."""
    data = _classification(200_000, 10)
    model = ensemble.HistGradientBoostingClassifier(
        solver="mab",
        batch_size=8192,
        max_iter=30,
        early_stopping=False,
        random_state=0,
    )
    return model.fit(*data).n_insertions_, None, None


@task
def kmedoids():
    """PAM's medoids of 8,000 x 20."""
    X, _ = make_blobs(8000, 20, centers=8, cluster_std=6.0, random_state=0)
    model = BanditKMedoids(8, algorithm="bandit", random_state=0).fit(X)
    return model.n_distance_evaluations_, None, None


@task
def inner_products():
    """Twenty queries to 1,000 atoms in 10,000 dimensions."""
    atoms, queries = make_correlated_normal_custom(1000, 10_000, 20, random_state=0)
    search = BanditMIPS(random_state=0).fit(atoms)
    counts = []
    for i in range(len(queries)):
        search.kneighbors(queries[i : i + 1])
        counts.append(search.n_multiplications_[0])
    return sum(counts), None, None


@task
def matching_pursuit():
    """Five notes of ten seconds."""
    X, y, _ = make_simple_song(interval=5.0)
    pursuit = BanditMatchingPursuit(5, fit_intercept=False, random_state=0).fit(X, y)
    return pursuit.n_multiplications_, None, None


@task
def racing():
    """Fits of a race of twenty trees on ten folds."""
    grid = {"max_depth": [2, 4, 6, 8, 12], "min_samples_leaf": [1, 4, 16, 64]}
    model = DecisionTreeClassifier(random_state=0)
    race = BanditGridSearchCV(model, grid, cv=10).fit(*load_digits(return_X_y=True))
    return race.n_fits_, None, None


@task
def engine():
    """Pulls of twenty searches among fifty arms."""
    total = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = rng.normal(size=(50, 10_000)) + np.linspace(0, 1, 50)[:, None]
        total += best_arm(
            lambda arms, refs, costs=costs: costs[np.ix_(arms, refs)],
            *costs.shape,
            random_state=seed,
        ).n_pulls
    return total, None, None


def measure(make):
    """Run a task; return its counter and, if there is one, its median ratio."""
    count, ours, theirs = make()
    entry = {"count": int(count)}
    if ours is not None:
        ratios = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            ours()
            between = time.perf_counter()
            theirs()
            ratios.append((time.perf_counter() - between) / (between - start))
        entry["ratio"] = float(f"{median(ratios):.3g}")
    return entry


def compare(entry, last):
    """Return what got worse since the last line, in words."""
    worse = []
    now_on, then_on = entry["measured"], last["measured"]
    # Ratios of two processors, or of a busy machine, say nothing.
    same = now_on["processor"] == then_on["processor"] and all(
        (measured.get("other_load") or 0) <= MOST_OTHERS
        for measured in (now_on, then_on)
    )
    for name, now in entry["tasks"].items():
        then = last["tasks"].get(name, {})
        if then and now["count"] > MOST_GROWTH * then["count"]:
            worse.append(f"{name}: {then['count']:,} became {now['count']:,}")
        if same and "ratio" in then and now["ratio"] < LEAST_RATIO * then["ratio"]:
            worse.append(f"{name}: {then['ratio']}x became {now['ratio']}x")
    return worse


def main(arguments=None):
    """Measure, compare, append."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history")
    parser.add_argument("--dry-run", action="store_true", help="append nothing")
    parsed = parser.parse_args(arguments)
    load = OtherLoad()
    tasks = {name: measure(make) for name, make in TASKS.items()}
    measured = {**provenance(Options()), "other_load": load.share()}
    entry = {"measured": measured, "tasks": tasks}
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    last = json.loads(lines[-1]) if lines else None
    rows = []
    for name, now in entry["tasks"].items():
        then = last["tasks"].get(name, {}) if last else {}
        rows.append([name, now["count"], then.get("count", "")])
        rows[-1] += [now.get("ratio", ""), then.get("ratio", "")]
    print_table(["task", "count", "before", "over scikit-learn", "before"], rows)
    worse = compare(entry, last) if last else []
    print(*worse, sep="\n")
    if not parsed.dry_run:
        with FILE.open("a") as file:
            file.write(json.dumps(entry) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
