"""What is read: samples in bins of one byte, and what is finer than bins.

- ``packing``: the samples of an estimator, and which of them it refuses
- ``packed_rows``: a matrix in bins, by row and by column; ``packed_dataset``: the same
  in files that are written once
- ``binner``: edges of bins, and the bin of each value; ``quantiles``: edges between
  sorted values; ``missed_values``: those that a sample missed; ``byte_tiles``: bytes
  read and counted; ``byte_bins``: bytes that are their own bins
- ``value_ranks``: ranks of the values that share a bin, in all samples of a small data
  set; ``local_ranks``: ranks for bins in a small node
- ``categories``: numbers in the place of categories; ``target_order``: their order;
  ``category_splits``: sets of categories in scikit-learn's nodes
- ``bootstrap``: bootstrap samples as counts

Estimators, those of ensembles too, use what is exported here.
"""

from .bootstrap import draw_counts
from .categories import CategoricalInputMixin, explained
from .packed_dataset import PackedDataset, PackedFolder, take_dataset
from .packed_rows import MISSING_BIN
from .packing import allows_missing, pack_samples

__all__ = [
    "MISSING_BIN",
    "CategoricalInputMixin",
    "PackedDataset",
    "PackedFolder",
    "allows_missing",
    "draw_counts",
    "explained",
    "pack_samples",
    "take_dataset",
]
