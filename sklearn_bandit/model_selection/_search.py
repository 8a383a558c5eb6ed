"""What both racing searches have in common: the course of a race.

Scikit-learn's search does the fits, the routing of metadata, the refit and everything
else; a race only decides which candidates it fits on which fold. It is given one fold
at a time (`FoldByFold`) and, for the last step, the complete table (`race_results`).
"""

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv

from .._compat import (
    ALL_FITS_FAILED,
    Interval,
    StrOptions,
    _fit_context,
    named_scorers,
)
from .._core.documentation import DocumentationLinkMixin
from .._core.progress import say
from .._core.typing import MatrixLike
from ._folds import FoldByFold
from ._race import Race
from ._results import Outcomes, race_results
from ._scorers import DefaultScorer, record

RACE_CONSTRAINTS = {
    "delta": [Interval(Real, 0, 1, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"one_se"})],
    "min_folds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
}


class RacingMixin(DocumentationLinkMixin):
    """Fold-by-fold elimination for a search of scikit-learn.

    A class that uses it has the method `_candidates`, which returns the parameters to
    try, and stands before scikit-learn's search among the bases.
    """

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the estimator knows it."""
        return super().n_features_in_

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Run the race, then fit the winner on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples, or their kernel or distance matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str -> object
            Parameters of the ``fit`` method of the estimator, the scorer and the
            splitter, as for scikit-learn's search: ``groups``, ``sample_weight``, ...

        Returns
        -------
        self : object
            The fitted search.
        """
        if self._has_named_scorers() and not isinstance(self.refit, str):
            raise ValueError(
                "With several metrics, refit must name the one that candidates race "
                f"on; got refit={self.refit!r}."
            )
        cv = self.cv
        splitter = check_cv(cv, y, classifier=is_classifier(self.estimator))
        self.cv = folds = FoldByFold(splitter)
        try:
            super().fit(X, y, **params)
        finally:
            self.cv = cv
            folds.forget()  # scikit-learn 1.9 keeps the splitter
            vars(self).pop("_course", None)
        self.n_splits_ = folds.n_folds
        scorers, _ = super()._get_scorers()
        by_name = named_scorers(scorers)
        self.scorer_ = scorers if by_name is None else by_name
        return self

    def _has_named_scorers(self):
        return isinstance(self.scoring, list | tuple | set | dict)

    def _get_scorers(self):
        scorers, refit_metric = super()._get_scorers()
        if self.scoring is None:
            return DefaultScorer(scorers), refit_metric
        return record(scorers, self.refit), refit_metric

    def _run_search(self, evaluate_candidates, callback_ctx=None):
        # Scikit-learn passes `callback_ctx` from version 1.9 on.
        candidates = list(self._candidates())
        self._course = course = _Course(self, candidates, evaluate_candidates)
        if callback_ctx is not None:
            callback_ctx = callback_ctx.subcontext(
                task_name="search", max_subtasks=None
            ).call_on_fit_task_begin(estimator=self)
        course.run(callback_ctx)
        if callback_ctx is not None:
            callback_ctx.call_on_fit_task_end(estimator=self)
        course.results.update(
            race_results(
                super()._format_results,
                course.outcomes,
                course.race,
                course.dropped_after,
            )
        )
        self.n_fits_ = int(course.race.is_done.sum())
        self.n_fits_saved_ = course.race.is_done.size - self.n_fits_

    def _format_results(self, candidate_params, n_splits, out, more_results=None):
        # Called after each fold. What the last call returns becomes `cv_results_`:
        # the same dictionary every time, filled when the race is over.
        self._course.latest = out
        return self._course.results

    def __getstate__(self):
        # The search travels with every fit (scikit-learn 1.9); its state need not.
        state = dict(super().__getstate__())
        state.pop("_course", None)
        return state


