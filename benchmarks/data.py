"""Real data sets for the benchmarks.

:func:`load` reads ``NAME.npz`` from the folder named by the environment variable
``SKLEARN_BANDIT_DATA``. Without it the sets that scikit-learn can fetch are fetched,
into scikit-learn's own cache. What is not to be had is an error: real data is never
replaced by synthetic data. The fields of a set are the same wherever it came from.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

FOLDER = "SKLEARN_BANDIT_DATA"


class DataMissing(Exception):
    """A data set is neither in the folder nor to be fetched."""


@cache
def load(name):
    """Load a data set.

    Parameters
    ----------
    name : str
        File name without its ending, for example "covtype" or "mnist".

    Returns
    -------
    sklearn.utils.Bunch
        The arrays of the file by name: ``X``, ``y`` or ``X_train``, ``y_train``,
        ``X_test``, ``y_test``, and what else the set has. Column-major matrices are
        made row-major. "pbmc3k_counts" has one field, ``X``, in CSR form.
    """
    folder = os.environ.get(FOLDER)
    if folder and (path := Path(folder) / f"{name}.npz").exists():
        return _read(path)
    if name not in FETCHERS:
        where = f"{folder} has no {name}.npz" if folder else f"{FOLDER} is not set"
        raise DataMissing(f"{name}: {where}, and it is not one that can be fetched.")
    try:
        return FETCHERS[name]()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataMissing(
            f"{name}: fetching failed ({reason}); set {FOLDER} to a folder with it."
        ) from error


def _read(path):
    with np.load(path, allow_pickle=False) as arrays:
        if "format" in arrays:
            return Bunch(X=sparse.load_npz(path).astype(np.float32))
        return Bunch(**{key: np.ascontiguousarray(arrays[key]) for key in arrays.files})


def _fetch_mnist():
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    return Bunch(
        X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:]
    )


def _fetch_covtype():
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return Bunch(X=X.astype(np.int16), y=y.astype(np.uint8))


def _fetch_california():
    from sklearn.datasets import fetch_california_housing

    X, y = fetch_california_housing(return_X_y=True)
    return Bunch(X=X.astype(np.float32), y=y.astype(np.float32))


def _fetch_electricity():
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("electricity", version=1, return_X_y=True, as_frame=True)
    X = X.drop(columns=["date", "day"]).to_numpy(np.float32)
    return Bunch(X=X, y=(y == "UP").to_numpy(np.uint8))


FETCHERS = {
    "mnist": _fetch_mnist,
    "covtype": _fetch_covtype,
    "california_housing": _fetch_california,
    "electricity": _fetch_electricity,
}
