"""Without memory there is a MemoryError, never an end of the process."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("resource")

# Fits at more and more address space, up to where it suffices. A thread takes eight
# megabytes or so for its stack, more than all of the data.
SCRIPT = """
import resource
import sys
from pathlib import Path

import numpy as np

from sklearn_bandit import tree
from sklearn_bandit.tree._policy import SamplingPolicy

X = np.random.default_rng(0).standard_normal((60_000, 20)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
pages = int(Path("/proc/self/statm").read_text().split()[0])
before = pages * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
model = eval(sys.argv[1])
model._sampling_policy = SamplingPolicy(
    min_divided_values=20 * 20_000, min_subsampled_per_leaf=512
)
outcomes = []
for megabytes in [*range(0, 40, 2), 60, 80, 160, 320]:
    resource.setrlimit(resource.RLIMIT_AS, (before + megabytes * 2**20, hard))
    try:
        model.fit(X, y)
        outcomes.append("fitted")
    except (MemoryError, SystemError):
        # Without memory numpy may return an error without saying which.
        outcomes.append("refused")
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(*outcomes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("model", "n_threads"),
    [
        ("tree.DecisionTreeClassifier(max_depth=8)", 2),
        ("tree.DecisionTreeClassifier(max_depth=8)", 8),
        ("tree.DecisionTreeClassifier(max_depth=3)", 2),
        ("tree.DecisionTreeRegressor(solver='exact', max_leaf_nodes=2**62)", 2),
    ],
    ids=["subtrees", "subtrees in more threads", "subsample", "best first"],
)
def test_address_space(model, n_threads):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, model],
        env={
            **os.environ,
            "OMP_NUM_THREADS": str(n_threads),
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    outcomes = result.stdout.split()
    assert outcomes[0] == "refused"
    assert outcomes[-1] == "fitted"
