"""Threads are started as far as the system allows."""

import subprocess
import sys

import pytest
from sklearn_bandit._core.thread_start import keep_threads, start_threads
from sklearn_bandit._core.threads import effective_n_threads, has_openmp

needs_openmp = pytest.mark.skipif(not has_openmp(), reason="there are no threads")

# Sixty-three stacks, of two megabytes at least, do not fit.
SCRIPT = """
import resource
from pathlib import Path

from sklearn_bandit._core.thread_start import start_threads

pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 24 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(start_threads(64), start_threads(64), start_threads(2))
"""


@needs_openmp
@pytest.mark.parametrize("function", [start_threads, keep_threads])
@pytest.mark.parametrize("wanted", [1, 2, 5, 3])
def test_starts_as_many_as_are_wanted(function, wanted):
    assert function(wanted) == wanted
    assert function(wanted, 2) == min(wanted, 2)


@pytest.mark.parametrize("function", [start_threads, keep_threads])
@pytest.mark.parametrize("n_jobs", [None, -1])
def test_starts_what_the_jobs_of_an_estimator_stand_for(function, n_jobs):
    assert function(n_jobs) == effective_n_threads(n_jobs)
    assert function(n_jobs, 1) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@needs_openmp
def test_starts_fewer_where_there_is_no_room():
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    first, second, last = map(int, result.stdout.split())
    assert 1 <= first < 64
    assert 1 <= second < 64
    assert 1 <= last <= 2
