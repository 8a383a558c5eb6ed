"""Several threads of Python fit at the same time, and ask one fitted estimator.

Each scenario runs in a process of its own: what several threads do wrong may end it.
``make test-threads`` runs them with ThreadSanitizer in every kernel.
"""

import os
import sys

import pytest
from fault_families import FAMILIES
from fault_processes import run_apart
from thread_programs import (
    ROUNDS,
    queries_beside_changes,
    shared_packing,
    shared_queries,
    shared_search,
    shared_swaps,
    simultaneous_fits,
    simultaneous_subtrees,
)

# Families whose predictions pack the trees.
PACKED = ["forest", "extra trees", "boosting", "boosting, samples"]

SEARCHES = [
    {},
    {"delta": 0.0},
    {"layout": "zero-copy"},
    {"sampling": "weighted"},
    {"sampling": "alpha"},
    {"radius": "bernstein"},
    {"buckets": 32},
]


def check(*job):
    seconds = 900 if ROUNDS > 3 or "TSAN_OPTIONS" in os.environ else 120
    code, result = run_apart(*job, seconds=seconds)
    assert code is not None, "the threads wait for each other"
    assert (code, result) == (0, True)


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no forkserver")


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_ask_one_estimator(family):
    check(shared_queries, family)


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_fit_at_the_same_time(family):
    check(simultaneous_fits, family)


@pytest.mark.parametrize("program", [simultaneous_subtrees, shared_swaps])
def test_threads_divide_trees_and_share_swaps(program):
    check(program)


@pytest.mark.parametrize("family", PACKED)
def test_threads_pack_one_estimator(family):
    check(shared_packing, family)


@pytest.mark.parametrize("n_features", [100, 3_000])
@pytest.mark.parametrize("parameters", SEARCHES, ids=str)
def test_threads_ask_one_index(parameters, n_features):
    check(shared_search, parameters, n_features)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_threads_ask_while_rows_change(metric):
    check(queries_beside_changes, metric)
