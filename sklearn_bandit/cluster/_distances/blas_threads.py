"""One limit on BLAS's threads for all fits of the process."""

import threading
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _thread_pools():
    return ThreadpoolController()


class _BlasLimit:
    """The limit on BLAS's threads, which is one for the whole process."""

    lock = threading.Lock()
    n_users = 0
    limiter = None


@contextmanager
def one_blas_thread():
    """Have BLAS compute on one thread.

    Fits may run at the same time in several threads of the process. The first sets the
    limit and the last takes it back: each by itself would put back what it found, which
    may be the limit of another.
    """
    with _BlasLimit.lock:
        if _BlasLimit.n_users == 0:
            _BlasLimit.limiter = _thread_pools().limit(limits=1, user_api="blas")
        _BlasLimit.n_users += 1
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.n_users -= 1
            if _BlasLimit.n_users == 0:
                _BlasLimit.limiter.restore_original_limits()
