"""How a long fit tells what it is doing: ``verbose`` and scikit-learn's callbacks.

An estimator with steps worth showing derives from :class:`ProgressMixin` and wraps its
``fit`` in ``with_callbacks`` (from ``_compat``)::

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        fitted = lambda: {"medoids_": list(medoids)}
        with self._progress(self.max_iter, X=X, y=y, fitted=fitted) as progress:
            for _ in range(self.max_iter):
                with progress.step("swap"):
                    ...
                if progress.should_stop:
                    break

Then ``set_callbacks(ProgressBar())`` draws a bar where the installed scikit-learn has
callbacks, ``ScoringMonitor`` scores what is fitted so far, a callback can ask to stop,
and ``verbose=1`` prints a line a step everywhere. Lines of this package go through
:func:`say`; joblib and scikit-learn print some of their own.
"""

import time
from contextlib import contextmanager

from sklearn_bandit._compat import CallbackSupportMixin, callback_context, is_watched


def say(message, *, end="\n"):
    """Tell what `verbose` asks for: on standard output, as scikit-learn does."""
    print(message, end=end)


class ProgressMixin(CallbackSupportMixin):
    """Give an estimator ``set_callbacks`` and steps that can be watched."""

    @contextmanager
    def _progress(
        self,
        n_steps=None,
        verbose=None,
        *,
        X=None,
        y=None,
        sample_weight=None,
        fitted=None,
    ):
        """Open the fit as a task of steps.

        Parameters
        ----------
        n_steps : int or None
            Most steps that there can be, 0 if the fit has none; None if not known.
        verbose : bool or None
            Whether to print the steps; None for the estimator's own `verbose`.
        X, y, sample_weight
            What is fitted, as passed to `fit`: callbacks may predict and score it.
        fitted : callable or None
            Returns the attributes that a copy of the estimator needs to predict as if
            the fit had ended now, or None if it cannot yet. Only called by callbacks
            that want such a copy.

        Yields
        ------
        Progress
            Has the steps.
        """
        context, details = None, {}
        if is_watched(self):
            metadata = (
                None if sample_weight is None else {"sample_weight": sample_weight}
            )
            details = {"estimator": self, "X": X, "y": y, "metadata": metadata}
            context = callback_context(self, n_steps)
            context.call_on_fit_task_begin(**details)
            details["reconstruction_attributes"] = fitted
        if verbose is None:
            verbose = getattr(self, "verbose", 0)
        yield Progress(self, context, details, n_steps, verbose)
        if context is not None:
            context.call_on_fit_task_end(**details)


class Progress:
    """The steps of one fit.

    Attributes
    ----------
    should_stop : bool
        Whether a callback has asked, at the end of a step, for no more of them.
    """

    def __init__(self, estimator, context, details, n_steps, verbose):
        self.estimator = estimator
        self.context = context
        self.details = details
        self.n_steps = n_steps
        self.verbose = verbose
        self.n_done = 0
        self.should_stop = False
        self.start = time.perf_counter()

    @contextmanager
    def step(self, name):
        """Do one step; what is raised in it passes through."""
        task = None
        if self.context is not None:
            task = self.context.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self.details)
        yield
        self.n_done += 1
        if task is not None and task.call_on_fit_task_end(**self.details):
            self.should_stop = True
        if self.verbose:
            of = "" if self.n_steps is None else f" of at most {self.n_steps}"
            seconds = time.perf_counter() - self.start
            owner = type(self.estimator).__name__
            say(f"[{owner}] step {self.n_done}{of}: {name}, {seconds:.2f} s")
