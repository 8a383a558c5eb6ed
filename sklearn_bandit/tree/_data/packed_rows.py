"""The training data as trees read it: one byte a value, by rows and by columns.

Packed once per forest and shared by all its trees and threads. Rows serve the nodes
that are small or sampled (a row is one or a few cache lines), columns the large nodes
that are counted or partitioned whole.
"""

from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sklearn_bandit._core.matrix import MatrixView, is_readable

from .binner import CACHE_LINE, MAX_BINS, MISSING_BIN, Binner
from .byte_bins import are_spread, keep_bytes
from .value_ranks import rank_values

__all__ = ["MAX_BINS", "MISSING_BIN", "PackedData", "pack"]

# Rows that bins are made from: 78 a bin of 255, so that the counts of bins are equal
# to about a tenth.
SAMPLE_SIZE = 20_000

# Least number of these rows that tells whether bytes can be their own bins.
BYTES_SIZE = 1_250

# Features binned at a time: bounds the tables (8 KB a feature and thread) of wide data.
FEATURE_GROUP = 1024

# Values in a bin that are many, if they are seen again and again (continuous values are
# always many). On covertype and Beijing air quality most features have fewer: ranking
# these too made forests a tenth slower and no better.
MANY_VALUES = 8

# Values converted at a time where the matrix cannot be read in place.
CHUNK_VALUES = 1 << 22


