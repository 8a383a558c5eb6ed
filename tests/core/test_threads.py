"""How many threads kernels use, also in a process that was forked."""

import os
import subprocess
import sys

import pytest
from sklearn_bandit._core.threads import effective_n_threads, has_openmp

SCRIPT = """
import os
from sklearn_bandit._core.threads import effective_n_threads, limit_threads

def numbers():
    counts = [effective_n_threads(n) for n in (None, 1, 2)]
    print(*counts, limit_threads(2), flush=True)

numbers()
for _ in range(2):  # a child, and a child of the child
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        break
    numbers()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.skipif(not has_openmp(), reason="built without OpenMP")
def test_a_forked_child_has_one_thread():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout.splitlines() == ["2 1 2 2", "1 1 1 1", "1 1 1 1"], done.stderr


def test_at_least_one_thread():
    assert effective_n_threads(1) == 1
    assert effective_n_threads(None) >= 1
