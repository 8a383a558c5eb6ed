"""How a long fit tells what it is doing: ``verbose`` and scikit-learn's callbacks.

An estimator with steps worth showing derives from :class:`ProgressMixin` and wraps its
``fit`` in ``with_callbacks`` (from ``_compat``)::

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        with self._progress(n_steps=self.n_clusters) as progress:
            for _ in range(self.n_clusters):
                with progress.step("build"):
                    ...

Then ``set_callbacks(ProgressBar())`` draws a bar where the installed scikit-learn has
callbacks, and ``verbose=1`` prints a line a step everywhere.
"""

import time
from contextlib import contextmanager

from ._compat import HAS_CALLBACKS, CallbackSupportMixin, callback_context


class ProgressMixin(CallbackSupportMixin):
    """Give an estimator ``set_callbacks`` and steps that can be watched."""

    @contextmanager
    def _progress(self, n_steps=None, verbose=None):
        """Open the fit as a task of at most `n_steps` steps (None: not known).

        Steps are printed if `verbose` says so (None: the estimator's own `verbose`).
        """
        context = None
        if HAS_CALLBACKS:
            context = callback_context(self, n_steps)
            context.call_on_fit_task_begin(estimator=self)
        if verbose is None:
            verbose = getattr(self, "verbose", 0)
        progress = Progress(self, context, n_steps, verbose)
        yield progress
        if HAS_CALLBACKS:
            context.call_on_fit_task_end(estimator=self)


class Progress:
    """The steps of one fit."""

    def __init__(self, estimator, context, n_steps, verbose):
        self.estimator = estimator
        self.context = context
        self.n_steps = n_steps
        self.verbose = verbose
        self.n_done = 0
        self.start = time.perf_counter()

    @contextmanager
    def step(self, name):
        """Do one step; what is raised in it passes through."""
        task = None
        if self.context is not None:
            task = self.context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=self.estimator)
        yield
        self.n_done += 1
        if task is not None:
            task.call_on_fit_task_end(estimator=self.estimator)
        if self.verbose:
            of = "" if self.n_steps is None else f" of at most {self.n_steps}"
            seconds = time.perf_counter() - self.start
            owner = type(self.estimator).__name__
            print(f"[{owner}] step {self.n_done}{of}: {name}, {seconds:.2f} s")
