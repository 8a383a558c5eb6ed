"""scikit-learn estimators made fast by adaptive sampling (multi-armed bandits).

Sub-packages are imported when they are first used: ``sklearn_bandit.ensemble`` needs no
import of its own.
"""

from importlib import import_module
from types import ModuleType

from ._show_versions import show_versions
from ._version import __version__

_SUB_PACKAGES = (
    "bandit",
    "cluster",
    "dask",
    "datasets",
    "ensemble",
    "feature_selection",
    "inspection",
    "linear_model",
    "model_selection",
    "neighbors",
    "onnx",
    "tree",
    "utils",
)

# What needs an extra is not imported by ``from sklearn_bandit import *``.
_EXTRAS = ("dask",)

__all__ = ["__version__", "show_versions", *sorted({*_SUB_PACKAGES} - {*_EXTRAS})]


def __getattr__(name: str) -> ModuleType:
    if name in _SUB_PACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUB_PACKAGES})
