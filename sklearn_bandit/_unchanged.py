"""Fits that fail or are interrupted leave an estimator as it was."""

from contextlib import contextmanager
from functools import wraps


@contextmanager
def unchanged_on_error(estimator):
    """Give an estimator back its attributes if the body raises or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def keeps_state_on_error(method):
    """Decorate a method that sets attributes: all of them or, if it raises, none."""

    @wraps(method)
    def run(self, *args, **kwargs):
        with unchanged_on_error(self):
            return method(self, *args, **kwargs)

    return run
