"""A fit that fails leaves the estimator as it was."""

from contextlib import contextmanager

from sklearn_bandit._compat import CALLBACK_STATE


@contextmanager
def unchanged_on_failure(estimator):
    """Take back all attributes that were set, should an exception come through.

    Validation sets ``n_features_in_`` before anything is computed: an estimator that
    keeps its last model must not keep the width of other data with it. Interrupts are
    exceptions as well. Callbacks that watch the fit are still to be told of its end.

    Parameters
    ----------
    estimator : object
        Its attributes are put back; what they refer to must not have changed.
    """
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        now = vars(estimator)
        before |= {name: now[name] for name in CALLBACK_STATE if name in now}
        # One assignment: no other thread sees half of the attributes.
        estimator.__dict__ = before
        raise
