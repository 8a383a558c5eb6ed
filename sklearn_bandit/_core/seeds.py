"""Random numbers of many seeds, one after the other."""

import threading

import numpy as np

_local = threading.local()


def seeded(seed):
    """Return a generator in the state of ``np.random.RandomState(seed)``.

    To make one takes a tenth of a millisecond, to seed it again 3 microseconds. Each
    thread has one, which is valid until the thread asks for the next.

    Parameters
    ----------
    seed : int
        The seed.

    Returns
    -------
    numpy.random.RandomState
        The generator of this thread.
    """
    if not hasattr(_local, "generator"):
        _local.generator = np.random.RandomState(seed)
    _local.generator.seed(seed)
    return _local.generator
