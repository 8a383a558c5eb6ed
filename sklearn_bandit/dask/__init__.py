"""Estimators that learn from dask collections, on the workers of a dask cluster.

The classes have the names and parameters of the local ones, and one parameter more,
``client``. ``fit`` takes dask arrays or data frames; the fitted object is a local
model. What travels between processes is a sample, bytes in the place of values, or
trees: never all of ``X`` through the client.

- ``_client``: the client of a fit, and its tasks, of which none is left behind
- ``_collections``: X, y and weights as partitions with known row numbers
- ``_base``: what the estimators share: ``client``, ``to_local``, lazy prediction
- ``_hist_gradient_boosting``: boosting; ``_boosting_summary`` is the first look at the
  data, ``_boosting_rows`` draws from the partitions, ``_boosting_blocks`` is what
  workers do, ``_boosting_stopping`` judges held-out rows
- ``_sums``: sums that do not depend on where the data are cut
- ``_kmedoids``: medoids of all partitions, in rounds (``_kmedoids_rounds``) that read
  blocks where they are (``_placement``)
- ``_neighbors``: searches, with an index of each partition (``_sharded_search``)
- ``_packed``: partitions written as a packed data set
- ``_forests``: trees and forests; ``_trees`` fits those whose samples fit a worker,
  from files that workers share (``_held_forest``), ``_large_trees`` all others

It needs the extra ``dask``: ``pip install '.[dask]'`` in a checkout.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "sklearn_bandit.dask needs dask and distributed, which are not installed: "
        "pip install 'dask[array,dataframe,distributed]'"
    ) from error

from ._forests import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomPatchesClassifier,
    RandomPatchesRegressor,
)
from ._hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from ._kmedoids import BanditKMedoids
from ._neighbors import BanditMIPS, BanditNearestNeighbors
from ._packed import write_packed

__all__ = [
    "BanditKMedoids",
    "BanditMIPS",
    "BanditNearestNeighbors",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomPatchesClassifier",
    "RandomPatchesRegressor",
    "write_packed",
]
