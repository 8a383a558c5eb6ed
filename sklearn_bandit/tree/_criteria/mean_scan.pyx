"""The scan of a histogram of weights and sums: any criterion, limits, missing values.

Histograms of one output that need none of this are scanned faster:
``squared_error_scan``.
"""

from libc.math cimport fabs

from sklearn_bandit._core.simd cimport inline_void
from sklearn_bandit.tree._bin_sets cimport N_WORDS, has_bin, scan_word, take_bin
from sklearn_bandit.tree._common cimport MISSING_BIN, set_split

from .histograms cimport is_allowed
from .scores cimport mean_score, poisson_score, squares_score


cdef inline_void scan_side(
    const bint simple,
    double* cells,
    double* left,
    Scan* scan,
    bint missing_left,
    bint has_missing,
    bint clear,
    Split* best,
) noexcept nogil:
    """Try every threshold with the missing values on one side.

    `simple` says that there is one output and the criterion is the squared error.
    """
    cdef Py_ssize_t k, n_left = 0, n_cells = 2 if simple else scan.n_cells
    cdef const double* totals = scan.totals
    cdef double* cell
    cdef double score, right_weight, best_score = best.score
    cdef uint64_t bits
    cdef int word, bin, previous = -1

    for k in range(n_cells):
        left[k] = cells[MISSING_BIN * n_cells + k] if missing_left else 0.0
    if missing_left and scan.sizes != NULL:
        n_left = scan.sizes[MISSING_BIN]
    for word in range(N_WORDS + 1):
        # Last of all, missing values alone on the right.
        bits = scan_word(
            scan.bins, word, has_missing and not missing_left and previous >= 0
        )
        while bits:
            bin = take_bin(&bits, word)
            cell = cells + bin * n_cells
            if cell[0] == 0.0:
                continue
            if previous >= 0:
                scan.varies = True
                right_weight = totals[0] - left[0]
                if simple:
                    score = mean_score(
                        left[1], totals[1] - left[1], left[0], right_weight
                    )
                elif scan.poisson:
                    score = poisson_score(n_cells, left, totals)
                else:
                    score = squares_score(n_cells, left, totals)
                if (
                    score - scan.tie * fabs(score) > best_score
                    and right_weight > 0.0
                    and (scan.allowed == NULL or has_bin(scan.allowed, previous))
                    and is_allowed(
                        scan.limits, scan.constraint, left[0], right_weight, n_left,
                        left[1] / left[0], (totals[1] - left[1]) / right_weight,
                    )
                ):
                    best_score = score
                    set_split(
                        best, scan.feature, previous, bin, missing_left, has_missing,
                        score,
                    )
                    for k in range(n_cells):
                        best.left[k] = left[k]
            if word == N_WORDS:
                break
            for k in range(n_cells):
                left[k] += cell[k]
                if clear:
                    cell[k] = 0.0
            if scan.sizes != NULL:
                n_left += scan.sizes[bin]
            previous = bin


cdef void scan_cells(
    double* cells, Scan* scan, bint missing_left, bint has_missing, bint clear,
    Split* best,
) noexcept nogil:
    """Scan with the simple case, which is nearly all cases, compiled on its own."""
    cdef double left[2]

    if scan.n_cells == 2 and not scan.poisson:
        scan_side(
            True, cells, left, scan, missing_left, has_missing, clear, best
        )
    else:
        scan_side(
            False, cells, scan.left, scan, missing_left, has_missing, clear, best
        )
