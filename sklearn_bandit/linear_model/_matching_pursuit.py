"""Matching pursuit and orthogonal matching pursuit by adaptive sampling."""

import warnings
from dataclasses import dataclass
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state

from .._compat import Interval, StrOptions, _fit_context, check_is_fitted, validate_data
from .._core.documentation import DocumentationLinkMixin
from .._core.unchanged import unchanged_on_failure
from ..bandit import split_delta
from ._coefficients import Coefficients
from ._elimination import Elimination
from ._gram import Gram, OutOfRange
from ._row_sample import FIRST_ROWS, RowSample

# A product at a random row costs as much as this number of products at consecutive
# rows, on atoms of millions of rows (measured: 5 nanoseconds against 0.15). So exact
# products are cheaper than a sample of more than one row in `RANDOM_COST`. Sampled
# coefficients have no exact products to fall back on, and sample more.
RANDOM_COST = 32
MAX_ROWS_SAMPLED = 1 << 16

# With fewer rows a sample has no room for two rounds, and all are used.
MIN_ROWS_SAMPLED = 2 * FIRST_ROWS * RANDOM_COST

# Plain pursuit may choose an atom again: steps per atom with `tol`, at most.
MAX_STEPS_PER_ATOM = 10

# Between these, squares of entries and their sums are in the range of doubles.
SAFE_RANGE = 1e-100, 1e100

# Signals between these are numbers of single precision that are not denormal.
SINGLE_RANGE = 1e-37, 1e37

# Before an exact fit, supports are guessed from this number of rows, up to this number
# of steps.
GUESS_ROWS = 4_096
MAX_STEPS_GUESSED = 32


@dataclass
class Solution:
    """What is found for one signal."""

    coefficients: Coefficients
    intercept: float
    is_complete: bool  # whether there were enough atoms


