"""Categories: which features have them, and the numbers that trees see instead.

Trees are grown on numbers, and remain trees of numbers: `CategoryEncoder` puts a number
in the place of each category, `CategoricalInputMixin` has an estimator do so wherever
it takes samples. The numbers are those of ``target_order``; ``category_splits`` writes
a tree of such numbers with sets of categories.
"""

from contextlib import contextmanager

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array

from sklearn_bandit._compat import (
    categorical_mask,
    check_is_fitted,
    take_columns,
    validate_data,
)
from sklearn_bandit._core.validation import unique_inverse

from .category_splits import CategorySplits
from .packing import allows_missing
from .target_order import TargetOrder


class CategoryEncoder:
    """Numbers in the place of categories.

    Parameters
    ----------
    is_categorical : ndarray of bool of shape (n_features,)
        Which features have categories.

    Attributes
    ----------
    is_categorical_ : ndarray of bool of shape (n_features,)
        Which features have categories.
    categories_ : dict of int to ndarray
        Categories of each of these features, sorted, missing ones left out.
    codes_ : dict of int to ndarray
        The number of each category: the smoothed mean target. NaN if no sample has it
        that trees have seen.
    """

    def __init__(self, is_categorical):
        self.is_categorical_ = is_categorical
        self._encoders = {}
        self.categories_ = {}
        self.codes_ = {}

    def transform(self, X, skip=()):
        """Put numbers in the place of categories.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Samples.
        skip : array-like of int, default=()
            Features whose categories become their places among the sorted ones instead.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            What the trees are given: categories as numbers, NaN for those that are
            missing or were not in the training set.
        """
        numbers = self._read(X)
        for feature in self._encoders:
            if feature not in skip:
                numbers[:, feature] = self._look_up(numbers[:, feature], feature)
        return numbers

    def transform_columns(self, values, features):
        """Put numbers in the place of categories, in some of the columns.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
            Samples.
        features : ndarray of int of shape (n_columns,)
            The feature of each column.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Numbers.
        """
        numbers = np.empty(np.shape(values), dtype=np.float64)
        for k, feature in enumerate(features):
            column = values[:, k]
            if self.is_categorical_[feature]:
                column = self._look_up(self._find(column, feature), feature)
            numbers[:, k] = column
        return numbers

    def read_training(self, X):
        """Find the categories of a training set.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Categories by their place among the sorted ones of their feature, NaN for
            missing ones.
        """
        for feature in np.flatnonzero(self.is_categorical_).tolist():
            self._encoders[feature] = OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=np.nan,
                encoded_missing_value=np.nan,
            ).set_output(transform="default")
        return self._read(X, is_training=True)

    def order(self, numbers, features, y, n_classes, weights):
        """Order the categories by the target; encode the training set by that.

        Parameters
        ----------
        numbers : ndarray of shape (n_samples, n_columns)
            The training set, from `read_training`. It is changed in place.
        features : ndarray of int of shape (n_columns,), or None
            The feature of each column; None if these are all.
        y : ndarray of shape (n_samples, n_outputs)
            Encoded classes or real targets.
        n_classes : ndarray of shape (n_outputs,), or None
            Number of classes of each output; None for regression.
        weights : ndarray of shape (n_samples,) or None
            Weights of the samples.
        """
        if features is None:
            features = np.arange(len(self.is_categorical_))
        for feature, categories in self.categories_.items():
            self.codes_[feature] = np.full(len(categories), np.nan)
        for column, feature in enumerate(features.tolist()):
            if feature in self.categories_:
                order = TargetOrder(
                    numbers[:, column],
                    len(self.categories_[feature]),
                    y,
                    n_classes,
                    weights,
                )
                self.codes_[feature] = order.means
                numbers[:, column] = order.training_codes()

    def category_splits(self):
        """Return what writes trees with sets of categories, for other tools.

        Returns
        -------
        CategorySplits
            Its ``convert(tree_)`` returns a tree with sets of categories, which sends
            what its ``transform(X)`` returns to the same leaves. It needs scikit-learn
            1.10 or later.
        """
        return CategorySplits(self)

    def __eq__(self, other):
        """Whether another encoder gives the same numbers."""
        if not isinstance(other, CategoryEncoder):
            return NotImplemented
        return np.array_equal(self.is_categorical_, other.is_categorical_) and all(
            np.array_equal(self.categories_[feature], other.categories_[feature])
            and np.array_equal(codes, other.codes_[feature], equal_nan=True)
            for feature, codes in self.codes_.items()
        )

    def _read(self, X, is_training=False):
        """Return samples as numbers, categories by their place among the known."""
        numbers = np.empty(X.shape, dtype=np.float64, order="F")
        numerical = np.flatnonzero(~self.is_categorical_)
        if len(numerical):
            numbers[:, numerical] = check_array(
                take_columns(X, numerical), dtype=np.float64, ensure_all_finite=False
            )
        for feature in self._encoders:
            column = take_columns(X, feature)
            numbers[:, feature] = self._find(column, feature, is_training)
        return numbers

    def _find(self, column, feature, is_training=False):
        """Return the places of values among the categories; in training, find these."""
        distinct, places = distinct_values(column)
        # The last one is what pandas calls missing: its place is -1.
        distinct = np.append(distinct, np.nan) if len(distinct) == 0 else distinct
        encoder, distinct = self._encoders[feature], distinct.reshape(-1, 1)
        if is_training:
            (categories,) = encoder.fit(distinct).categories_
            is_missing = np.isnan(encoder.transform(categories.reshape(-1, 1))[:, 0])
            self.categories_[feature] = categories[~is_missing]
        return np.append(encoder.transform(distinct)[:, 0], np.nan)[places]

    def _look_up(self, ordinals, feature):
        codes = np.append(self.codes_[feature], np.nan)
        last = len(codes) - 1
        places = np.where(np.isnan(ordinals), last, ordinals).astype(np.intp)
        return codes[places]


