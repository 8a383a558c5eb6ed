"""The estimators of the package, found by their classes."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import sklearn.utils
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    RegressorMixin,
    TransformerMixin,
)

import sklearn_bandit

KINDS = {
    "classifier": ClassifierMixin,
    "regressor": RegressorMixin,
    "cluster": ClusterMixin,
    "transformer": TransformerMixin,
}

Kind = Literal["classifier", "regressor", "cluster", "transformer"]


def all_estimators(
    type_filter: Kind | Sequence[Kind] | None = None,
) -> list[tuple[str, type[BaseEstimator]]]:
    """List the estimators of sklearn-bandit, as scikit-learn's ``all_estimators`` does.

    Parameters
    ----------
    type_filter : {"classifier", "regressor", "cluster", "transformer"} or list of \
            them, default=None
        Which kinds of estimators to list; None lists all, those of no kind too.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name. Those of ``sklearn_bandit.dask``, which have
        the same names, are left out.

    Examples
    --------
    >>> from sklearn_bandit.utils import all_estimators
    >>> [name for name, _ in all_estimators("cluster")]
    ['BanditKMedoids']
    """
    kinds: tuple[type, ...] = ()
    if type_filter is not None:
        wanted = [type_filter] if isinstance(type_filter, str) else list(type_filter)
        unknown = sorted(set(wanted) - set(KINDS))
        if unknown or not wanted:
            raise ValueError(
                f"type_filter must be among {sorted(KINDS)}, or None; got {unknown}."
            )
        kinds = tuple(KINDS[kind] for kind in wanted)
    found = {}
    packages = [getattr(sklearn_bandit, name) for name in sklearn_bandit.__all__]
    for package in filter(inspect.ismodule, packages):
        for public in package.__all__:
            value = getattr(package, public)
            if (
                inspect.isclass(value)
                and issubclass(value, BaseEstimator)
                and (type_filter is None or issubclass(value, kinds))
            ):
                found[public] = value
    return sorted(found.items())


@contextmanager
def listed_in_sklearn() -> Iterator[None]:
    """Have ``sklearn.utils.all_estimators`` list the estimators of this package, too.

    Tools that ask scikit-learn once which estimators there are then know of these as
    well. mlflow is one: it logs the fits of what is on the list when it is told to. The
    list is scikit-learn's own again after the block.

    Examples
    --------
    >>> import sklearn.utils
    >>> from sklearn_bandit.utils import listed_in_sklearn
    >>> with listed_in_sklearn():  # here: mlflow.sklearn.autolog()
    ...     "BanditKMedoids" in dict(sklearn.utils.all_estimators())
    True
    """
    original = sklearn.utils.all_estimators

    def both(type_filter=None):
        return original(type_filter) + all_estimators(type_filter)

    sklearn.utils.all_estimators = both
    try:
        yield
    finally:
        sklearn.utils.all_estimators = original
