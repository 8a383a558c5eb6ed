"""What tests of several families need."""

import os
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

# What the documentation is made with. A release has none of it.
EXTENSIONS = Path(__file__).parents[1] / "doc" / "_ext"


@pytest.fixture(scope="module")
def import_extension():
    """Return what imports a module of the documentation; later tests do not see it."""
    if not EXTENSIONS.is_dir():
        pytest.skip("the documentation is not part of a release")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXTENSIONS))
        before = set(sys.modules)
        yield import_module
        for name in set(sys.modules) - before:
            path = getattr(sys.modules[name], "__file__", None)
            if path and Path(path).parent == EXTENSIONS:
                del sys.modules[name]


class Recorder:
    """A callback that writes down what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        """Before the fit."""
        self.events.append("setup")

    def teardown(self, estimator, context):
        """After the fit, whatever happened."""
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        """Before the fit or a step of it."""
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        """After it."""
        self.events.append(f"end {context.task_name}")


@pytest.fixture
def recorder():
    """Return a callback with the `events` that it was told."""
    return Recorder()


class Interrupt:
    """Ctrl-C after a while, and how long it took to be seen."""

    def __init__(self):
        self._timer = None
        self._sent = None

    def send_after(self, seconds):
        """Interrupt the main thread after some seconds."""
        self._timer = threading.Timer(seconds, self._send)
        self._timer.start()

    def _send(self):
        self._sent = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)

    def cancel(self):
        """Do not interrupt any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    @property
    def cpu_seconds(self):
        """Work done since: other processes on the machine do not count."""
        return time.process_time() - self._sent


@pytest.fixture
def interrupt():
    """Return an `Interrupt`; Ctrl-C is heard even by a process in the background."""
    if os.name == "nt":
        pytest.skip("POSIX signals")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = Interrupt()
    try:
        yield sender
    finally:
        sender.cancel()
        signal.signal(signal.SIGINT, before)


def draw_rare_products(rng, d, share, noise=1.0, n_others=1, others=0.8):
    """Draw atoms, as rows, and a vector; the products of the last atom are rare.

    Neither the vector nor the atoms are sparse. The last atom has its part of the
    product where the vector is large, in a few coordinates, and noise where the vector
    is small. The others are flat, and their products are smaller, by a factor.
    """
    signs = rng.choice([-1.0, 1.0], d)
    order = rng.permutation(d)
    large, small = order[: d // 3], order[d // 3 :]
    vector, best = np.full(d, 0.03), np.zeros(d)
    vector[large] = 1.0
    best[large[: int(share * len(large))]] = 1.0
    n_noise = int(0.4 * len(small))
    best[small[:n_noise]] = noise * rng.standard_normal(n_noise)
    flat = rng.uniform(0.5, 1.5, (n_others, d))
    flat *= others * (best @ vector) / (flat @ vector)[:, None]
    return np.vstack([flat, best]) * signs, vector * signs


@pytest.fixture
def rare_products():
    """Return the function `draw_rare_products`."""
    return draw_rare_products
