"""Output layers as maximum inner product search (thesis, chapter 5)."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if

from .._compat import (
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    check_is_fitted,
    validate_data,
)
from .._core.documentation import DocumentationLinkMixin
from .._core.typing import MatrixLike
from .._core.unchanged import unchanged_on_failure
from .._core.validation import is_plain_matrix
from ..neighbors import BanditMIPS, BanditNearestNeighbors
from ._class_sample import ClassSample, is_worth_a_sample
from ._output_layer import (
    has_softmax,
    largest_proba,
    largest_products,
    own_proba,
    read_layer,
)

# From this number of features on a sample of them is searched instead of bytes.
# Measured on classes with random centres, 1,000 to 4,000 of them: bytes are faster at
# 4,000 features (3 times) and a sample at 16,000 (2.5 times); about equal at 8,000.
MIN_FEATURES_SAMPLE = 8_000


def _has_probabilities(predictor):
    """Whether the classifier has probabilities; raises its own error otherwise."""
    if hasattr(predictor, "estimator_"):
        estimator = predictor.estimator_
    elif predictor.estimator is None:
        estimator = LogisticRegression()
    else:
        estimator = predictor.estimator
    getattr(estimator, "predict_proba")  # noqa: B009
    return True


class MIPSPredictor(
    DocumentationLinkMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    """A linear classifier that predicts without computing all its scores.

    The class that a linear classifier predicts is the one whose weights have the
    largest inner product with the input, intercepts included: a maximum inner product
    search. It pays for many classes and wide inputs (thousands of each).

    Read more in the :ref:`user guide <output_layers>`.

    Parameters
    ----------
    estimator : estimator, default=None
        A linear classifier that has ``coef_``, ``intercept_`` and ``classes_`` when it
        is fitted, one row of weights a class: LogisticRegression, RidgeClassifier,
        SGDClassifier, LinearSVC, LinearDiscriminantAnalysis. None is
        ``LogisticRegression()``. :meth:`fit` fits a clone of it; one that is fitted
        already is taken as it is with `prefit`, or in a
        :class:`sklearn.frozen.FrozenEstimator`.
    prefit : bool, default=False
        Whether `estimator` is fitted and used itself. :meth:`fit` needs neither X nor y
        then. A clone of the predictor, as in a cross-validation, has an estimator that
        is not fitted: use a FrozenEstimator there.
    n_neighbors : int, default=5
        Number of classes whose scores :meth:`decision_function` computes, and that
        :meth:`top_classes` returns; more take longer. :meth:`predict` looks for one.
    delta : float, default=0.01
        Probability, for each input, that the classes found are not those with the
        largest scores, or that an error of :meth:`predict_top_proba` is larger than its
        bound. Smaller values take longer; 0 is exact.
    epsilon : float, default=0.0
        How much smaller than the largest score that of a class found may be.
    batch_size : int, default=64
        Coordinates in the first round of a search; see
        :class:`sklearn_bandit.neighbors.BanditMIPS`.
    layout : {"auto", "bytes", "sample", "zero-copy"}, default="auto"
        What the search reads.

        - "bytes": a copy of the weights in bytes, whose bounds hold with certainty:
          always exact. :class:`sklearn_bandit.neighbors.BanditNearestNeighbors`.
        - "sample": a sample of the features, laid out at fit.
          :class:`sklearn_bandit.neighbors.BanditMIPS`.
        - "zero-copy": the weights themselves; pays from 20,000 features on.
        - "auto": "bytes" below 8,000 features, "sample" from there on.
    n_jobs : int, default=None
        Number of threads for several inputs; None means all. Not passed on to
        `estimator`.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample of coordinates. Not passed on to `estimator`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Its classes.
    search_ : BanditMIPS or BanditNearestNeighbors
        The search over the weights. A BanditMIPS counts `n_multiplications_`.
    n_features_in_ : int
        Number of features of the input.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if they were all strings.

    See Also
    --------
    sklearn_bandit.neighbors.BanditMIPS : The search by itself.

    Notes
    -----
    Several threads may predict with one fitted estimator at the same time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn_bandit.linear_model import MIPSPredictor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(20, size=300)
    >>> X = rng.standard_normal((20, 5000))[y] + rng.standard_normal((300, 5000))
    >>> predictor = MIPSPredictor(RidgeClassifier(), random_state=0).fit(X, y)
    >>> classifier = predictor.estimator_
    >>> bool((predictor.predict(X[:50]) == classifier.predict(X[:50])).all())
    True

    Of a classifier that is fitted already:

    >>> predictor = MIPSPredictor(classifier, prefit=True, random_state=0).fit()
    >>> predictor.top_classes(X[:2], 3).shape
    (2, 3)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "prefit": ["boolean"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 16, None, closed="left")],
        "layout": [StrOptions({"auto", "bytes", "sample", "zero-copy"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        prefit=False,
        n_neighbors=5,
        delta=0.01,
        epsilon=0.0,
        batch_size=64,
        layout="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.prefit = prefit
        self.n_neighbors = n_neighbors
        self.delta = delta
        self.epsilon = epsilon
        self.batch_size = batch_size
        self.layout = layout
        self.n_jobs = n_jobs
        self.random_state = random_state

    # The parameters of the estimator are its own to check.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier, unless it is, and prepare the search over its weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Inputs to learn from, as `estimator` takes them. Not used with `prefit`.
        y : array-like of shape (n_samples,), default=None
            Their classes. Not used with `prefit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the inputs, for an `estimator` that takes them.

        Returns
        -------
        self : MIPSPredictor
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            self.estimator_ = self._fitted_estimator(X, y, sample_weight)
            weights, intercepts = self._layer()
            # What all intercepts have in common does not matter for the search. It may
            # be most of them: one large entry among many small weights, of which a
            # sample of the coordinates says nothing.
            self._offset = float(intercepts.mean())
            intercepts = intercepts - weights.dtype.type(self._offset)
            self._has_intercepts = bool(intercepts.any())
            if self._has_intercepts:
                # An intercept is the weight of an input that is always one.
                weights = np.column_stack([weights, intercepts])
            self.search_ = self._search().fit(weights)
            self._has_softmax = has_softmax(
                self.estimator_, weights[:, : self.n_features_in_]
            )
            self._class_sample = self._draw_classes(weights)
        return self

    def _search(self):
        """Return the search that the layout asks for."""
        layout = self.layout
        if layout == "auto":
            layout = "bytes" if self.n_features_in_ < MIN_FEATURES_SAMPLE else "sample"
        common = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        if layout == "bytes":
            return BanditNearestNeighbors(1, metric="inner_product", **common)
        return BanditMIPS(
            n_neighbors=1,
            delta=self.delta,
            epsilon=self.epsilon,
            batch_size=self.batch_size,
            layout="auto" if layout == "sample" else layout,
            **common,
        )

    def _draw_classes(self, weights):
        """Return the sample that estimates sums over all classes; None without."""
        if (
            not is_worth_a_sample(weights.shape)
            or not isinstance(self.search_, BanditNearestNeighbors)
            or not self._has_softmax
        ):
            return None
        random_state = check_random_state(self.random_state)
        seed = random_state.randint(np.iinfo(np.int32).max)
        return ClassSample(weights, self._has_intercepts, np.random.default_rng(seed))

    def _fitted_estimator(self, X, y, sample_weight):
        """Return a fitted clone of the estimator, or the estimator that is fitted."""
        if self.prefit:
            if self.estimator is None:
                raise ValueError("prefit=True needs an estimator that is fitted.")
            check_is_fitted(self.estimator)
            return self.estimator
        estimator = LogisticRegression() if self.estimator is None else self.estimator
        if X is None:
            raise ValueError(
                "fit needs X and y; only an estimator that is fitted already, with "
                "prefit=True, does without."
            )
        params = {} if sample_weight is None else {"sample_weight": sample_weight}
        if params and get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).estimator.fit
        return clone(estimator).fit(X, y, **params)

    def _layer(self):
        """Return weights and intercepts, one row a class; note what they belong to."""
        weights, intercepts = read_layer(self.estimator_)
        self.classes_ = self.estimator_.classes_
        self._dtype = weights.dtype
        self.n_features_in_ = weights.shape[1]
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return weights, intercepts

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        return self.top_classes(X, 1)[:, 0]

    def top_classes(self, X: MatrixLike, k: int | None = None) -> np.ndarray:
        """Find the k classes with the largest scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.
        k : int, default=None
            Number of classes; None takes `n_neighbors`, or all if there are fewer.

        Returns
        -------
        ndarray of shape (n_samples, k)
            The classes of each row, best first.
        """
        check_is_fitted(self)
        k = self._check_k(k)
        return self.classes_[self._find(self._queries(X), k)[1]]

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores of the classes with the largest ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The scores of the `n_neighbors` classes found for each input, as the
            classifier computes them; minus infinity for the others, which are not
            known. With two classes, the score of the second, always.
        """
        check_is_fitted(self)
        is_binary = len(self.classes_) == 2
        k = 2 if is_binary else self._n_looked_at()
        products, indices = self._find(self._queries(X), k)
        shape = (len(products), len(self.classes_))
        scores = np.full(shape, -np.inf, dtype=products.dtype)
        np.put_along_axis(scores, indices, products, axis=1)
        return scores[:, 1] - scores[:, 0] if is_binary else scores + self._offset

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probabilities of the classes.

        They are the classifier's own: the sum over all classes needs all scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        check_is_fitted(self)
        return own_proba(self.estimator_, self._validated(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of :meth:`predict_proba`; minus infinity for zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_has_probabilities)
    def predict_top_proba(
        self, X: MatrixLike, k: int | None = None, *, tol: float = 0.05
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the k classes with the largest scores, and their probabilities.

        For a single input and a large layer, the sum over all classes is estimated from
        a sample of them, drawn at fit. Where its error may be larger than `tol`, and
        for several inputs, sparse ones and small layers, all scores are computed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The inputs.
        k : int, default=None
            Number of classes; None takes `n_neighbors`, or all if there are fewer.
        tol : float, default=0.05
            The largest relative error. Smaller ones take longer; 0 is exact.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
            The classes of each row, best first.
        probabilities : ndarray of shape (n_samples, k)
            Their probabilities.
        errors : ndarray of shape (n_samples,)
            Bounds of their relative errors. With a probability of ``1 - delta`` for
            each input, over the draw of the sample, ``abs(found / exact - 1)`` is not
            larger for any class of a row, but for rounding; the logarithm is then off
            by at most ``-log(1 - error)``. 0 for the classifier's own.
        """
        if not hasattr(self, "search_"):
            check_is_fitted(self)
        if not isinstance(tol, Real) or isinstance(tol, bool) or not 0.0 <= tol < 1.0:
            raise ValueError(f"tol must be a number in [0, 1), got {tol!r} instead.")
        k = self._check_k(k)
        X = self._validated(X)
        is_single = X.shape[0] == 1 and not sparse.issparse(X)
        if is_single and self._class_sample is not None and min(self.delta, tol) > 0.0:
            found, probabilities, error = self._class_sample.probabilities(
                self.search_, self._with_ones(X), k, tol, self.delta
            )
            if found is not None:
                classes = self.classes_[found]
                return classes[None], probabilities[None], np.array([error])
        probabilities, found = largest_proba(self.estimator_, X, k, self._has_softmax)
        return self.classes_[found], probabilities, np.zeros(len(found))

    def _check_k(self, k):
        """Return the number of classes to find, if there are as many."""
        if k is None:
            return self._n_looked_at()
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"k must be an integer, got {k!r} instead.")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k} instead.")
        if k > len(self.classes_):
            raise ValueError(f"k={k} is more than the {len(self.classes_)} classes.")
        return int(k)

    def _n_looked_at(self):
        return min(self.n_neighbors, len(self.classes_))

    def _find(self, queries, k):
        """Return the largest products and their classes' positions."""
        is_by_bytes = isinstance(self.search_, BanditNearestNeighbors)
        if is_by_bytes and sparse.issparse(queries):
            return largest_products(self.search_._index.all_rows(), queries, k)
        return self.search_.kneighbors(queries, k)

    def _queries(self, X):
        """Validate inputs; with intercepts, each is followed by a one."""
        return self._with_ones(self._validated(X))

    def _validated(self, X):
        """Validate inputs, once."""
        if (
            not hasattr(self, "feature_names_in_")
            and is_plain_matrix(X, self.n_features_in_, (self._dtype,))
            and np.isfinite(X).all()
        ):
            return X
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=self._dtype,
            order="C",
            reset=False,
        )

    def _with_ones(self, X):
        if not self._has_intercepts:
            return X
        ones = np.ones((X.shape[0], 1), dtype=X.dtype)
        if sparse.issparse(X):
            return sparse.hstack([X, ones], format="csr", dtype=X.dtype)
        return np.hstack([X, ones])

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata to the estimator.

        Returns
        -------
        MetadataRouter
            See scikit-learn's guide to metadata routing.
        """
        estimator = LogisticRegression() if self.estimator is None else self.estimator
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=estimator, method_mapping=mapping
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = LogisticRegression() if self.estimator is None else self.estimator
        tags.input_tags.sparse = get_tags(estimator).input_tags.sparse
        return tags
