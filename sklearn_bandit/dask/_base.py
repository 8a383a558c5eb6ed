"""What the estimators of this package share: a client, and lazy prediction by blocks.

An estimator is a subclass of the local one of the same name, and says so:

    class RandomForestClassifier(
        DaskEstimator,
        ensemble.RandomForestClassifier,
        local_class=ensemble.RandomForestClassifier,
    ):
        def fit(self, X, y, sample_weight=None): ...

Everything else it has from here: the parameter ``client``, and those methods of the
local class that take samples, for dask collections too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import delayed
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from sklearn_bandit._compat import add_constraints
from sklearn_bandit._core.documentation import DocumentationLinkMixin

from ._client import resolve_client
from ._collections import Partitions, is_collection, make_row, row_blocks

# Methods of local models that answer row by row.
ROW_METHODS = (
    "apply",
    "decision_function",
    "kneighbors",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "transform",
)


class DaskEstimator(DocumentationLinkMixin, BaseEstimator):
    """A local estimator that learns from dask collections.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        Those of the local class.
    """

    _local_class: ClassVar[type]

    # Parameters that the local class does not have, beside `client`, with defaults and
    # what they may be.
    _more_parameters: ClassVar[dict[str, Any]] = {}
    _more_constraints: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, local_class: type | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if local_class is None:
            return
        cls._local_class = local_class
        add_constraints(
            cls, {**cls._more_constraints, "client": [distributed.Client, None]}
        )
        _take_client(cls, local_class)
        for name in ROW_METHODS:
            local_method = getattr(local_class, name, None)
            if local_method is not None and name not in vars(cls):
                setattr(cls, name, _lazy(name, local_method))

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied: the copy has the same.
        more = {name: getattr(self, name) for name in self._more_parameters}
        return self._copy_parameters(type(self), client=self.client, **more)

    def __getstate__(self) -> dict[str, Any]:
        # Nor can it be pickled: another process has clients of its own.
        return {**super().__getstate__(), "client": None}

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of the local class.

        Its pickle needs neither this package nor dask.

        Returns
        -------
        object
            Of the local class of the same name, with the same parameters and fitted
            attributes.
        """
        local = self._copy_parameters(self._local_class)
        parameters = self.get_params(deep=False)
        for name, value in vars(self).items():
            if name not in parameters:
                setattr(local, name, value)
        return local

    @available_if(lambda self: hasattr(self, "predict"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R2 of a regressor.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            The samples. Those of a dask collection are predicted where they are.
        y : array-like or dask collection of shape (n_samples,)
            Their targets, which are brought to the client; a column for each output.
        sample_weight : array-like or dask collection, default=None
            Their weights, which are brought to the client.

        Returns
        -------
        float
            The score.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        y, predicted, sample_weight = self._compute(y, self.predict(X), sample_weight)
        return measure(y, predicted, sample_weight=sample_weight)

    def _compute(self, *values):
        """Compute collections, if a client is given on its cluster."""
        with nullcontext() if self.client is None else self.client.as_current():
            return dask.compute(*values)

    def _row_model(self):
        """Return the local model that answers for the rows of a collection."""
        return self.to_local()

    def _copy_parameters(self, cls, **more):
        parameters = {
            name: clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
            if name != "client" and name not in self._more_parameters
        }
        copy = cls(**parameters, **more)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if name in vars(self):
                setattr(copy, name, vars(self)[name])
        return copy

    def _make_local(self, **changes):
        """Return an unfitted estimator of the local class, with the same parameters."""
        names = self._local_class().get_params(deep=False)
        same = {name: getattr(self, name) for name in names}
        return self._local_class(**{**same, **changes})

    def _set_feature_names(self, partitions: Partitions) -> None:
        """Have the names of features that were fitted to, or none."""
        vars(self).pop("feature_names_in_", None)
        if partitions.feature_names is not None:
            self.feature_names_in_ = partitions.feature_names

    def _resolve_client(self):
        return resolve_client(self.client)


def _take_client(cls: type, local_class: type) -> None:
    """Give a class the local parameters, those of its own, and `client`."""
    more = {**cls._more_parameters, "client": None}

    @functools.wraps(local_class.__init__)
    def __init__(self, *args, **parameters):
        own = {name: parameters.pop(name, more[name]) for name in more}
        local_class.__init__(self, *args, **parameters)
        for name, value in own.items():
            setattr(self, name, value)

    # Scikit-learn reads the names of parameters from the signature.
    signature = inspect.signature(local_class.__init__)
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(n, keyword, default=value) for n, value in more.items()]
    __init__.__signature__ = signature.replace(
        parameters=[*signature.parameters.values(), *added]
    )
    cls.__init__ = __init__


def _lazy(name: str, local_method: Callable) -> Callable:
    """Return a method that is the local one, but lazy on dask collections."""

    @functools.wraps(local_method)
    def method(self, X, *args, **options):
        if not is_collection(X):
            return local_method(self, X, *args, **options)
        return call_by_blocks(self._row_model(), name, X, *args, **options)

    return method


def call_by_blocks(
    model: Any, method: str, X: Any, *args: Any, **options: Any
) -> da.Array | list[da.Array] | tuple[da.Array, ...]:
    """Call a method of a local model lazily on the blocks of a dask collection.

    Parameters
    ----------
    model : object
        A fitted model; it goes to each worker once.
    method : str
        Name of a method that returns arrays with a row for each row of X.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
        The samples.
    *args, **options : object
        Further arguments of the method.

    Returns
    -------
    dask.array.Array, or list or tuple of dask.array.Array
        As the method returns one array or several.
    """
    # One row tells what the method returns, and raises what it raises.
    answer = getattr(model, method)(make_row(X), *args, **options)
    parts = answer if isinstance(answer, list | tuple) else [answer]
    shown = [np.asarray(part)[:0] for part in parts]

    model = delayed(model, pure=False, traverse=False)
    call = delayed(_call, pure=False, nout=len(shown))
    blocks, n_rows = row_blocks(X)
    called = [call(model, method, block, shown, args, options) for block in blocks]
    arrays = [
        da.concatenate(
            [
                da.from_delayed(some[i], (n, *part.shape[1:]), meta=part)
                for some, n in zip(called, n_rows, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for i, part in enumerate(shown)
    ]
    return arrays[0] if parts is not answer else type(answer)(arrays)


def _call(model, method, X, shown, args, options):
    """On a worker: call a method on the rows of a block, of which there may be none."""
    if len(X) == 0:
        return shown
    answer = getattr(model, method)(X, *args, **options)
    parts = answer if isinstance(answer, list | tuple) else [answer]
    return [np.asarray(part) for part in parts]
