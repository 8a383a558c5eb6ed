"""Too little memory is a MemoryError, at whatever allocation it runs out."""

import os
import sys

import pytest
from fault_families import FAMILIES
from fault_processes import run_apart
from fault_programs import fit_within, grow_within, memory_growth, multiply_within

from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="limits and /proc of Linux"
    ),
    # A sanitizer takes terabytes of addresses for its shadow memory.
    pytest.mark.skipif(
        "san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizer"
    ),
]

# Megabytes that a fit may take beyond what is taken before it.
ROOM = (0, 1, 4, 16, 64, 512)


@pytest.mark.parametrize("family", FAMILIES)
def test_memory_runs_out(family):
    outcomes = {}
    for room in ROOM:
        outcomes[room] = run_apart(fit_within, family, 2, room)
        if outcomes[room] == (0, "done"):
            break
    *tight, last = outcomes.values()
    assert all(outcome == (0, "memory") for outcome in tight), outcomes
    assert last == (0, "done"), outcomes


@pytest.mark.parametrize(
    ("model", "n_threads", "is_noise"),
    [
        (DecisionTreeClassifier(max_depth=8), 2, False),
        (DecisionTreeClassifier(max_depth=8), 2, True),
        (DecisionTreeClassifier(max_depth=8), 8, False),
        (DecisionTreeClassifier(max_depth=3), 2, False),
        (DecisionTreeRegressor(solver="exact", max_leaf_nodes=2**62), 2, False),
    ],
    ids=[
        "subtrees",
        "subtrees of noise",
        "subtrees in more threads",
        "subsample",
        "best first",
    ],
)
def test_memory_runs_out_in_the_threads_of_a_tree(model, n_threads, is_noise):
    room = [*range(0, 40, 2), 60, 80, 160, 320]
    code, outcomes = run_apart(grow_within, model, n_threads, room, is_noise)
    assert code == 0
    assert outcomes[0] == "memory"
    assert outcomes[-1] == "done"


def test_buffers_of_blas_are_looked_for_once():
    """They take 128 MB each and are kept: 64 are enough for what comes after."""
    assert run_apart(multiply_within, 64) == (0, [2, 0, "done"])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_memory_is_flat_over_many_fits(family):
    code, growth = run_apart(memory_growth, family, 500, seconds=900)
    assert code == 0
    assert growth < 1.01
