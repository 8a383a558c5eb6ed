"""Run a function in a new process, which may die or hang.

The processes are forked from one that has imported scikit-learn and computed nothing,
so that they start in milliseconds and have no threads before their own. It has not
imported this package, whose kernels would take them for forks of a process that has
threads, and use one.
"""

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

PRELOADED = [
    "pandas",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
]


def run_apart(function, *args, seconds=120.0):
    """Call a function of an importable module in a new process.

    Parameters
    ----------
    function : callable
        What to call.
    *args
        Its arguments.
    seconds : float
        How long it may take.

    Returns
    -------
    code : int or None
        Of the exit, negative for a signal; None if it had to be killed.
    result : object
        What the function returned, None if it did not.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(function, args, sender))
    with pytest.MonkeyPatch.context() as patch:
        # The server finds modules by the environment that it is started in.
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        process.start()
    sender.close()
    result = None
    deadline = time.monotonic() + seconds
    try:
        if receiver.poll(seconds):
            result = receiver.recv()
    except EOFError:
        pass
    process.join(max(0.1, deadline - time.monotonic()))
    if process.exitcode is None:
        with suppress(ProcessLookupError):  # it may have ended by itself just now
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return None, result
    return process.exitcode, result


def _run(function, args, sender):
    os.setsid()
    sender.send(function(*args))
    sender.close()
