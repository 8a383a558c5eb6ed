"""A process that is forked after threads have run can fit and predict, too.

The threads of the parent are not in the child, but their OpenMP waits for them there.
"""

import sys

import pytest
from fault_processes import run_apart
from fault_programs import count_threads, fork_after_fit, pool_after_fit
from fork_models import MODELS
from sklearn_bandit._core.threads import has_openmp

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="fork is for Linux"
)


@pytest.mark.skipif(not has_openmp(), reason="built without OpenMP")
def test_the_parents_have_threads():
    """Otherwise the tests below would test nothing."""
    assert run_apart(count_threads) == (0, 2)


@pytest.mark.parametrize("name", MODELS)
def test_a_fork_after_threads(name):
    code, result = run_apart(fork_after_fit, name, seconds=60)
    assert code is not None, "the forked process hangs"
    assert (code, result) == (0, 0)


def test_a_pool_of_forked_processes():
    names = ["boosting", "k-medoids, bandit", "k-medoids, eager", "tree"]
    names.append("random forest")
    code, result = run_apart(pool_after_fit, names, seconds=120)
    assert code is not None, "the forked processes hang"
    assert (code, result) == (0, True)