class _Course:
    """The course of one race.

    Parameters
    ----------
    search : RacingMixin
        The search, in its `fit`.
    candidates : list of dict
        Parameters.
    evaluate_candidates : callable
        Scikit-learn's: fits candidates on the present fold.
    """

    def __init__(self, search, candidates, evaluate_candidates):
        self.search = search
        self.candidates = candidates
        self.evaluate = evaluate_candidates
        self.results = {}
        self.latest = []  # of scikit-learn's outcomes
        self.race = None  # until the first fold has told how many there are
        self.outcomes = None
        self.dropped_after = np.zeros(len(candidates), dtype=int)
        self.error = None

    def run(self, context):
        """Run fold by fold until the winner has all of them."""
        self._run_fold(0, np.arange(len(self.candidates)), context)
        race = self.race
        for place in range(race.n_folds):
            if place:
                self._run_fold(place, np.flatnonzero(race.is_survivor), context)
            race.eliminate()
            if not race.is_survivor.any() and not self._revive(place, context):
                # No candidate has a mean any more. Without a single fit, the next fold
                # tells whether the data or one fold of them cannot be fitted.
                if self._has_outcomes():
                    break
                race.is_survivor[:] = True
            is_new = ~race.is_survivor & (self.dropped_after == 0)
            self.dropped_after[is_new] = place + 1
            self.dropped_after[race.is_survivor] = 0
            if self.search.verbose > 0:
                n_left = np.count_nonzero(race.is_survivor)
                say(
                    f"{place + 1} of {race.n_folds} folds done: "
                    f"{n_left} of {len(self.candidates)} candidates left"
                )
        if not self._has_outcomes():
            raise self.error

    def _has_outcomes(self):
        """Whether any fit has succeeded."""
        return any(cell is not None for row in self.outcomes.cells for cell in row)

    def _revive(self, place, context):
        """All survivors have failed: take back those that never did.

        The full search would choose among them. False if there are none.
        """
        race = self.race
        back = np.flatnonzero(~(np.isnan(race.scores) & race.is_done).any(axis=1))
        for earlier in range(place + 1):
            fold = self.search.cv.order[earlier]
            missing = back[~race.is_done[back, fold]]
            if len(missing):
                self._run_fold(earlier, missing, context)
        race.is_survivor[back] = True
        return len(back) > 0

    def _run_fold(self, place, ids, context):
        """Fit candidates on one fold and enter the results."""
        folds = self.search.cv
        folds.present = place
        options = {}
        if context is not None:
            context = context.subcontext(
                task_name="fold", max_subtasks=len(ids), sequential_subtasks=False
            ).call_on_fit_task_begin(estimator=self.search)
            options["callback_ctx"] = context
        try:
            self.evaluate([self.candidates[i] for i in ids], **options)
            outcomes = self.latest[-len(ids) :]
        except ValueError as error:
            if self.search.error_score == "raise" or ALL_FITS_FAILED not in str(error):
                raise
            # Scikit-learn takes this fold for the whole search. Other folds may do.
            self.error = error
            outcomes = [None] * len(ids)
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
        if context is not None:
            context.call_on_fit_task_end(estimator=self.search)
        if self.race is None:
            self._start(folds.n_folds)
        for i, outcome in zip(ids, outcomes, strict=True):
            self._enter(i, folds.order[place], outcome)

    def _start(self, n_folds):
        search = self.search
        min_folds = search.min_folds
        if min_folds == "auto":
            min_folds = search.cv.min_folds()
        self.race = Race(
            len(self.candidates),
            n_folds,
            delta=search.delta,
            tol=search.tol,
            min_folds=min_folds,
        )
        self.outcomes = Outcomes(self.candidates, n_folds, search.error_score)

    def _enter(self, candidate, fold, outcome):
        if outcome is None:
            self.outcomes.failed[candidate, fold] = True
            self.race.add(candidate, fold, self.search.error_score)
            return
        score = outcome["test_scores"]
        if isinstance(score, dict):
            if self.search.refit not in score:  # a scorer of the user's own
                raise ValueError(
                    "With several metrics, refit must name the one that candidates "
                    f"race on, one of {sorted(score)}; got {self.search.refit!r}."
                )
            score = score[self.search.refit]
        contributions = getattr(score, "contributions", None)
        self.race.add(candidate, fold, float(score), contributions)
        self.outcomes.add(candidate, fold, outcome)
