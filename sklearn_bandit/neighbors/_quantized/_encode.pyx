"""Rows as bytes, with what the bytes leave out.

A row v becomes ``x = (v - centre) / unit`` (of a normalised v under "cosine"), and x
becomes ``scale * steps * codes + rest``: a step for each feature, a scale for each row,
codes from -127 to 127. The norm of `rest` is computed in double precision and rounded
up, so that bounds from the codes hold with certainty.

Under "manhattan" all features have the same step s and no row has a scale. A value is
``i + o``, where i is the nearest number in the range of codes and o is outside. Both
grow with the value, so that differences of both have the same sign and
``|x - y| = |i(x) - i(y)| + |o(x) - o(y)|`` in each feature. In all features the last
terms are at least the difference of ``|o(x)|`` and ``|o(y)|`` (sums of absolute
values), the others at least ``s |c(x) - c(y)|`` less what the codes c leave out of
both i. Each row has this rest and ``|o|``.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from ..._core.memory cimport allocate
from ._constants cimport (
    LARGE,
    LEAST_SQUARES,
    MOST,
    MOST_SQUARES,
    ROUNDINGS,
    SKB_BLOCK,
    SKB_BYTE_OFFSET,
    enlarge,
)

cdef extern from "encode.h":
    ctypedef struct skb_measures:
        double largest
        double squares
        double along
    void skb_row_norm_single(const float*, ptrdiff_t, double*) noexcept nogil
    void skb_row_norm_double(const double*, ptrdiff_t, double*) noexcept nogil
    void skb_centred_single(
        const float*, const double*, ptrdiff_t, double, double, double*
    ) noexcept nogil
    void skb_centred_double(
        const double*, const double*, ptrdiff_t, double, double, double*
    ) noexcept nogil
    void skb_measure(
        const double*, const double*, const double*, ptrdiff_t, skb_measures*
    ) noexcept nogil
    void skb_round_products(
        double*, const double*, const double*, ptrdiff_t, double, double*
    ) noexcept nogil
    void skb_round_differences(double*, ptrdiff_t, double, double*) noexcept nogil
    void skb_pack(const double*, ptrdiff_t, uint8_t*) noexcept nogil

cdef enum:
    WORD = 4                # features whose codes stand together
    DIFFERENCES_WORD = 8    # the same, for differences

METRICS = {
    "euclidean": EUCLIDEAN,
    "cosine": COSINE,
    "inner_product": INNER_PRODUCT,
    "manhattan": MANHATTAN,
}

cdef double UP = 1.0 + ROUNDINGS, DOWN = 1.0 - ROUNDINGS
# Rounding of double precision in what is computed at fit, by a wide margin.
cdef double REST = 2.0 ** -40
# In units: single precision cannot hold the scales of smaller rows.
cdef double LEAST = 1e-30


cdef class Space:
    """How rows become bytes.

    Parameters
    ----------
    metric : str
        A key of `METRICS`.
    centre : ndarray of shape (n_features,)
        What is subtracted from rows, in double precision.
    unit : float
        A power of two.
    steps : ndarray of shape (n_features,)
        Step of each feature, in units; all equal for "manhattan".
    """

    def __init__(self, metric, centre, double unit, steps):
        self.metric = METRICS[metric]
        self.unit = unit
        norm = float(np.linalg.norm(centre))
        self.centre_array = np.ascontiguousarray(centre, dtype=np.float64)
        self.direction_array = self.centre_array / norm if norm > 0 else centre * 0.0
        self.steps_array = np.ascontiguousarray(steps, dtype=np.float64)
        self.centre = self.centre_array
        self.direction = self.direction_array
        self.steps = self.steps_array
        self.inverse_steps = 1.0 / self.steps_array

    def __reduce__(self):
        names = {number: name for name, number in METRICS.items()}
        return Space, (
            names[self.metric], self.centre_array, self.unit, self.steps_array
        )

    def encode(
        self,
        const floating[:, ::1] rows,
        uint8_t[::1] codes,
        float[:, :, ::1] stats,
        double[::1] norms,
        bint by_row,
        int n_threads,
    ):
        """Write codes and numbers of rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows.
        codes : ndarray of uint8
            Codes by block and word, or by row if `by_row`.
        stats : ndarray of shape (n_blocks, n_stats, 64)
            The numbers of `kernels.h`, two of them for "manhattan".
        norms : ndarray of shape (n_rows,)
            Norms of the centred rows, in units.
        by_row : bool
            Whether the codes of a row are contiguous.
        n_threads : int
            Number of threads.
        """
        cdef Py_ssize_t n = rows.shape[0], block
        cdef Py_ssize_t n_blocks = (n + SKB_BLOCK - 1) // SKB_BLOCK
        cdef Py_ssize_t width = codes.shape[0] // (SKB_BLOCK * n_blocks)
        cdef int n_failed = 0, n_large = 0, result

        for block in prange(
            n_blocks, nogil=True, num_threads=n_threads, schedule="static"
        ):
            result = _encode_block(
                self, &rows[block * SKB_BLOCK, 0],
                min(n - block * SKB_BLOCK, SKB_BLOCK),
                &codes[block * SKB_BLOCK * width], width, &stats[block, 0, 0],
                &norms[block * SKB_BLOCK], by_row,
            )
            n_failed += result == 1
            n_large += result == 2
        if n_failed:
            raise MemoryError()
        if n_large:
            raise ValueError(
                "X contains values whose squares double precision cannot hold: divide "
                "X by its maximum."
            )


cdef int _encode_block(
    Space space, const floating* rows, Py_ssize_t n, uint8_t* codes, Py_ssize_t width,
    float* stats, double* norms, bint by_row,
) noexcept nogil:
    """Encode up to 64 rows; return 1 without memory, 2 if a row is too large."""
    cdef Py_ssize_t i, word, d = space.centre.shape[0]
    cdef Py_ssize_t size = DIFFERENCES_WORD if space.metric == MANHATTAN else WORD
    cdef double* x = <double*> allocate(d, sizeof(double))
    cdef uint8_t* own = <uint8_t*> allocate(width, 1)
    cdef int result = 0

    if x == NULL or own == NULL:
        free(x)
        free(own)
        return 1
    memset(own, 128, width)
    memset(codes, SKB_BYTE_OFFSET, SKB_BLOCK * width)
    for i in range(SKB_BLOCK):
        if i >= n:
            if space.metric == MANHATTAN:
                stats[i] = -INFINITY
                stats[SKB_BLOCK + i] = 0
            else:
                stats[i] = stats[SKB_BLOCK + i] = stats[3 * SKB_BLOCK + i] = 0
                stats[2 * SKB_BLOCK + i] = -INFINITY
            continue
        if not _encode_row(space, rows + i * d, x, own, stats + i, norms + i):
            result = 2
            break
        if by_row:
            memcpy(codes + i * width, own, width)
            continue
        for word in range(width // size):
            memcpy(codes + (word * SKB_BLOCK + i) * size, own + word * size, size)
    free(x)
    free(own)
    return result


cdef bint _encode_row(
    Space space, const floating* row, double* x, uint8_t* codes, float* stats,
    double* norm,
) noexcept nogil:
    """Encode a row; return whether that was possible."""
    cdef Py_ssize_t d = space.centre.shape[0]
    cdef double squares = 0.0, factor = 1.0, scale, bias
    cdef double[2] sums
    cdef skb_measures found

    # The squares of single precision do not overflow.
    if floating is double:
        skb_row_norm_double(row, d, &squares)
        if not squares < MOST_SQUARES:
            return False
    elif space.metric == COSINE:
        skb_row_norm_single(row, d, &squares)
    if space.metric == COSINE:
        factor = _inverse_norm(row, d, squares)
    if floating is float:
        skb_centred_single(row, &space.centre[0], d, factor, 1.0 / space.unit, x)
    else:
        skb_centred_double(row, &space.centre[0], d, factor, 1.0 / space.unit, x)
    if space.metric == MANHATTAN:
        skb_round_differences(x, d, space.steps[0], sums)
        skb_pack(x, d, codes)
        norm[0] = sums[0] + sums[1]
        stats[0] = INFINITY
        stats[SKB_BLOCK] = 0
        if norm[0] <= MOST:
            # The difference of two numbers that are outside is off by as much as both
            # are rounded, and by a share of itself.
            stats[0] = <float> (
                (sums[0] + ROUNDINGS * sums[1]) * UP + REST * (1.0 + sums[1]) + LEAST
            )
            stats[SKB_BLOCK] = <float> (sums[1] * DOWN)
        return True
    skb_measure(x, &space.inverse_steps[0], &space.direction[0], d, &found)
    norm[0] = sqrt(found.squares)
    scale = <float> (found.largest / 127.0)
    if not (norm[0] <= MOST and found.largest < 1.0 / LEAST):
        # Also if they are not numbers. The row is always computed: no threshold is
        # above its bound.
        stats[0] = stats[SKB_BLOCK] = stats[3 * SKB_BLOCK] = 0
        stats[2 * SKB_BLOCK] = INFINITY
        return True
    if scale < LEAST:
        scale = sums[1] = 0.0
        sums[0] = found.squares
        memset(codes, 128, d)
    else:
        skb_round_products(
            x, &space.steps[0], &space.inverse_steps[0], d, scale, sums
        )
        skb_pack(x, d, codes)
    if space.metric == EUCLIDEAN:
        bias = -0.5 * found.squares * DOWN
    else:
        bias = found.along
    stats[0] = <float> bias
    stats[SKB_BLOCK] = <float> scale
    stats[2 * SKB_BLOCK] = <float> ((sqrt(sums[0]) + REST * norm[0] + LEAST) * UP)
    stats[3 * SKB_BLOCK] = <float> ((scale * sqrt(sums[1]) + LEAST) * UP)
    return True


cdef double _inverse_norm(
    const floating* row, Py_ssize_t d, double squares
) noexcept nogil:
    """Return one over the norm, 0 for zero."""
    cdef Py_ssize_t j
    cdef double value, scaled = 0.0

    if squares >= LEAST_SQUARES:
        return 1.0 / sqrt(squares)
    for j in range(d):
        value = enlarge(row[j])
        scaled += value * value
    return LARGE / sqrt(scaled) if scaled > 0.0 else 0.0
