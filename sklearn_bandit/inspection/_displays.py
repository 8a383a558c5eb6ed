"""Pictures of what searches did, in the manner of scikit-learn's displays.

A display is made by one of its ``from_...`` methods, which compute and draw. It keeps
what it has drawn (``ax_``, ``figure_``, ``lines_``), and ``plot`` draws it again.
matplotlib is imported when something is drawn.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_validate

from .._compat import check_is_fitted
from ..bandit import BestArmResult


class _Display:
    """What the displays share: axes."""

    def _start(self, ax):
        """Set ``ax_``, ``figure_`` and an empty ``lines_``; return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} needs matplotlib: pip install matplotlib."
            ) from error
        if ax is None:
            _, ax = plt.subplots()
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        return ax


class SurvivorsDisplay(_Display):
    """How many arms were left after each round of a search.

    Parameters
    ----------
    n_survivors : ndarray of shape (n_rounds + 1,)
        Arms left before the first round and after each.
    n_references : ndarray of shape (n_rounds + 1,)
        References that these had been pulled on.
    name : str, default=None
        Label of the curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The curve.

    See Also
    --------
    sklearn_bandit.bandit.best_arm : The search; ``history=True`` keeps its rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_bandit.bandit import best_arm
    >>> from sklearn_bandit.inspection import SurvivorsDisplay
    >>> costs = np.random.default_rng(0).random((50, 20_000)) + np.arange(50)[:, None]
    >>> result = best_arm(
    ...     lambda arms, references: costs[np.ix_(arms, references)],
    ...     n_arms=50, n_references=20_000, random_state=0, history=True,
    ... )
    >>> display = SurvivorsDisplay.from_result(result)  # doctest: +SKIP
    """

    def __init__(
        self,
        n_survivors: np.ndarray,
        n_references: np.ndarray,
        *,
        name: str | None = None,
    ) -> None:
        self.n_survivors = n_survivors
        self.n_references = n_references
        self.name = name

    @classmethod
    def from_result(
        cls, result: BestArmResult, *, ax: Any = None, name: str | None = None
    ) -> Self:
        """Draw the search of :func:`~sklearn_bandit.bandit.best_arm`.

        Parameters
        ----------
        result : BestArmResult
            Has its history: the search was called with ``history=True``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Label of the curve.

        Returns
        -------
        SurvivorsDisplay
            What was drawn.
        """
        if result.history is None:
            raise ValueError(
                "The search kept no history: call best_arm with history=True."
            )
        rounds = result.history
        n_survivors = [len(result.means), *(len(each.survivors) for each in rounds)]
        n_references = [0, *(each.n_references for each in rounds)]
        display = cls(np.array(n_survivors), np.array(n_references), name=name)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SurvivorsDisplay
            This display.
        """
        ax = self._start(ax)
        self.lines_ += ax.step(
            self.n_references,
            self.n_survivors,
            where="post",
            marker="o",
            label=self.name,
        )
        ax.set(
            xlabel="references sampled", ylabel="arms that may be best", yscale="log"
        )
        if self.name is not None:
            ax.legend()
        return self


class RacingDisplay(_Display):
    """Mean scores of the candidates of a race, fold by fold, until they were dropped.

    Parameters
    ----------
    means : list of ndarray of shape (n_folds_done,)
        For each candidate, the mean score over its first folds.
    best_index : int
        The candidate that was chosen.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The curves, one a candidate.

    See Also
    --------
    sklearn_bandit.model_selection.BanditGridSearchCV : The race.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_bandit.inspection import RacingDisplay
    >>> from sklearn_bandit.model_selection import BanditGridSearchCV
    >>> search = BanditGridSearchCV(
    ...     DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}, cv=10
    ... ).fit(*load_iris(return_X_y=True))
    >>> display = RacingDisplay.from_estimator(search)  # doctest: +SKIP
    """

    def __init__(self, means: list[np.ndarray], best_index: int) -> None:
        self.means = means
        self.best_index = best_index

    @classmethod
    def from_estimator(
        cls, search: BaseEstimator, *, score: str = "score", ax: Any = None
    ) -> Self:
        """Draw a fitted search.

        Parameters
        ----------
        search : BanditGridSearchCV or BanditRandomizedSearchCV
            The fitted search.
        score : str, default="score"
            Name of the metric, where there are several.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        RacingDisplay
            What was drawn.
        """
        check_is_fitted(search)
        results = search.cv_results_
        names = [f"split{fold}_test_{score}" for fold in range(search.n_splits_)]
        if "n_folds_done" not in results or names[0] not in results:
            raise ValueError(
                f"cv_results_ has no folds of {score!r} in the order of a race: the "
                "search must be one of sklearn_bandit.model_selection."
            )
        scores = np.array([results[name] for name in names], dtype=float)
        n_done = np.asarray(results["n_folds_done"])
        # The fold that most candidates have done was the first.
        order = np.argsort(-np.isfinite(scores).sum(axis=1), kind="stable")
        scores = scores[order]
        means = [
            np.cumsum(scores[:n, i]) / np.arange(1, n + 1) for i, n in enumerate(n_done)
        ]
        return cls(means, int(search.best_index_)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves; the candidate that was chosen is on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        RacingDisplay
            This display.
        """
        ax = self._start(ax)
        for i, means in enumerate(self.means):
            is_best = i == self.best_index
            self.lines_ += ax.plot(
                np.arange(1, len(means) + 1),
                means,
                color="C0" if is_best else "0.6",
                zorder=3 if is_best else 2,
                marker="o",
                markevery=[-1] if len(means) else None,
                label="chosen" if is_best else None,
            )
        ax.set(xlabel="folds", ylabel="mean score so far")
        ax.legend()
        return self


