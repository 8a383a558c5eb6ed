"""Distances between rows of one dense array: matrix products with a fused finish, l1.

Two shapes are computed. *Tiles* hold the distances of many arms (candidate medoids) to
a block of references, in float32, reference-major inside a tile of `ARM_TILE` arms: the
searches then run SIMD over arms, reading memory in order. *Rows* hold the distances of
one arm to all samples, in the precision of the data.

Euclidean and cosine tiles are matrix products. ``|x|^2 + |y|^2 - 2 x.y`` cancels for
near pairs: the data is centred beforehand, and a pair whose squared distance is below
`GUARD` times ``|x|^2 + |y|^2`` is computed again from the differences. BLAS runs on one
thread inside each OpenMP thread. Rows, and everything of l1, come from the differences:
SIMD over a transposed panel of rows or, for rows of many features, over the features.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport sgemm

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport restrict_const_float, restrict_float, simd_void


cdef extern from "math.h" nogil:
    float sqrtf(float)
    float fabsf(float)


# Arms in a tile: a block of 512 x 512 keeps BLAS near its peak (100 references, the
# thesis's batch, reach two thirds of it) and one reference's row is 2 KB.
ARM_TILE = 512
cdef enum:
    TILE = 512
    # Rows of a transposed panel; two others share its loads, which makes eight float32
    # sums of AVX2 width. The arms of a tile are padded to whole panels.
    PANEL = 32
    # From so many features on, rows are summed along the features: no panel has to be
    # transposed, which takes far longer than the sums of a few arms. Four arms share
    # the loads of a row, with as many partial sums each.
    LONG_ROWS = 256
    LANES = 16
    QUAD = 4
    # Tiles are divided until there are as many tasks, to no fewer references: with 128
    # of them BLAS is a tenth below its speed.
    TASKS = 8
    LEAST_PART = 128
    # Rows that a thread multiplies with a few vectors at a time, and rows that it adds
    # up in float32.
    PROJECTED = 256
    ADDED = 512
    # Fewer copies than this take a thread 0.1 ms: another is not woken for that.
    SERIAL_COPIES = 131072

KINDS = {"sqeuclidean": 0, "euclidean": 1, "cosine": 2, "manhattan": 3}
cdef enum:
    SQEUCLIDEAN = 0
    EUCLIDEAN = 1
    COSINE = 2
    MANHATTAN = 3

# Below this share of |x|^2 + |y|^2 a squared distance has lost too many digits.
cdef float GUARD = 1e-3


def fill_tiles(
    const float[:, ::1] X,
    const float[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    Py_ssize_t start,
    Py_ssize_t stop,
    float[:, :, ::1] out,
    int n_threads,
):
    """Distances of `arms` to the references ``start:stop``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred (Euclidean) or normalised (cosine) rows.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    kind : int
        One of `KINDS`.
    arms : ndarray
        Rows of X.
    start, stop : int
        The references are these rows of X.
    out : ndarray of shape (ceil(len(arms) / ARM_TILE), stop - start, ARM_TILE)
        Written; what is beyond the last arm is set to zero.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n_tiles = out.shape[0], n_arms = arms.shape[0], d = X.shape[1]
    cdef Py_ssize_t m = stop - start, t, p, n_parts, length
    cdef float[:, :, ::1] gathered = np.empty((n_threads, TILE, d), dtype=np.float32)
    cdef float[:, ::1] norms = np.zeros((n_threads, TILE), dtype=np.float32)
    cdef float[:, ::1] panels = np.empty(
        (n_threads, PANEL * d if kind == MANHATTAN else 1), dtype=np.float32
    )

    if n_tiles == 0 or stop <= start:
        return
    # Few tiles are divided by references, in a way that does not depend on the threads.
    n_parts = max(min(TASKS // n_tiles, m // LEAST_PART), 1)
    length = (m + n_parts - 1) // n_parts
    # A thread without a task would only be waited for.
    n_threads = min(n_threads, n_tiles * n_parts)
    for p in prange(
        n_tiles * n_parts, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        t = p // n_parts
        _tile(
            X, squares, kind, arms, t * TILE, min(TILE, n_arms - t * TILE),
            start + p % n_parts * length, min(start + (p % n_parts + 1) * length, stop),
            &out[t, p % n_parts * length, 0], &gathered[thread_num(), 0, 0],
            &norms[thread_num(), 0], &panels[thread_num(), 0],
        )


cdef void _tile(
    const float[:, ::1] X,
    const float[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    Py_ssize_t first,
    Py_ssize_t width,
    Py_ssize_t start,
    Py_ssize_t stop,
    float* out,
    float* gathered,
    float* norms,
    float* panel,
) noexcept nogil:
    cdef Py_ssize_t d = X.shape[1], i, j
    cdef int w = width, padded = min(TILE, (w + PANEL - 1) // PANEL * PANEL)
    cdef int m = stop - start, depth = d, ld = TILE
    cdef float one = 1.0, zero = 0.0
    cdef float* row

    for i in range(padded):
        # The padding repeats an arm: any finite numbers will do.
        j = arms[first + min(i, width - 1)]
        memcpy(gathered + i * d, &X[j, 0], d * sizeof(float))
        norms[i] = squares[j]
    if kind == MANHATTAN:
        _manhattan_tile(gathered, padded, &X[start, 0], m, d, panel, out)
    else:
        # Column-major BLAS sees the tile as (arms, references).
        sgemm(
            "T", "N", &padded, &m, &depth, &one, gathered, &depth,
            <float*> &X[start, 0], &depth, &zero, out, &ld,
        )
        for j in range(m):
            row = out + j * TILE
            _finish_tile_row(
                row, norms, squares[start + j], w, kind, &X[start + j, 0], gathered, d
            )
    for j in range(m):
        row = out + j * TILE
        for i in range(w, TILE):
            row[i] = 0.0
    for i in range(w):
        j = arms[first + i] - start
        if 0 <= j < m:
            out[j * TILE + i] = 0.0


cdef void _finish_tile_row(
    float* row,
    const float* norms,
    float square,
    int w,
    int kind,
    const float* x,
    const float* gathered,
    Py_ssize_t d,
) noexcept nogil:
    """Turn products into distances, and mend those that cancelled."""
    cdef int i
    cdef float low = 0.0, bar, exact

    if kind == COSINE:
        _finish_cosine(row, w, &low)
    else:
        _finish_euclidean(row, norms, square, w, &low)
    if low < 0.0:
        for i in range(w):
            bar = GUARD if kind == COSINE else GUARD * (square + norms[i])
            if row[i] < bar:
                exact = 0.0
                _square_difference(x, gathered + i * d, d, &exact)
                row[i] = 0.5 * exact if kind == COSINE else exact
    if kind == EUCLIDEAN:
        _square_roots(row, w)


cdef simd_void _finish_euclidean(
    restrict_float row, restrict_const_float norms, float square, int w, float* low
) noexcept nogil:
    cdef int i
    # C literals are double, and would take the loop with them.
    cdef float total, value, zero = 0.0, two = 2.0, guard = GUARD, least = 1.0
    for i in range(w):
        total = square + norms[i]
        value = total - two * row[i]
        least = min(least, value - guard * total)
        row[i] = value if value > zero else zero
    low[0] = least


cdef simd_void _finish_cosine(restrict_float row, int w, float* low) noexcept nogil:
    cdef int i
    cdef float value, zero = 0.0, one = 1.0, guard = GUARD, least = 1.0
    for i in range(w):
        value = one - row[i]
        least = min(least, value - guard)
        row[i] = value if value > zero else zero
    low[0] = least


cdef simd_void _square_roots(restrict_float row, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        row[i] = sqrtf(row[i])


cdef simd_void _square_difference(
    restrict_const_float x, restrict_const_float y, Py_ssize_t d, float* out
) noexcept nogil:
    cdef Py_ssize_t t
    cdef float gap, total = 0.0
    for t in range(d):
        gap = x[t] - y[t]
        total += gap * gap
    out[0] = total


cdef void _manhattan_tile(
    const float* arms,
    int n_arms,
    const float* references,
    int m,
    Py_ssize_t d,
    float* panel,
    float* out,
) noexcept nogil:
    """Sums of absolute differences, a panel of arms at a time."""
    cdef Py_ssize_t j, p
    for p in range(n_arms // PANEL):
        _transpose(arms + p * PANEL * d, PANEL, d, panel)
        for j in range(0, m, 2):
            _panel_absolute(
                panel, references + j * d, references + min(j + 1, m - 1) * d, d,
                out + j * TILE + p * PANEL, out + min(j + 1, m - 1) * TILE + p * PANEL,
            )


cdef inline void _transpose(
    const floating* rows, Py_ssize_t n, Py_ssize_t d, floating* panel
) noexcept nogil:
    """Rows to a panel, features outermost; a panel that is not full repeats a row."""
    cdef Py_ssize_t i, t
    cdef const floating* x
    for i in range(PANEL):
        x = rows + min(i, n - 1) * d
        for t in range(d):
            panel[t * PANEL + i] = x[t]


cdef simd_void _panel_absolute(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    """Sums of absolute differences of a panel's rows to two others."""
    cdef floating[PANEL] sum_x
    cdef floating[PANEL] sum_y
    cdef Py_ssize_t i, t
    cdef floating u, v, gap_x, gap_y
    cdef const floating* column
    for i in range(PANEL):
        sum_x[i] = 0.0
        sum_y[i] = 0.0
    for t in range(d):
        u = x[t]
        v = y[t]
        column = panel + t * PANEL
        for i in range(PANEL):
            gap_x = column[i] - u
            gap_y = column[i] - v
            sum_x[i] += fabsf(gap_x) if floating is float else fabs(gap_x)
            sum_y[i] += fabsf(gap_y) if floating is float else fabs(gap_y)
    for i in range(PANEL):
        out_x[i] = sum_x[i]
        out_y[i] = sum_y[i]


cdef simd_void _panel_squares(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    """Sums of squared differences of a panel's rows to two others."""
    cdef floating[PANEL] sum_x
    cdef floating[PANEL] sum_y
    cdef Py_ssize_t i, t
    cdef floating u, v, gap_x, gap_y
    cdef const floating* column
    for i in range(PANEL):
        sum_x[i] = 0.0
        sum_y[i] = 0.0
    for t in range(d):
        u = x[t]
        v = y[t]
        column = panel + t * PANEL
        for i in range(PANEL):
            gap_x = column[i] - u
            gap_y = column[i] - v
            sum_x[i] += gap_x * gap_x
            sum_y[i] += gap_y * gap_y
    for i in range(PANEL):
        out_x[i] = sum_x[i]
        out_y[i] = sum_y[i]


def fill_rows(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    floating[:, :] out,
    int n_threads,
):
    """Distances of each of `arms` to the rows of X, in the precision of X.

    Computed from differences, without BLAS, whose rounding depends on what else is in
    the product: a row is the same whichever others are asked for with it, and the
    distance of x and y is that of y and x.

    Parameters
    ----------
    X, squares, kind, arms, n_threads
        As in `fill_tiles`.
    out : ndarray of shape (len(arms), n_rows)
        Written: the distances to so many leading rows of X. Its rows are contiguous.
    """
    cdef Py_ssize_t n = out.shape[1], d = X.shape[1], p
    cdef Py_ssize_t n_panels = (n + PANEL - 1) // PANEL
    dtype = np.float32 if floating is float else np.float64
    # The last arm is repeated to a multiple of four.
    cdef Py_ssize_t n_padded = (arms.shape[0] + QUAD - 1) // QUAD * QUAD
    padded = np.minimum(np.arange(n_padded), arms.shape[0] - 1)
    cdef floating[:, ::1] gathered = np.asarray(X)[np.asarray(arms)[padded]]
    cdef floating[:, ::1] panels = np.empty(
        (n_threads, PANEL * d if d < LONG_ROWS else 1), dtype=dtype
    )
    cdef floating[:, :, ::1] found = np.empty((n_threads, QUAD, PANEL), dtype=dtype)

    for p in prange(n_panels, nogil=True, schedule="dynamic", num_threads=n_threads):
        _row_panel(
            X, squares, kind, arms, gathered, p * PANEL, min(PANEL, n - p * PANEL),
            &panels[thread_num(), 0], &found[thread_num(), 0, 0], out,
        )


cdef void _row_panel(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    floating[:, ::1] gathered,
    Py_ssize_t start,
    Py_ssize_t width,
    floating* panel,
    floating* found,
    floating[:, :] out,
) noexcept nogil:
    """Distances of all arms to one panel of samples."""
    cdef Py_ssize_t d = X.shape[1], n_arms = arms.shape[0], a, i, j, sample

    if d < LONG_ROWS:
        _transpose(&X[start, 0], width, d, panel)
    for a in range(0, n_arms, 4):
        if d >= LONG_ROWS:
            for j in range(width):
                if kind == MANHATTAN:
                    _row_absolute(
                        &X[start + j, 0], &gathered[a, 0], d, found + j
                    )
                else:
                    _row_squares(
                        &X[start + j, 0], &gathered[a, 0], d, found + j
                    )
        else:
            for i in range(0, QUAD, 2):
                if kind == MANHATTAN:
                    _panel_absolute(
                        panel, &gathered[a + i, 0], &gathered[a + i + 1, 0], d,
                        found + i * PANEL, found + (i + 1) * PANEL,
                    )
                else:
                    _panel_squares(
                        panel, &gathered[a + i, 0], &gathered[a + i + 1, 0], d,
                        found + i * PANEL, found + (i + 1) * PANEL,
                    )
        if kind == EUCLIDEAN:
            _panel_roots(found, width)
        for i in range(min(QUAD, n_arms - a)):
            if kind == COSINE:
                for j in range(width):
                    found[i * PANEL + j] *= 0.5
                    if squares[start + j] == 0 or squares[arms[a + i]] == 0:
                        found[i * PANEL + j] = 1.0
            memcpy(&out[a + i, start], found + i * PANEL, width * sizeof(floating))
            sample = arms[a + i]
            if start <= sample < start + width:
                out[a + i, sample] = 0.0


cdef simd_void _panel_roots(floating* found, Py_ssize_t width) noexcept nogil:
    """Square roots of the distances of four arms to some samples."""
    cdef Py_ssize_t i, j
    for i in range(QUAD):
        for j in range(width):
            if floating is float:
                found[i * PANEL + j] = sqrtf(found[i * PANEL + j])
            else:
                found[i * PANEL + j] = sqrt(found[i * PANEL + j])


cdef simd_void _row_squares(
    const floating* x, const floating* arms, Py_ssize_t d, floating* out
) noexcept nogil:
    """Sums of squared differences of a long row to four others."""
    cdef floating[LANES] sum_0
    cdef floating[LANES] sum_1
    cdef floating[LANES] sum_2
    cdef floating[LANES] sum_3
    cdef Py_ssize_t i, t, part, n_whole = d // LANES
    cdef floating gap
    for i in range(LANES):
        sum_0[i] = 0.0
        sum_1[i] = 0.0
        sum_2[i] = 0.0
        sum_3[i] = 0.0
    for part in range(n_whole):
        t = part * LANES
        for i in range(LANES):
            gap = x[t + i] - arms[t + i]
            sum_0[i] += gap * gap
            gap = x[t + i] - arms[d + t + i]
            sum_1[i] += gap * gap
            gap = x[t + i] - arms[2 * d + t + i]
            sum_2[i] += gap * gap
            gap = x[t + i] - arms[3 * d + t + i]
            sum_3[i] += gap * gap
    for i in range(d - n_whole * LANES):
        t = n_whole * LANES + i
        gap = x[t] - arms[t]
        sum_0[i] += gap * gap
        gap = x[t] - arms[d + t]
        sum_1[i] += gap * gap
        gap = x[t] - arms[2 * d + t]
        sum_2[i] += gap * gap
        gap = x[t] - arms[3 * d + t]
        sum_3[i] += gap * gap
    _add_up(sum_0, sum_1, sum_2, sum_3, out)


cdef simd_void _row_absolute(
    const floating* x, const floating* arms, Py_ssize_t d, floating* out
) noexcept nogil:
    """Sums of absolute differences of a long row to four others."""
    cdef floating[LANES] sum_0
    cdef floating[LANES] sum_1
    cdef floating[LANES] sum_2
    cdef floating[LANES] sum_3
    cdef Py_ssize_t i, t, part, n_whole = d // LANES
    cdef floating gap
    for i in range(LANES):
        sum_0[i] = 0.0
        sum_1[i] = 0.0
        sum_2[i] = 0.0
        sum_3[i] = 0.0
    for part in range(n_whole):
        t = part * LANES
        for i in range(LANES):
            gap = x[t + i] - arms[t + i]
            sum_0[i] += fabsf(gap) if floating is float else fabs(gap)
            gap = x[t + i] - arms[d + t + i]
            sum_1[i] += fabsf(gap) if floating is float else fabs(gap)
            gap = x[t + i] - arms[2 * d + t + i]
            sum_2[i] += fabsf(gap) if floating is float else fabs(gap)
            gap = x[t + i] - arms[3 * d + t + i]
            sum_3[i] += fabsf(gap) if floating is float else fabs(gap)
    for i in range(d - n_whole * LANES):
        t = n_whole * LANES + i
        gap = x[t] - arms[t]
        sum_0[i] += fabsf(gap) if floating is float else fabs(gap)
        gap = x[t] - arms[d + t]
        sum_1[i] += fabsf(gap) if floating is float else fabs(gap)
        gap = x[t] - arms[2 * d + t]
        sum_2[i] += fabsf(gap) if floating is float else fabs(gap)
        gap = x[t] - arms[3 * d + t]
        sum_3[i] += fabsf(gap) if floating is float else fabs(gap)
    _add_up(sum_0, sum_1, sum_2, sum_3, out)


cdef inline void _add_up(
    const floating* sum_0,
    const floating* sum_1,
    const floating* sum_2,
    const floating* sum_3,
    floating* out,
) noexcept nogil:
    """Totals of the partial sums of four arms, a panel apart."""
    cdef Py_ssize_t i
    cdef floating total_0 = 0.0, total_1 = 0.0, total_2 = 0.0, total_3 = 0.0
    for i in range(LANES):
        total_0 += sum_0[i]
        total_1 += sum_1[i]
        total_2 += sum_2[i]
        total_3 += sum_3[i]
    out[0] = total_0
    out[PANEL] = total_1
    out[2 * PANEL] = total_2
    out[3 * PANEL] = total_3


def project_rows(
    const float[:, ::1] X,
    const Py_ssize_t[::1] arms,
    const float[:, ::1] vectors,
    float[:, ::1] out,
    int n_threads,
):
    """Products of some rows of X with a few vectors.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    arms : ndarray
        Which of them, ascending.
    vectors : ndarray of shape (n_vectors, n_features)
        The vectors.
    out : ndarray of shape (len(arms), n_vectors)
        Written.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n = arms.shape[0], d = X.shape[1], t
    cdef Py_ssize_t n_blocks = (n + PROJECTED - 1) // PROJECTED
    cdef float[:, :, ::1] gathered

    if n == 0:
        return
    n_threads = min(n_threads, n_blocks)
    gathered = np.empty((n_threads, PROJECTED, d), dtype=np.float32)
    for t in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        _project(
            X, arms, t * PROJECTED, min(PROJECTED, n - t * PROJECTED), vectors,
            &gathered[thread_num(), 0, 0], &out[t * PROJECTED, 0],
        )


cdef void _project(
    const float[:, ::1] X,
    const Py_ssize_t[::1] arms,
    Py_ssize_t first,
    Py_ssize_t width,
    const float[:, ::1] vectors,
    float* gathered,
    float* out,
) noexcept nogil:
    cdef Py_ssize_t d = X.shape[1], i
    cdef int m = width, k = vectors.shape[0], depth = d
    cdef float one = 1.0, zero = 0.0
    cdef const float* rows = &X[arms[first], 0]

    if arms[first + width - 1] - arms[first] != width - 1:
        for i in range(width):
            memcpy(gathered + i * d, &X[arms[first + i], 0], d * sizeof(float))
        rows = gathered
    sgemm(
        "T", "N", &k, &m, &depth, &one, <float*> &vectors[0, 0], &depth,
        <float*> rows, &depth, &zero, out, &k,
    )


def add_rows(
    const float[:, ::1] X,
    const float[::1] weights,
    const int[::1] labels,
    int n_groups,
    int n_threads,
):
    """Weighted sums of the rows of X, group by group.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    weights, labels : ndarray of shape (n_rows,)
        Weight and group of each.
    n_groups : int
        Number of groups.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    ndarray of shape (n_groups, n_features)
        The sums.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], t
    cdef Py_ssize_t n_blocks = (n + ADDED - 1) // ADDED
    # Blocks are added up in their order, whichever thread summed them.
    cdef float[:, :, ::1] sums = np.zeros((n_blocks, n_groups, d), dtype=np.float32)

    n_threads = max(min(n_threads, n_blocks), 1)
    for t in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        _add_block(
            &X[t * ADDED, 0], &weights[t * ADDED], &labels[t * ADDED],
            min(ADDED, n - t * ADDED), d, &sums[t, 0, 0],
        )
    return np.asarray(sums).sum(axis=0, dtype=np.float64)


cdef simd_void _add_block(
    restrict_const_float X,
    restrict_const_float weights,
    const int* labels,
    Py_ssize_t n,
    Py_ssize_t d,
    restrict_float sums,
) noexcept nogil:
    cdef Py_ssize_t j, t
    cdef float weight
    cdef restrict_const_float x
    cdef restrict_float own
    for j in range(n):
        x = X + j * d
        own = sums + labels[j] * d
        weight = weights[j]
        for t in range(d):
            own[t] += weight * x[t]


def gather_columns(
    const Py_ssize_t[::1] addresses, float[:, :, ::1] out, int n_threads
):
    """Copy the columns of arms from wherever they are to tiles of their own.

    Parameters
    ----------
    addresses : ndarray of shape (n_arms,)
        Where each column begins, inside of a tile.
    out : ndarray of shape (ceil(n_arms / ARM_TILE), n_references, ARM_TILE)
        Written; what is beyond the last arm is set to zero.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t j, m = out.shape[1], n = addresses.shape[0]

    if n == 0:
        return
    if n * m < SERIAL_COPIES:
        n_threads = 1
    for j in prange(m, nogil=True, schedule="static", num_threads=n_threads):
        _gather_row(&addresses[0], n, j * TILE, m * TILE, &out[0, j, 0])


cdef void _gather_row(
    const Py_ssize_t* addresses,
    Py_ssize_t n,
    Py_ssize_t offset,
    Py_ssize_t tile_size,
    float* out,
) noexcept nogil:
    """One reference's distances, `offset` floats into each column."""
    cdef Py_ssize_t i, first = 0

    while first < n:
        for i in range(min(TILE, n - first)):
            out[i] = (<const float*> addresses[first + i])[offset]
        for i in range(n - first, TILE):
            out[i] = 0.0
        out += tile_size
        first += TILE


def prepare_rows(
    const floating[:, ::1] X,
    const Py_ssize_t[::1] order,
    const double[::1] centre,
    double scale,
    bint normalise,
    prepared,
    int n_threads,
):
    """Copy rows in a given order, centred, scaled and, for the cosine, normalised.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data.
    order : ndarray
        Rows to copy.
    centre : ndarray of shape (n_features,)
        Subtracted from every row.
    scale : float
        Multiplies every row, after centring.
    normalise : bool
        Divide each row by its norm; zero rows stay zero.
    prepared : dtype
        float32 or float64.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    rows : ndarray of shape (len(order), n_features)
        The copy.
    squares : ndarray of shape (len(order),)
        Its squared norms.
    """
    cdef float[:, ::1] rows_32
    cdef double[:, ::1] rows_64
    cdef float[::1] squares_32
    cdef double[::1] squares_64
    cdef Py_ssize_t i, n = order.shape[0], d = X.shape[1]

    rows = np.empty((n, d), dtype=prepared)
    squares = np.empty(n, dtype=prepared)
    if rows.dtype == np.float32:
        rows_32 = rows
        squares_32 = squares
        for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
            _prepare(
                &X[order[i], 0], &centre[0], scale, normalise, d, &rows_32[i, 0],
                &squares_32[i],
            )
    else:
        rows_64 = rows
        squares_64 = squares
        for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
            _prepare(
                &X[order[i], 0], &centre[0], scale, normalise, d, &rows_64[i, 0],
                &squares_64[i],
            )
    return rows, squares


ctypedef fused prepared_type:
    float
    double


cdef inline void _prepare(
    const floating* x,
    const double* centre,
    double scale,
    bint normalise,
    Py_ssize_t d,
    prepared_type* out,
    prepared_type* square,
) noexcept nogil:
    cdef Py_ssize_t t
    cdef double value, total = 0.0

    for t in range(d):
        value = (x[t] - centre[t]) * scale
        out[t] = <prepared_type> value
        total += value * value
    if normalise and total > 0.0:
        value = 1.0 / sqrt(total)
        for t in range(d):
            out[t] = <prepared_type> (((x[t] - centre[t]) * scale) * value)
        total = 1.0
    square[0] = <prepared_type> total
