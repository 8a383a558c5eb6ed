"""The scan of a histogram of one real output by the squared error.

The common case of a scan, in the order that keeps a processor busy: first, one step a
bin, the sums left of each threshold; then the scores of all thresholds, several at
once; last the best of them.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport uint8_t

from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.tree._bin_sets cimport N_WORDS, present_bins, take_bin
from sklearn_bandit.tree._common cimport MISSING_BIN, N_SLOTS, set_split

from .scores cimport SCORE_LANES, mean_score


cdef struct Thresholds:
    # What is left of the threshold after each bin that has rows.
    Py_ssize_t n
    uint8_t bins[N_SLOTS]
    double weights[N_SLOTS]
    double sums[N_SLOTS]
    double scores[N_SLOTS + SCORE_LANES]


cdef Py_ssize_t add_bins(
    double* cells, const uint64_t* bins, bint clear, Thresholds* at
) noexcept nogil:
    """The sums left of the threshold after each bin; returns the number of bins."""
    cdef double weight = 0.0, sum = 0.0
    cdef double* cell
    cdef Py_ssize_t n = 0
    cdef uint64_t bits
    cdef int word, bin

    for word in range(N_WORDS):
        bits = present_bins(bins, word)
        while bits:
            bin = take_bin(&bits, word)
            cell = cells + 2 * bin
            at.bins[n] = <uint8_t> bin
            # Empty bins are listed, too: these are overwritten by the next.
            n += cell[0] != 0.0
            weight += cell[0]
            sum += cell[1]
            at.weights[n - 1 if n else 0] = weight
            at.sums[n - 1 if n else 0] = sum
            if clear:
                cell[0] = 0.0
                cell[1] = 0.0
    return n


cdef simd_void score_thresholds(
    Thresholds* at, Py_ssize_t n, double more_weight, double more, const double* totals,
    double* largest,
) noexcept nogil:
    """Scores of the first n thresholds with something more on the left; the best."""
    cdef double lanes[SCORE_LANES]
    cdef double weight, sum, right_weight, right, score
    cdef Py_ssize_t i
    cdef int k

    for i in range(n):
        weight = at.weights[i] + more_weight
        sum = at.sums[i] + more
        right_weight = totals[0] - weight
        right = totals[1] - sum
        score = mean_score(sum, right, weight, right_weight)
        at.scores[i] = score if right_weight > 0.0 else -INFINITY
    for i in range(n, n + SCORE_LANES):
        at.scores[i] = -INFINITY
    for k in range(SCORE_LANES):
        lanes[k] = -INFINITY
    i = 0
    while i < n:
        for k in range(SCORE_LANES):
            score = at.scores[i + k]
            lanes[k] = score if score > lanes[k] else lanes[k]
        i += SCORE_LANES
    largest[0] = lanes[0]
    for k in range(1, SCORE_LANES):
        largest[0] = max(largest[0], lanes[k])


cdef void scan_side(
    Thresholds* at, const double* missing, bint missing_left, const double* totals,
    int32_t feature, double tie, Split* best,
) noexcept nogil:
    """Try every threshold with the missing values on one side."""
    cdef bint has_missing = missing[0] != 0.0
    cdef double more_weight = missing[0] if missing_left else 0.0
    cdef double more = missing[1] if missing_left else 0.0
    cdef Py_ssize_t chosen = 0, n = at.n
    cdef double tied, largest

    # Last of all, missing values alone on the right.
    if missing_left or not has_missing:
        n -= 1
    if n <= 0:
        return
    score_thresholds(at, n, more_weight, more, totals, &largest)
    tied = largest - tie * fabs(largest)
    if not tied > best.score:
        return
    while not at.scores[chosen] >= tied:
        chosen += 1
    set_split(
        best, feature, at.bins[chosen],
        at.bins[chosen + 1] if chosen + 1 < at.n else MISSING_BIN, missing_left,
        has_missing, at.scores[chosen],
    )
    best.left[0] = at.weights[chosen] + more_weight
    best.left[1] = at.sums[chosen] + more


cdef bint scan_means(
    double* cells, const uint64_t* bins, const double* totals, int32_t feature,
    double tie, bint clear, Split* best,
) noexcept nogil:
    """Find the best threshold of a feature; empty the cells if `clear` is set.

    All splits are allowed. Scores that differ by less than `tie` are the same: then the
    first threshold is taken. Returns whether the feature varies.
    """
    cdef Thresholds at
    cdef double missing[2]

    missing[0] = cells[2 * MISSING_BIN]
    missing[1] = cells[2 * MISSING_BIN + 1]
    at.n = add_bins(cells, bins, clear, &at)
    scan_side(&at, missing, False, totals, feature, tie, best)
    if missing[0] != 0.0:
        scan_side(&at, missing, True, totals, feature, tie, best)
        if clear:
            cells[2 * MISSING_BIN] = 0.0
            cells[2 * MISSING_BIN + 1] = 0.0
        return at.n > 0
    return at.n > 1
