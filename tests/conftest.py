"""What tests of several families need."""

import os
import signal
import threading
import time

import pytest


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
        """Interrupt the main thread in so many seconds."""
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