class InsertionsDisplay(_Display):
    """What the levels of a tree cost, in insertions, with sampling and without.

    An insertion is one row in the histogram of one feature. So a level shows how much
    of the data its nodes have read, all features together: neither how many rows each
    of them has looked at, nor seconds.

    Parameters
    ----------
    depths : ndarray of shape (n_levels,)
        The levels, the root's is 0.
    insertions : dict of str to ndarray of shape (n_levels,)
        For each solver, insertions into histograms at each level: those of a tree that
        ends there less those of a tree that ends one level above.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The curves, one a solver.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn_bandit.inspection import InsertionsDisplay
    >>> from sklearn_bandit.tree import DecisionTreeClassifier
    >>> X, y = make_classification(30_000, 60, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> tree.n_sampled_nodes_ > 0  # otherwise the two curves are one
    True
    >>> display = InsertionsDisplay.from_estimator(
    ...     tree, X, y, max_depth=4
    ... )  # doctest: +SKIP
    """

    def __init__(self, depths: np.ndarray, insertions: dict[str, np.ndarray]) -> None:
        self.depths = depths
        self.insertions = insertions

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        max_depth: int = 8,
        solvers: tuple[str, ...] = ("mab", "exact"),
        ax: Any = None,
    ) -> Self:
        """Fit copies of a tree or forest to every depth, and draw what each level cost.

        Parameters
        ----------
        estimator : estimator
            A tree or a forest of this package. It is not changed. Give it a
            `random_state`: its trees of different depths must be the same where they
            overlap. (Very shallow trees of many rows search a part of these, see the
            :ref:`design notes <design_trees>`. The first level that does not is shown
            with what those above it were spared.)
        X, y : array-like
            The samples and targets.
        max_depth : int, default=8
            Number of levels.
        solvers : tuple of str, default=("mab", "exact")
            The solvers to compare.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        InsertionsDisplay
            What was drawn.
        """
        if not {"solver", "max_insertions"} <= set(estimator.get_params()):
            raise TypeError("The estimator must be a tree or a forest of this package.")
        insertions = {}
        for solver in solvers:
            model = clone(estimator).set_params(solver=solver)
            totals = [
                clone(model).set_params(max_depth=depth).fit(X, y).n_insertions_
                for depth in range(1, max_depth + 1)
            ]
            insertions[solver] = np.diff(totals, prepend=0)
        return cls(np.arange(max_depth), insertions).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        InsertionsDisplay
            This display.
        """
        ax = self._start(ax)
        for solver, values in self.insertions.items():
            self.lines_ += ax.plot(self.depths, values, marker="o", label=solver)
        ax.set(xlabel="level", ylabel="insertions")
        ax.set_ylim(bottom=0)
        ax.legend(title="solver")
        return self


class SpeedQualityDisplay(_Display):
    """Time to fit against quality, over the values of a parameter.

    Parameters
    ----------
    values : list
        Values of the parameter.
    times : ndarray of shape (n_values, n_folds)
        Seconds to fit.
    scores : ndarray of shape (n_values, n_folds)
        Scores on the held-out folds.
    param_name : str, default="delta"
        Name of the parameter.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn_bandit.inspection import SpeedQualityDisplay
    >>> from sklearn_bandit.tree import DecisionTreeClassifier
    >>> X, y = make_classification(30_000, 60, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    >>> tree.fit(X[:20_000], y[:20_000]).n_sampled_nodes_ > 0  # delta has a part in it
    True
    >>> display = SpeedQualityDisplay.from_estimator(
    ...     tree, X, y, param_range=[0.0, 0.01, 0.5], cv=3
    ... )  # doctest: +SKIP
    """

    def __init__(
        self,
        values: list,
        times: np.ndarray,
        scores: np.ndarray,
        *,
        param_name: str = "delta",
    ) -> None:
        self.values = values
        self.times = times
        self.scores = scores
        self.param_name = param_name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        param_name: str = "delta",
        param_range: ArrayLike = (0.0, 0.001, 0.01, 0.1),
        cv: Any = 5,
        scoring: Any = None,
        ax: Any = None,
    ) -> Self:
        """Cross-validate an estimator for every value, one fit at a time.

        Parameters
        ----------
        estimator : estimator
            The estimator; it is not changed.
        X, y : array-like
            The samples and targets.
        param_name : str, default="delta"
            The parameter.
        param_range : array-like, default=(0.0, 0.001, 0.01, 0.1)
            Its values.
        cv : int, splitter or iterable, default=5
            The folds.
        scoring : str or callable, default=None
            The score; None is the estimator's own.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpeedQualityDisplay
            What was drawn.
        """
        values = list(param_range)
        folds = [
            cross_validate(
                clone(estimator).set_params(**{param_name: value}),
                X,
                y,
                cv=cv,
                scoring=scoring,
                error_score="raise",
            )
            for value in values
        ]
        times = np.array([fold["fit_time"] for fold in folds])
        scores = np.array([fold["test_score"] for fold in folds])
        return cls(values, times, scores, param_name=param_name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw mean scores, with their standard errors, against median times.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpeedQualityDisplay
            This display.
        """
        ax = self._start(ax)
        times, means = np.median(self.times, axis=1), self.scores.mean(axis=1)
        errors = self.scores.std(axis=1) / np.sqrt(self.scores.shape[1])
        bars = ax.errorbar(times, means, errors, fmt="o-", capsize=3)
        self.lines_.append(bars.lines[0])
        for value, x, y in zip(self.values, times, means, strict=True):
            ax.annotate(
                str(value),
                (x, y),
                xytext=(4, 4),
                textcoords="offset points",
            )
        ax.set(xlabel="seconds to fit", ylabel="score", title=self.param_name)
        return self