class BanditMatchingPursuit(
    DocumentationLinkMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Sparse approximation of signals, atom by atom, by adaptive sampling.

    Each step looks for the atom (column of X) whose inner product with what is left of
    the signal is largest in absolute value. Atoms are compared on a random sample of
    the rows, and dropped when another one is surely better [1]_; only the winner's
    inner products are computed in full, and only as far as its coefficient needs them.
    The residual is never formed.

    Read more in the :ref:`user guide <matching_pursuit>`.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        Number of atoms to choose (of steps, for plain matching pursuit). None, without
        `tol`, means a tenth of the atoms and at least one.
    tol : float, default=None
        Stop when the squared norm of the residual is at most this. Overrides
        `n_nonzero_coefs`.
    fit_intercept : bool, default=True
        Whether to centre atoms and signals.
    precompute : {"auto"} or bool, default="auto"
        Whether to compute all inner products of atoms and signals first, in one matrix
        product, and to choose atoms by these. "auto" does so for at least as many
        signals as atoms. It is exact, and takes memory for all of them.
    orthogonal : bool, default=True
        Whether to fit all coefficients anew after each step (orthogonal matching
        pursuit), or only that of the atom just chosen (matching pursuit), which may
        then be chosen again.
    coef : {"exact", "sampled"}, default="exact"
        "exact" computes coefficients from all rows: the cost of a step grows with the
        number of rows, but with few atoms instead of all. "sampled" fits them to
        `sample_size` random rows: nothing grows with the number of rows, and
        coefficients are off by their sampling error.
    sample_size : int, default=8_192
        Rows that sampled coefficients are fitted to, rounded up to a power of two.
    delta : float, default=0.01
        Probability that any of the atoms chosen for a signal is not the best of its
        step. With ``delta=0`` all inner products are computed. With ``coef="sampled"``
        a step that 65,536 rows do not decide takes the best atom so far.
    n_jobs : int, default=None
        Number of threads for exact inner products; None means all.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample of rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, of the type of X; in double precision where single precision
        cannot hold them or the signals.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    n_nonzero_coefs_ : int or None
        Number of atoms that were asked for; None with `tol`.
    support_ : ndarray, or list of ndarray for several targets
        Chosen atoms in the order in which they were found.
    n_iter_ : int or list of int
        Number of steps.
    n_multiplications_ : int
        Multiplications of entries of X with entries of y or X.
    n_features_in_ : int
        Number of atoms.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the atoms, if they were all strings.

    See Also
    --------
    sklearn.linear_model.OrthogonalMatchingPursuit : The same from all inner products.

    Notes
    -----
    As in scikit-learn, atoms are compared by their inner products as they are: scale
    them to equal norms if their size should not matter.

    From 32,768 rows on X is not read as a whole, and checked for NaN and infinity where
    it is read: at the sampled rows of all atoms, and with exact coefficients at all
    rows of the atoms that are chosen. Whatever enters the result is therefore checked.
    What is wrong with other entries goes unnoticed; ``assert_all_finite`` of
    scikit-learn looks at all of them.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), appendix to chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_simple_song
    >>> from sklearn_bandit.linear_model import BanditMatchingPursuit
    >>> X, y, notes = make_simple_song(interval=1.0, n_notes=24)
    >>> pursuit = BanditMatchingPursuit(n_nonzero_coefs=5, random_state=0).fit(X, y)
    >>> [str(note) for note in notes[pursuit.support_]]
    ['G4', 'C5', 'E4', 'E5', 'C4']
    """

    _parameter_constraints = {
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "orthogonal": ["boolean"],
        "coef": [StrOptions({"exact", "sampled"})],
        "precompute": ["boolean", StrOptions({"auto"})],
        "sample_size": [Interval(Integral, 64, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_nonzero_coefs=None,
        tol=None,
        fit_intercept=True,
        precompute="auto",
        orthogonal=True,
        coef="exact",
        sample_size=8_192,
        delta=0.01,
        n_jobs=None,
        random_state=None,
    ):
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.orthogonal = orthogonal
        self.coef = coef
        self.sample_size = sample_size
        self.delta = delta
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose atoms and fit their coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One atom a column. Not copied if it is in column-major order.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Signals.

        Returns
        -------
        self : BanditMatchingPursuit
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            X, y = self._check_input(X, y)
            if self.coef == "sampled" and self.delta == 0:
                raise ValueError("delta=0 asks for exact products: use coef='exact'.")
            if self.coef == "sampled" and self.precompute is True:
                raise ValueError(
                    "precompute=True computes exact inner products: use coef='exact'."
                )
            n_steps = self._check_steps(*X.shape)
            try:
                is_complete = self._fit_as_is(X, y, n_steps)
            except OutOfRange:
                # What was read is too large, too small, or not a number.
                assert_all_finite(X, input_name="X")
                is_complete = self._fit_scaled(X, y, n_steps)
            self.n_nonzero_coefs_ = None if self.tol is not None else n_steps
        if not is_complete:
            warnings.warn(
                "Matching pursuit ended early: the atoms left have nothing in "
                "common with the residual, or depend on those chosen.",
                RuntimeWarning,
                stacklevel=3,
            )
        return self

    def _fit_as_is(self, X, y, n_steps):
        """Fit in the type of X; return whether there were enough atoms.

        Raises `OutOfRange` if anything over- or underflows in it.
        """
        if y.dtype != X.dtype and X.dtype == np.float32:
            sizes = np.abs(y.reshape(len(y), -1)).max(axis=0)
            if not _are_within(sizes, SINGLE_RANGE).all():
                raise OutOfRange
        signals = np.asarray(y, dtype=X.dtype, order="F").reshape(len(y), -1, order="F")
        tols = [self.tol] * signals.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            solutions = self._fit_all(X, signals, n_steps, tols)
        for solution in solutions:
            coefficients = solution.coefficients
            is_finite = (
                isfinite(solution.intercept) and np.isfinite(coefficients.values).all()
            )
            is_empty = coefficients.n_chosen == 0 and not solution.is_complete
            if not is_finite or is_empty:
                raise OutOfRange
        coefs = _dense_coefs(solutions, X.shape[1])
        intercepts = [solution.intercept for solution in solutions]
        return self._store(solutions, coefs.astype(X.dtype), intercepts, y.ndim)

    def _fit_scaled(self, X, y, n_steps):
        """Fit in double precision, atoms and signals scaled by powers of two."""
        atoms = np.array(X, dtype=np.float64, order="F")
        signals = np.array(y, dtype=np.float64, order="F").reshape(
            len(y), -1, order="F"
        )
        shift = int(_exponents(np.abs(atoms).max()))
        shifts = _exponents(np.abs(signals).max(axis=0))
        atoms = np.ldexp(atoms, -shift, out=atoms) if shift else atoms
        signals = np.asfortranarray(np.ldexp(signals, -shifts))
        tols = [None] * len(shifts)
        if self.tol is not None:
            with np.errstate(over="ignore"):
                tols = np.ldexp(float(self.tol), -2 * shifts).tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            solutions = self._fit_all(atoms, signals, n_steps, tols, checked=False)
            coefs = _dense_coefs(solutions, X.shape[1])
            coefs = np.ldexp(coefs, shifts[:, None] - shift)
            intercepts = [solution.intercept for solution in solutions]
            intercepts = np.ldexp(intercepts, shifts).tolist()
        if not (np.isfinite(coefs).all() and np.isfinite(intercepts).all()):
            raise ValueError(
                "The coefficients are beyond the range of double precision: scale X up "
                "or y down."
            )
        # Predictions are of the coefficients' type: it has to hold the signals, too.
        sizes = np.append(np.abs(coefs).max(axis=1), np.abs(y).max())
        if X.dtype == np.float32 and _are_within(sizes, SINGLE_RANGE).all():
            coefs = coefs.astype(np.float32)
        return self._store(solutions, coefs, intercepts, y.ndim)

    def _fit_all(self, X, signals, n_steps, tols, checked=True):
        """Return the solution for each signal; count the multiplications."""
        gram = Gram(X, signals, self.fit_intercept, self.n_jobs, checked)
        sample = RowSample(gram.atoms, gram.signals, self._seed())
        elimination = Elimination(sample, self.fit_intercept)
        columns = range(X.shape[1], X.shape[1] + signals.shape[1])
        if self._precomputes(signals.shape[1], X.shape[1]):
            gram.compute_all()
        if self.coef == "sampled" and X.shape[0] > max(self.sample_size, FIRST_ROWS):
            pursue = partial(self._pursue_sample, elimination, self.sample_size)
            intercept = partial(elimination.intercept, n_rows=self.sample_size)
        else:
            pursue = partial(self._pursue, gram, elimination)
            intercept = gram.intercept
            if self.delta > 0 and not gram.is_complete:
                self._guess_supports(gram, elimination, columns, n_steps, tols)
        solutions = []
        for column, tol in zip(columns, tols, strict=True):
            coefficients = Coefficients(self.orthogonal)
            is_complete = pursue(coefficients, column, n_steps, tol)
            solutions.append(
                Solution(coefficients, intercept(coefficients, column), is_complete)
            )
        if not sample.is_finite:
            raise OutOfRange
        self.n_multiplications_ = int(gram.n_multiplied + elimination.n_multiplied)
        return solutions

    def _precomputes(self, n_signals, n_atoms):
        """Whether all inner products are computed first."""
        if self.precompute == "auto":
            return self.coef == "exact" and n_signals >= n_atoms
        return self.precompute

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the approximations of the signals at the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Values of the atoms.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Linear combinations of the chosen atoms.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X @ self.coef_.T + self.intercept_

    def _check_input(self, X, y):
        """Validate the input; an array that needs no conversion is not read.

        Whether all entries are finite is checked here if the search reads all of them,
        by the search otherwise.
        """
        if (
            type(X) is np.ndarray
            and type(y) is np.ndarray
            and X.dtype in (np.float64, np.float32)
            and X.dtype == y.dtype
            and X.ndim == 2
            and y.shape == X.shape[:1]
            and X.size > 0
            and X.flags.f_contiguous
            and not hasattr(self, "feature_names_in_")
            and (get_config()["assume_finite"] or self._checks_itself(X.shape[0]))
        ):
            assert_all_finite(y, input_name="y")
            self.n_features_in_ = X.shape[1]
            return X, y
        shape = getattr(X, "shape", ())
        n_rows = shape[0] if len(shape) == 2 else 0
        return validate_data(
            self,
            X,
            y,
            dtype=[np.float64, np.float32],
            order="F",
            ensure_all_finite=not self._checks_itself(n_rows),
            multi_output=True,
            y_numeric=True,
        )

    def _checks_itself(self, n_rows):
        """Whether the search reads too little of X to have all of it checked."""
        return self.delta > 0 and n_rows >= MIN_ROWS_SAMPLED

    def _check_steps(self, n_samples, n_atoms):
        """Return how many steps there may be."""
        if self.n_nonzero_coefs is not None and self.n_nonzero_coefs > n_atoms:
            raise ValueError(
                f"n_nonzero_coefs={self.n_nonzero_coefs} is more than the number of "
                f"atoms, {n_atoms}."
            )
        if self.tol is not None:
            return n_atoms if self.orthogonal else MAX_STEPS_PER_ATOM * n_atoms
        if self.n_nonzero_coefs is not None:
            return self.n_nonzero_coefs
        return max(n_atoms // 10, 1)

    def _seed(self):
        """Return an integer; making a `RandomState` takes as long as a step."""
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        return int(seed)

    def _step_delta(self, n_steps):
        """Return the error probability of one step; all its atoms share it."""
        return split_delta(self.delta, 1, 1, n_steps)

    def _guess_supports(self, gram, elimination, columns, n_steps, tols):
        """Guess by sampled coefficients which atoms will be chosen for the signals.

        All inner products among these and the signal are computed in one pass, instead
        of one pass in every step. A wrong guess costs only time.
        """
        n_steps = min(n_steps, MAX_STEPS_GUESSED)
        if n_steps == 1 or gram.n_rows < RANDOM_COST * GUESS_ROWS:
            return
        for signal, tol in zip(columns, tols, strict=True):
            coefficients = Coefficients(self.orthogonal)
            self._pursue_sample(
                elimination, GUESS_ROWS, coefficients, signal, n_steps, tol
            )
            gram.prepare([*coefficients.support.tolist(), signal])

    def _pursue_sample(self, elimination, n_rows, coefficients, signal, n_steps, tol):
        """Choose atoms for one signal by the sample alone; False if there are too few.

        `n_rows` is the number of rows that coefficients are fitted to.
        """
        return elimination.pursue(
            coefficients,
            signal,
            n_steps,
            -1.0 if tol is None else tol,
            self._step_delta(n_steps),
            min(MAX_ROWS_SAMPLED, elimination.n_rows),
            n_rows,
        )

    def _pursue(self, gram, elimination, coefficients, signal, n_steps, tol):
        """Choose atoms for one signal; False if there are too few."""
        delta = self._step_delta(n_steps)
        for _ in range(n_steps):
            if tol is not None and gram.residual(coefficients, signal) <= tol:
                break
            if self.orthogonal and coefficients.n_chosen == gram.n_atoms:
                break
            atom = self._choose(gram, elimination, coefficients, signal, delta)
            if atom is None:
                return False
            support = coefficients.support.tolist()
            products = gram.products(atom, [atom, signal, *support])
            if not coefficients.add(atom, products):
                return False
        return True

    def _choose(self, gram, elimination, coefficients, signal, delta):
        """Return the atom with the largest inner product; None if there is none."""
        limit = gram.n_rows // RANDOM_COST
        if delta == 0 or gram.n_rows < MIN_ROWS_SAMPLED or gram.is_complete:
            limit = 0
        intercept = gram.intercept(coefficients, signal)
        candidates = elimination.choose(coefficients, signal, intercept, delta, limit)
        if len(candidates) == 1 and limit > 0:
            return int(candidates[0])
        candidates.sort()
        return gram.best_atom(candidates, signal, coefficients)

    def _store(self, solutions, coefs, intercepts, y_ndim):
        """Set the attributes; return whether there were enough atoms for all."""
        supports = [solution.coefficients.support for solution in solutions]
        n_iter = [solution.coefficients.n_steps for solution in solutions]
        if y_ndim == 1:
            self.coef_, self.intercept_ = coefs[0], np.float64(intercepts[0])
            self.support_, self.n_iter_ = supports[0], n_iter[0]
        else:
            self.coef_ = coefs
            # Without intercepts one zero stands for all, as in scikit-learn.
            self.intercept_ = np.array(intercepts) if self.fit_intercept else 0.0
            self.support_, self.n_iter_ = supports, n_iter
        return all(solution.is_complete for solution in solutions)


def _dense_coefs(solutions, n_atoms):
    """Coefficients of all atoms, one row a signal."""
    coefs = np.zeros((len(solutions), n_atoms))
    for target, solution in enumerate(solutions):
        coefficients = solution.coefficients
        coefs[target, coefficients.support] = coefficients.values
    return coefs


def _exponents(sizes):
    """Exponents of sizes that are out of the safe range; else zero."""
    return np.where(_are_within(sizes, SAFE_RANGE), 0, np.frexp(sizes)[1])


def _are_within(sizes, limits):
    """Whether sizes are within some limits, or zero."""
    low, high = limits
    return ((low < sizes) & (sizes < high)) | (sizes == 0)
