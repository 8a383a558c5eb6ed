"""The scan of a histogram of class weights: any criterion, limits, missing values.

Kernels are compiled for 2, 4, 8 and 16 numbers a cell, and one for any number.
Small histograms that need none of this are scanned faster: ``gini_scan``.
"""

from libc.math cimport fabs
from libc.string cimport memset

from sklearn_bandit._core.simd cimport (
    add_8,
    inline_void,
    simd_void,
    squared_distance_8,
    squares_8,
    sum_8,
)
from sklearn_bandit.tree._bin_sets cimport N_WORDS, has_bin, scan_word, take_bin
from sklearn_bandit.tree._common cimport MISSING_BIN, N_SLOTS, set_split

from .histograms cimport is_allowed
from .scores cimport entropy_score, gini_score, xlogx


cdef inline_void sum_cell(
    const int width, Py_ssize_t n_cells, const cell_t* cell, sum_t* out
) noexcept nogil:
    """Weight of a cell, over all classes."""
    cdef Py_ssize_t k

    out[0] = 0
    if cell_t is uint16_t:
        if sum_t is int32_t:
            if width and width % 8 == 0:
                for k in range(width // 8):
                    out[0] += sum_8(cell + 8 * k)
                return
    for k in range(n_cells):
        out[0] += <sum_t> cell[k]


cdef inline_void add_cell(
    const int width, Py_ssize_t n_cells, const cell_t* cell, sum_t* left
) noexcept nogil:
    """Add a cell to the sums left of the threshold."""
    cdef Py_ssize_t k

    if cell_t is uint16_t:
        if sum_t is int32_t:
            if width and width % 8 == 0:
                for k in range(width // 8):
                    add_8(left + 8 * k, cell + 8 * k)
                return
    for k in range(n_cells):
        left[k] += <sum_t> cell[k]


cdef inline_void sum_squares(
    const int width, Py_ssize_t n_cells, const sum_t* left, const sum_t* totals,
    sum_t* left_sum, sum_t* right_sum,
) noexcept nogil:
    """Sums of the squared class weights on both sides."""
    cdef sum_t right
    cdef Py_ssize_t k

    left_sum[0] = 0
    right_sum[0] = 0
    if sum_t is int32_t:
        if width and width % 8 == 0:
            for k in range(width // 8):
                left_sum[0] += squares_8(left + 8 * k)
                right_sum[0] += squared_distance_8(totals + 8 * k, left + 8 * k)
            return
    for k in range(n_cells):
        right = totals[k] - left[k]
        left_sum[0] += left[k] * left[k]
        right_sum[0] += right * right


cdef inline_void scan_side(
    const int width,
    cell_t* cells,
    sum_t* sums,
    Scan* scan,
    bint missing_left,
    bint has_missing,
    bint clear,
    Split* best,
) noexcept nogil:
    """Try every threshold with the missing values on one side.

    `width` is the number of cells if the compiler is to know it, else 0. A threshold is
    tried when the next occupied bin is met: only then is there something on both sides.
    """
    cdef Py_ssize_t k, n_cells = width if width else scan.n_cells
    cdef sum_t* left = sums
    cdef const sum_t* totals = sums + n_cells
    cdef const sum_t* missing = sums + 2 * n_cells
    cdef sum_t weight, left_sum, right_sum
    cdef double right_weight, score, best_score = best.score, left_weight = 0.0
    cdef double left_score, right_score
    cdef int word, bin, previous = -1
    cdef uint64_t bits
    cdef Py_ssize_t n_left = 0
    cdef cell_t* cell

    for k in range(n_cells):
        left[k] = 0
    if missing_left:
        for k in range(n_cells):
            left[k] = missing[k]
            left_weight += left[k]
        left_weight /= scan.n_outputs
        if scan.sizes != NULL:
            n_left = scan.sizes[MISSING_BIN]

    for word in range(N_WORDS + 1):
        # Last of all, missing values alone on the right.
        bits = scan_word(
            scan.bins, word, has_missing and not missing_left and previous >= 0
        )
        while bits:
            bin = take_bin(&bits, word)
            cell = cells + bin * n_cells
            weight = 0
            if word < N_WORDS:
                sum_cell(width, n_cells, cell, &weight)
                if weight == 0:
                    continue
            if previous >= 0:
                scan.varies = True
                if scan.allowed == NULL or has_bin(scan.allowed, previous):
                    right_weight = scan.weight - left_weight
                    if scan.entropy:
                        left_score = 0.0
                        right_score = 0.0
                        for k in range(n_cells):
                            left_score += xlogx(left[k])
                            right_score += xlogx(totals[k] - left[k])
                        score = entropy_score(
                            left_score, right_score, left_weight, right_weight,
                            scan.n_outputs,
                        )
                    else:
                        sum_squares(
                            width, n_cells, left, totals, &left_sum, &right_sum
                        )
                        score = gini_score(
                            left_sum, right_sum, left_weight, right_weight
                        )
                    if (
                        score - scan.tie * fabs(score) > best_score
                        and right_weight > 0.0
                        and is_allowed(
                            scan.limits, scan.constraint, left_weight, right_weight,
                            n_left, left[0] / left_weight,
                            (totals[0] - left[0]) / right_weight,
                        )
                    ):
                        best_score = score
                        set_split(
                            best, scan.feature, previous, bin, missing_left,
                            has_missing, score,
                        )
                        for k in range(scan.n_channels):
                            best.left[k] = left[k]
            if word == N_WORDS:
                break
            if cell_t is uint16_t:
                left_weight += weight
            else:
                left_weight += weight / scan.n_outputs
            add_cell(width, n_cells, cell, left)
            if scan.sizes != NULL:
                n_left += scan.sizes[bin]
            if clear:
                for k in range(n_cells):
                    cell[k] = 0
            previous = bin


cdef inline_void scan_both(
    const int width, cell_t* cells, sum_t* sums, Scan* scan, Split* best
) noexcept nogil:
    """Try every threshold, with the missing values, if any, on either side."""
    cdef Py_ssize_t k, n_cells = width if width else scan.n_cells
    cdef cell_t* missing = cells + MISSING_BIN * n_cells
    cdef sum_t weight = 0

    for k in range(n_cells):
        sums[n_cells + k] = 0
    for k in range(scan.n_channels):
        sums[n_cells + k] = <sum_t> scan.totals[k]
    if has_bin(scan.bins, MISSING_BIN):
        for k in range(n_cells):
            sums[2 * n_cells + k] = <sum_t> missing[k]
            weight += <sum_t> missing[k]
    if weight == 0:
        scan_side(width, cells, sums, scan, False, False, scan.clear, best)
        return
    scan_side(width, cells, sums, scan, False, True, False, best)
    scan_side(width, cells, sums, scan, True, True, scan.clear, best)
    if scan.clear:
        for k in range(n_cells):
            missing[k] = 0


cdef simd_void scan_2(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil:
    cdef sum_t sums[6]
    scan_both(2, cells, sums, scan, best)


cdef simd_void scan_4(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil:
    cdef sum_t sums[12]
    scan_both(4, cells, sums, scan, best)


cdef simd_void scan_8(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil:
    cdef sum_t sums[24]
    scan_both(8, cells, sums, scan, best)


cdef simd_void scan_16(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil:
    cdef sum_t sums[48]
    scan_both(16, cells, sums, scan, best)


cdef simd_void scan_any(
    cell_t* cells, sum_t* sums, Scan* scan, Split* best
) noexcept nogil:
    scan_both(0, cells, sums, scan, best)


cdef void scan_cells(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil:
    """Scan with the number of cells known to the compiler where it is small.

    Otherwise `room` is for three times that number of sums.
    """
    if scan.n_cells == 2:
        scan_2(cells, room, scan, best)
    elif scan.n_cells == 4:
        scan_4(cells, room, scan, best)
    elif scan.n_cells == 8:
        scan_8(cells, room, scan, best)
    elif scan.n_cells == 16:
        scan_16(cells, room, scan, best)
    else:
        scan_any(cells, room, scan, best)
    if scan.sizes != NULL and scan.clear:
        memset(<void*> scan.sizes, 0, N_SLOTS * sizeof(uint32_t))
