"""A process that is forked after threads have run can fit and predict, too."""

import sys

import pytest
from fault_families import FAMILIES
from fault_processes import run_apart
from fault_programs import fork_after_fit, pool_after_fit

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="fork is for Linux"
)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fork_after_threads(family):
    code, result = run_apart(fork_after_fit, family, seconds=60)
    assert code is not None, "the forked process hangs"
    assert (code, result) == (0, 0)


@pytest.mark.parametrize("family", ["forest", "boosting", "k-medoids"])
def test_a_pool_of_forked_processes(family):
    code, result = run_apart(pool_after_fit, family, seconds=60)
    assert code is not None, "the forked processes hang"
    assert (code, result) == (0, True)