def distinct_values(column):
    """Return the distinct values of a column, and the place of each value among them.

    Encoders sort what they are given. Columns of pandas have their own, faster way to
    few values; for these, -1 is the place of a missing one.
    """
    if hasattr(column, "factorize"):
        places, distinct = column.factorize()
        return np.asarray(distinct), places
    values = np.asarray(column)
    if values.dtype.kind in "iufb":
        return unique_inverse(values)
    if values.dtype.kind == "O":
        # Encoders know NaN as missing, and None as a category.
        values = np.array([np.nan if one is None else one for one in values], object)
    return values, np.arange(len(values))


class CategoricalInputMixin:
    """Encode the categories of samples, in training and wherever they are taken."""

    # Trees are given numbers: scikit-learn's prediction, from 1.10 on, reads these.
    is_categorical_ = None
    _categorical_encoder = None

    category_encoder_ = None

    def _validate_training(self, X, y, **checks):
        """Check a training set as scikit-learn does; categories become numbers.

        Returns
        -------
        X, y : ndarray
            Categories are numbered in X, but not yet ordered.
        encoder : CategoryEncoder or None
            What has done so; None if there are no categories.
        """
        with explained(self):
            X, encoder = self._make_encoder(X)
            if encoder is None:
                X, y = validate_data(self, X, y, **checks)
                return X, y, None
            numbers = encoder.read_training(X)
        _, y = validate_data(self, numbers, y, **checks)
        # The names are those of the data frame.
        validate_data(self, X, skip_check_array=True)
        return numbers, y, encoder

    def _make_encoder(self, X):
        """Return X and an encoder of its categories, None if it has none."""
        chosen = self.categorical_features
        if chosen is None:
            return X, None
        if not isinstance(chosen, str):
            if issparse(X):
                raise ValueError(
                    "categorical_features needs a dense X. Pass X.toarray(), or encode "
                    "the categories before, for example by OneHotEncoder, and set "
                    "categorical_features=None."
                )
            X = as_columns(X)
        mask = categorical_mask(X, chosen)
        if mask is None:
            return X, None
        if self.monotonic_cst is not None:
            constraints = np.asarray(self.monotonic_cst)
            if constraints.shape == mask.shape and constraints[mask].any():
                raise ValueError(
                    "Categorical features cannot have monotonic constraints."
                )
        return X, CategoryEncoder(mask)

    def _order_categories(self, encoder, numbers, features, y, n_classes, weights):
        """Order the categories by the target, and keep the encoder."""
        if encoder is not None:
            encoder.order(numbers, features, y, n_classes, weights)
        self.category_encoder_ = encoder

    def _validate_X_predict(self, X, *check_input):
        """Check samples and encode their categories."""
        encoder = self.category_encoder_
        if encoder is None:
            return super()._validate_X_predict(X, *check_input)
        check_is_fitted(self)
        if issparse(X):
            raise ValueError("The model was fitted to categories: X must be dense.")
        X = as_columns(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        numbers = encoder.transform(X)
        return check_array(
            numbers,
            dtype=np.float32,
            ensure_all_finite="allow-nan" if allows_missing(self, numbers) else True,
            estimator=self,
            input_name="X",
        )

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """Encode the categories in a grid, for `sklearn.inspection`."""
        if self.category_encoder_ is not None:
            grid = self.category_encoder_.transform_columns(grid, target_features)
        return super()._compute_partial_dependence_recursion(grid, target_features)


def as_columns(X):
    """Return samples whose columns can be taken, each with its own type."""
    if hasattr(X, "columns"):
        return X
    dtype = None if hasattr(X, "dtype") else object
    return check_array(X, dtype=dtype, ensure_all_finite=False)


@contextmanager
def explained(estimator):
    """Say what to do with strings where numbers are expected."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        name = type(estimator).__name__
        if isinstance(estimator.categorical_features, str):
            remedy = (
                f"name it in `categorical_features` of {name}, or give its column the "
                'type "category" in a data frame'
            )
        else:
            remedy = (
                f"add it to `categorical_features` of {name}, which has to name all of "
                'them, columns of the type "category" too'
            )
        raise ValueError(
            f"{error}. If the feature has categories, {remedy}."
        ) from error