@dataclass(frozen=True)
class FeatureBins:
    """What binning tells of some features: an entry or a row for each.

    Parameters
    ----------
    n_bins, has_missing, bin_low, bin_high : ndarray
        As in `PackedData`.
    n_distinct : ndarray of int64 of shape (n_features,)
        Distinct values among those that quantiles are taken from.
    has_infinite : ndarray of uint8 of shape (n_features,)
        Whether a value is infinite.
    """

    n_bins: np.ndarray
    has_missing: np.ndarray
    bin_low: np.ndarray
    bin_high: np.ndarray
    n_distinct: np.ndarray
    has_infinite: np.ndarray

    @classmethod
    def concatenate(cls, parts):
        """Put the features of several parts one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )


class PackedData:
    """A matrix in bins; see :func:`pack`, which makes it.

    Attributes
    ----------
    rows : ndarray of uint8 of shape (n_samples, stride)
        Bins row by row, padded with zeros to a multiple of 16, 32 or 64 bytes; the
        first row starts on a cache line.
    columns : ndarray of uint8 of shape (n_features, n_samples)
        Bins column by column.
    n_bins : ndarray of int32 of shape (n_features,)
        Number of bins of each feature, from 1 to 255, that for missing values not
        counted.
    has_missing : ndarray of uint8 of shape (n_features,)
        Whether the feature has missing values; their bin is `MISSING_BIN`.
    bin_low, bin_high : ndarray of float64 of shape (n_features, 255)
        Smallest and largest value (as float32) in each bin, of the samples that
        quantiles are taken from.
    is_listed : ndarray of uint8 of shape (n_features,)
        Whether each value of the feature has a bin of its own. If not, a bin may hold
        values beyond those that its smallest and largest one are taken from.
    is_coarse : ndarray of uint8 of shape (n_features,)
        Whether bins hide many values of the feature, so that it pays to look at these
        in small nodes.
    raw : MatrixView or None
        The values themselves, uncopied; None if they cannot be read in place.
    ranks : ValueRanks or None
        Ranks of the values that share bins; None if bins are to be used alone.
    n_samples, n_features : int
        Shape of the matrix.
    """

    def __init__(
        self,
        rows,
        columns,
        n_bins,
        has_missing,
        bin_low,
        bin_high,
        is_coarse,
        raw,
        ranks=None,
    ):
        self.rows = rows
        self.columns = columns
        self.n_bins = n_bins
        self.has_missing = has_missing
        self.bin_low = bin_low
        self.bin_high = bin_high
        self.is_listed = (bin_low == bin_high).all(axis=1).astype(np.uint8)
        self.is_coarse = is_coarse
        self.raw = raw
        self.ranks = ranks
        self.n_features, self.n_samples = columns.shape

    @classmethod
    def from_bins(cls, bins, *known):
        """Lay out bins that were made before.

        Parameters
        ----------
        bins : ndarray of uint8 of shape (n_samples, n_features)
            The bins, row by row.
        *known : object
            What the class takes after rows and columns.

        Returns
        -------
        PackedData
        """
        n_samples, n_features = bins.shape
        rows = _aligned_zeros(n_samples, row_stride(n_features))
        rows[:, :n_features] = bins
        return cls(rows, np.ascontiguousarray(bins.T), *known)

    def threshold(self, feature, left, right):
        """Threshold of a split between two occupied bins.

        Parameters
        ----------
        feature : int or ndarray of int
            The feature.
        left : int or ndarray of int
            The last occupied bin of the left side.
        right : int or ndarray of int
            The first occupied bin of the right side.

        Returns
        -------
        float or ndarray of float
            Midpoint between the bins: ``float32(x) <= threshold`` tells the sides apart
            as the bins do, for all samples.
        """
        return (self.bin_high[feature, left] + self.bin_low[feature, right]) / 2.0


def pack(
    X,
    max_bins=MAX_BINS,
    n_threads=1,
    random_state=None,
    ids=None,
    memory=None,
    *,
    weights=None,
    ranking=None,
):
    """Put a matrix into bins.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Numbers of any type, NaN where missing, taken as float32 (as scikit-learn's
        trees do). A dense matrix of a common type is read in place, in any order of its
        elements; other ones are converted a chunk of rows at a time.
    max_bins : int, default=255
        Bins a feature may have, at least 2, missing values not counted: more keep more
        of the feature's thresholds, fewer make histograms cheaper.
    n_threads : int, default=1
        Threads to use; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the rows that quantiles are taken from, if there are more than 20,000.
    ids : ndarray of uint32, default=None
        The rows to pack, if these are not all. The matrix is then one that can be read
        in place, and the values themselves (`raw`) are not kept.
    memory : tuple of ndarray, default=None
        Rows and columns of at least as many samples, no longer needed or mapped from
        files: bins are written there. To have fresh memory cleared takes a quarter of
        the time.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the rows. Those without any have no part in the bins, and what is
        packed of them means nothing.
    ranking : SamplingPolicy, default=None
        Up to how many rows (`ranked_rows`) and values (`ranked_values`) the values that
        share a bin are ranked, if `max_bins` is 255; None does not rank.

    Returns
    -------
    PackedData
    """
    if sparse.issparse(X):
        X = X.tocsc()
    if weights is not None and not weights.all():
        used = np.flatnonzero(weights).astype(np.uint32)
        packed = pack(X[used], max_bins, n_threads, random_state, ranking=ranking)
        return _spread(packed, X, used)
    n_features = X.shape[1]
    n_samples = X.shape[0] if ids is None else len(ids)
    if memory is None:
        rows = _aligned_zeros(n_samples, row_stride(n_features))
        columns = np.empty((n_features, n_samples), dtype=np.uint8)
    else:
        # The padding of these rows is already zero.
        rows = memory[0][:n_samples]
        columns = memory[1].reshape(-1)[: n_features * n_samples]
        columns = columns.reshape(n_features, n_samples)
    sample = _sample_rows(n_samples, check_random_state(random_state))

    parts = []
    for first in range(0, n_features, FEATURE_GROUP):
        group = slice(first, min(first + FEATURE_GROUP, n_features))
        # The last features come with the padding behind them.
        end = group.stop if group.stop < n_features else rows.shape[1]
        parts.append(
            _bin(
                X[:, group],
                sample,
                max_bins,
                n_threads,
                rows[:, first:end],
                columns[group],
                ids,
            )
        )
    bins = FeatureBins.concatenate(parts)
    _refuse_infinite(bins.has_infinite)
    raw = MatrixView(X) if ids is None and _in_place(X) else None
    packed = PackedData(
        rows,
        columns,
        bins.n_bins,
        bins.has_missing,
        bins.bin_low,
        bins.bin_high,
        _find_coarse(bins, len(sample)),
        raw,
    )
    if ranking is not None and ids is None and max_bins == MAX_BINS:
        rank_small(packed, X, n_threads, ranking)
    return packed


def _refuse_infinite(is_infinite):
    if is_infinite.any():
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32')."
        )


def rank_small(packed, X, n_threads, ranking):
    """Rank the values of features that have several in a bin, if there are few rows."""
    if packed.n_samples > ranking.ranked_rows:
        return
    # If some values were not sampled, bins that seem to hold one may hold several.
    all_sampled = packed.n_samples <= SAMPLE_SIZE
    features = np.flatnonzero(~packed.is_listed.astype(bool) | (not all_sampled))
    if 0 < len(features) * packed.n_samples <= ranking.ranked_values:
        packed.ranks = rank_values(
            partial(_read_columns, X), features, packed.columns, n_threads
        )
    if packed.ranks is not None:
        packed.is_coarse = packed.ranks.is_ranked()


def _read_columns(X, features):
    """Return a view with some columns, and which of its columns they are."""
    if _in_place(X):
        return MatrixView(X), features
    return MatrixView(_convert(X[:, features])), np.arange(len(features))


def _spread(packed, X, used):
    """Return packed data of all rows from that of the rows that are used."""
    unused = np.ones(X.shape[0], dtype=bool)
    unused[used] = False
    _refuse_infinite(np.isinf(_convert(X[unused])))
    rows = _aligned_zeros(X.shape[0], packed.rows.shape[1])
    rows[used] = packed.rows
    columns = np.zeros((packed.n_features, X.shape[0]), dtype=np.uint8)
    columns[:, used] = packed.columns
    return PackedData(
        rows,
        columns,
        packed.n_bins,
        packed.has_missing,
        packed.bin_low,
        packed.bin_high,
        packed.is_coarse,
        MatrixView(X) if _in_place(X) else None,
        None if packed.ranks is None else packed.ranks.spread(used, X.shape[0]),
    )


def _bin(X, sample, max_bins, n_threads, rows, columns, ids):
    """Write the bins of some features and return the `FeatureBins` of these."""
    if sparse.issparse(X):
        X = X.tocsr()
    if max_bins == MAX_BINS and ids is None and _in_place(X):
        view = MatrixView(X)
        if are_spread(view, sample[:: max(len(sample) // BYTES_SIZE, 1)]):
            return FeatureBins(*keep_bytes(view, rows, columns, n_threads))
    binner = Binner(X.shape[1], max_bins, n_threads)
    if ids is not None:
        # Not ``ids[sample]``: numpy uses its buffer for the cast of an index even where
        # there is no memory for it.
        binner.find_edges(MatrixView(X), ids.take(sample), is_sample=True)
    elif X.dtype in (np.uint8, np.bool_) and _in_place(X):
        binner.find_byte_edges(MatrixView(X))
    elif _in_place(X):
        binner.find_edges(MatrixView(X), sample, len(sample) < X.shape[0])
    else:
        sampled = _convert(X[sample])
        all_sampled = np.arange(len(sample), dtype=np.uint32)
        is_sample = len(sample) < X.shape[0]
        binner.find_edges(MatrixView(sampled), all_sampled, is_sample)

    features = np.arange(X.shape[1])
    while len(features):
        for start, chunk in _row_chunks(X):
            stop = start + chunk.shape[0]
            binner.assign(
                MatrixView(chunk),
                features,
                rows[start:stop],
                columns[:, start:stop],
                ids,
            )
        features = binner.add_missed()
    if ids is None:
        binner.merge_constant(rows, columns)
    return FeatureBins(*binner.bins())


def _find_coarse(bins, n_sampled):
    """Return which features have many values in many of their bins, as uint8."""
    n_bins, low, high = bins.n_bins, bins.bin_low, bins.bin_high
    n_distinct = bins.n_distinct
    several = (low < high) & (np.arange(low.shape[1]) < n_bins[:, None])
    # A pixel with 256 values has one bin of several: too few to look into.
    in_many_bins = 4 * several.sum(axis=1) > n_bins
    are_many = (2 * n_distinct > n_sampled) | (n_distinct > MANY_VALUES * n_bins)
    return (in_many_bins & are_many).astype(np.uint8)


def _in_place(X):
    return isinstance(X, np.ndarray) and is_readable(X)


def _row_chunks(X):
    """Yield the matrix in one piece if it can be read in place, else in chunks."""
    if _in_place(X):
        yield 0, X
        return
    n_rows = max(CHUNK_VALUES // X.shape[1], 1)
    for start in range(0, X.shape[0], n_rows):
        yield start, _convert(X[start : start + n_rows])


def _convert(X):
    X = X.toarray() if sparse.issparse(X) else X
    # A float64 too large for float32 becomes infinite, which `pack` refuses.
    with np.errstate(over="ignore"):
        return np.asarray(X, dtype=np.float32)


def as_read(X):
    """Return a matrix in the narrowest type in which trees read the same numbers."""
    if X.dtype in (np.bool_, np.uint8, np.int16, np.float32):
        return np.ascontiguousarray(X)
    # A float64 too large for float32 becomes infinite, which is refused.
    with np.errstate(over="ignore"):
        return np.asarray(X, dtype=np.float32, order="C")


def _sample_rows(n_samples, random_state):
    """Draw up to `SAMPLE_SIZE` rows: one out of each of as many equal stretches."""
    if n_samples <= SAMPLE_SIZE:
        return np.arange(n_samples, dtype=np.uint32)
    ends = np.arange(1, SAMPLE_SIZE + 1) * n_samples // SAMPLE_SIZE
    starts = np.r_[0, ends[:-1]]
    return random_state.randint(starts, ends).astype(np.uint32)


def row_stride(n_features):
    """Bytes of a row: few rows straddle cache lines, and little is padding."""
    for multiple, up_to in ((16, 16), (32, 32), (CACHE_LINE, 4 * CACHE_LINE)):
        if n_features <= up_to:
            return -(-n_features // multiple) * multiple
    return -(-n_features // 16) * 16


def _aligned_zeros(n_rows, n_columns):
    """Zeros whose first row starts on a cache line."""
    buffer = np.zeros(n_rows * n_columns + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n_rows * n_columns].reshape(n_rows, n_columns)
