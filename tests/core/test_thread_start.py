"""Threads are started as far as the system allows."""

import subprocess
import sys

import pytest
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit._core.threads import has_openmp

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


@pytest.mark.parametrize("wanted", [-1, 0, 1, 2, 5, 3])
def test_starts_as_many_as_are_wanted(wanted):
    assert start_threads(wanted) == max(wanted, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(not has_openmp(), reason="there are no threads to start")
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
