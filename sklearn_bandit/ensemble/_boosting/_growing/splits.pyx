"""The best split of a node on one feature, from its histogram.

The rules are those of scikit-learn's HistGradientBoosting, XGBoost and LightGBM: a node
with sums of gradients G and hessians H has the value -G / (H + l2) and the loss
-G^2 / (H + l2); a split is worth the loss of the node less those of its children.
Missing values are tried on both sides. Categories are ordered by their values (Fisher,
"On Grouping for Maximum Homogeneity", 1958) and then split like numbers.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from sklearn_bandit._core.simd cimport simd_void

cdef enum:
    MAX_CELLS = 256
    # Thresholds that are scored together. There are whole blocks only: the rest of a
    # loop may be compiled to other roundings, and thresholds with no rows between them
    # must have equal scores.
    SCORE_BLOCK = 8

# Categories with less support, in rows, go to the larger side unseen; it is also added
# to their hessians when they are ordered. LightGBM's `cat_smooth`.
cdef double MIN_SUPPORT = 10.0


cdef struct Sums:
    double n                    # rows
    double g                    # gradients
    double h                    # hessians


cdef struct Thresholds:
    double[MAX_CELLS] n_left    # rows that go left, by threshold
    double[MAX_CELLS] g_left    # their sums of gradients
    double[MAX_CELLS] h_left    # and hessians
    double[MAX_CELLS] score
    Py_ssize_t n                # number of thresholds
    bint missing_left           # whether missing values go left


cdef double _value(
    double sum_g, double sum_h, const NodeSums* node, const Rules* rules
) noexcept nogil:
    """Newton step of a child, within the bounds of its node."""
    cdef double value = -sum_g / (sum_h + rules.l2)

    if value < node.lower:
        return node.lower
    if value > node.upper:
        return node.upper
    return value


cdef simd_void _score(
    Thresholds* thresholds, const NodeSums* node, const Rules* rules
) noexcept nogil:
    """What splits are worth, up to a constant: -1 for those not allowed."""
    cdef double sum_g = node.sum_g, n_rows = node.n, sum_h = node.sum_h
    cdef double l2 = rules.l2, min_h = rules.min_hessian
    cdef double min_rows = rules.min_samples_leaf
    cdef double n, g_left, g, a, b, score
    cdef Py_ssize_t i, j, first = 0
    cdef bint allowed

    while first < thresholds.n:
        for j in range(SCORE_BLOCK):
            i = first + j
            n = thresholds.n_left[i]
            g_left = thresholds.g_left[i]
            g = sum_g - g_left
            a = thresholds.h_left[i]
            b = sum_h - a
            allowed = (
                (n >= min_rows) & (n_rows - n >= min_rows) & (a >= min_h) & (b >= min_h)
            )
            a = a + l2
            b = b + l2
            score = (g_left * g_left * b + g * g * a) / (a * b)
            thresholds.score[i] = score if allowed else -1.0
        first += SCORE_BLOCK


cdef void _score_bounded(
    Thresholds* thresholds, int direction, const NodeSums* node, const Rules* rules
) noexcept nogil:
    """The same where values are bounded by monotonic constraints."""
    cdef double n, h
    cdef Py_ssize_t i

    for i in range(thresholds.n):
        n, h = thresholds.n_left[i], thresholds.h_left[i]
        thresholds.score[i] = -1.0
        if (
            n >= rules.min_samples_leaf
            and node.n - n >= rules.min_samples_leaf
            and h >= rules.min_hessian
            and node.sum_h - h >= rules.min_hessian
        ):
            thresholds.score[i] = _gain(
                thresholds.g_left[i], h, direction, node, rules
            )


cdef double _gain(
    double g_left, double h_left, int direction, const NodeSums* node,
    const Rules* rules
) noexcept nogil:
    """Decrease of the loss by a split; -1 against a monotonic constraint."""
    cdef double g_right = node.sum_g - g_left, h_right = node.sum_h - h_left
    cdef double left = _value(g_left, h_left, node, rules)
    cdef double right = _value(g_right, h_right, node, rules)

    if (direction > 0 and left > right) or (direction < 0 and left < right):
        return -1.0
    return node.value * node.sum_g - left * g_left - right * g_right


cdef void _set_split(
    double gain, const Sums* left, const NodeSums* node, const Rules* rules, Split* best
) noexcept nogil:
    """Write gain, sums and values of a split; where it is, the caller writes."""
    best.gain = gain
    best.n_left = left.n
    best.g_left = left.g
    best.h_left = left.h
    best.n_right = node.n - left.n
    best.g_right = node.sum_g - left.g
    best.h_right = node.sum_h - left.h
    best.value_left = _value(left.g, left.h, node, rules)
    best.value_right = _value(best.g_right, best.h_right, node, rules)


cdef void _take_best(
    Thresholds* thresholds, int direction, const NodeSums* node, const Rules* rules,
    Split* best
) noexcept nogil:
    """Take the best of some thresholds if it is better than what was best so far.

    Of equal thresholds (there are no rows between them) the first is taken. Versions of
    scikit-learn before 1.10 take the last if missing values go left.
    """
    cdef const double* scores = thresholds.score
    cdef double top = -1.0, gain
    cdef Py_ssize_t i, where
    cdef Sums left

    if rules.is_bounded:
        _score_bounded(thresholds, direction, node, rules)
    else:
        _score(thresholds, node, rules)
    for i in range(thresholds.n):
        if scores[i] > top:
            top = scores[i]
    if top < 0.0:
        return
    if thresholds.missing_left and not rules.first_of_equal:
        where = thresholds.n - 1
        while scores[where] != top:
            where -= 1
    else:
        where = 0
        while scores[where] != top:
            where += 1
    left.n = thresholds.n_left[where]
    left.g = thresholds.g_left[where]
    left.h = thresholds.h_left[where]
    gain = _gain(left.g, left.h, direction, node, rules)
    if gain > best.gain and gain > 0.0:
        _set_split(gain, &left, node, rules, best)
        best.bin = where
        best.missing_left = thresholds.missing_left
        best.is_categorical = False


cdef void find_split(
    const double* cells,
    int n_bins,
    bint has_missing,
    int direction,
    const NodeSums* node,
    const Rules* rules,
    Split* best,
) noexcept nogil:
    """Find the best threshold of a numerical feature; `best` has a gain to beat."""
    cdef Thresholds thresholds
    cdef double g = 0.0, n = 0.0, h = 0.0
    cdef int width = rules.width, i
    cdef const double* missing

    for i in range(n_bins):
        g += cells[i * width]
        n += cells[i * width + 1]
        h += cells[i * width + width // 2]
        thresholds.g_left[i] = g
        thresholds.n_left[i] = n
        thresholds.h_left[i] = h
    for i in range(n_bins, min(n_bins + SCORE_BLOCK, MAX_CELLS)):
        thresholds.g_left[i] = g
        thresholds.n_left[i] = n
        thresholds.h_left[i] = h
    # With all values on the left, missing ones must be on the right.
    thresholds.n = n_bins - 1 + has_missing
    thresholds.missing_left = False
    _take_best(&thresholds, direction, node, rules, best)
    if not has_missing:
        return
    missing = cells + n_bins * width
    thresholds.n = n_bins - 1
    thresholds.missing_left = True
    for i in range(n_bins - 1):
        thresholds.g_left[i] += missing[0]
        thresholds.n_left[i] += missing[1]
        thresholds.h_left[i] += missing[width // 2]
    _take_best(&thresholds, direction, node, rules, best)


cdef void find_categorical_split(
    const double* cells,
    int n_bins,
    bint has_missing,
    int missing_bin,
    const NodeSums* node,
    const Rules* rules,
    Split* best,
) noexcept nogil:
    """Find the best set of categories; missing values are one of them.

    Sets grow from both ends of the ordered categories and have at most half of them, so
    that categories with little support always go with the larger half, to the right.
    """
    cdef double[MAX_CELLS] value
    cdef int[MAX_CELLS] order
    cdef int width = rules.width, n_used = 0, n_tried, i, j, k, from_left, cell
    cdef int best_size = 0, best_end = 0
    cdef double h, gain, top = best.gain, support = node.n / node.sum_h
    cdef Sums left, top_left = Sums(0.0, 0.0, 0.0)

    for i in range(n_bins + has_missing):
        h = cells[i * width + width // 2]
        if h * support < MIN_SUPPORT:
            continue
        value[i] = cells[i * width] / (h + MIN_SUPPORT)
        j = n_used
        while j > 0 and value[order[j - 1]] > value[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
        n_used += 1
    if n_used <= 1:
        return

    for from_left in range(1, -1, -1):
        n_tried = (n_used + 1) // 2 if from_left else (n_used + 1) // 2 - 1
        left = Sums(0.0, 0.0, 0.0)
        for k in range(n_tried):
            cell = order[k if from_left else n_used - 1 - k]
            left.g += cells[cell * width]
            left.n += cells[cell * width + 1]
            left.h += cells[cell * width + width // 2]
            if left.n < rules.min_samples_leaf or left.h < rules.min_hessian:
                continue
            if (
                node.n - left.n < rules.min_samples_leaf
                or node.sum_h - left.h < rules.min_hessian
            ):
                break
            gain = _gain(left.g, left.h, 0, node, rules)
            if gain > top and gain > 0.0:
                top = gain
                top_left = left
                best_size = k + 1
                best_end = from_left
    if best_size == 0:
        return
    _set_split(top, &top_left, node, rules, best)
    best.bin = 0
    best.missing_left = False
    best.is_categorical = True
    memset(best.left_bins, 0, sizeof(best.left_bins))
    for k in range(best_size):
        cell = order[k if best_end else n_used - 1 - k]
        if cell == n_bins:
            best.missing_left = True
            cell = missing_bin
        best.left_bins[cell // 32] |= <uint32_t> 1 << (cell % 32)


cdef void fill_sides(
    const Split* split, int missing_bin, uint8_t* goes_left
) noexcept nogil:
    """Which bins go left, as a table."""
    cdef int bin_

    for bin_ in range(256):
        if split.is_categorical:
            goes_left[bin_] = (split.left_bins[bin_ // 32] >> (bin_ % 32)) & 1
        else:
            goes_left[bin_] = bin_ <= split.bin
    if not split.is_categorical:
        goes_left[missing_bin] = split.missing_left
