"""What tools ask of a package: the list of its estimators.

- ``_discovery``: :func:`all_estimators`, and :func:`listed_in_sklearn` for tools that
  ask scikit-learn for that list
"""

from ._discovery import all_estimators, listed_in_sklearn

__all__ = ["all_estimators", "listed_in_sklearn"]
