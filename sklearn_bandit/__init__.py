"""scikit-learn estimators made fast by adaptive sampling (multi-armed bandits)."""

from ._show_versions import show_versions
from ._version import __version__

__all__ = ["__version__", "show_versions"]
