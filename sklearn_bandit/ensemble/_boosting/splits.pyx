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

# Categories with less support, in rows, go to the larger side unseen; it is also added
# to their hessians when they are ordered. LightGBM's `cat_smooth`.
cdef double MIN_SUPPORT = 10.0


cdef double node_value(
    double sum_g, double sum_h, double lower, double upper, const Rules* rules
) noexcept nogil:
    """Newton step of a node, within its bounds."""
    cdef double value = -sum_g / (sum_h + rules.l2)

    if value < lower:
        return lower
    if value > upper:
        return upper
    return value


cdef simd_void _scores(
    const double* g_left, const double* n_left, const double* h_left, Py_ssize_t n,
    double sum_g, double n_rows, double sum_h, double l2, double min_rows, double min_h,
    double* scores
) noexcept nogil:
    """What splits are worth, up to a constant: -1 for those not allowed."""
    cdef Py_ssize_t i
    cdef double g, a, b, score
    cdef bint allowed

    for i in range(n):
        g = sum_g - g_left[i]
        a = h_left[i]
        b = sum_h - a
        allowed = (
            (n_left[i] >= min_rows) & (n_rows - n_left[i] >= min_rows)
            & (a >= min_h) & (b >= min_h)
        )
        a = a + l2
        b = b + l2
        score = (g_left[i] * g_left[i] * b + g * g * a) / (a * b)
        scores[i] = score if allowed else -1.0


cdef void _set_split(
    Split* best, double gain, int bin_, bint missing_left, double n_left, double g_left,
    double h_left, const NodeSums* node, const Rules* rules
) noexcept nogil:
    best.gain = gain
    best.bin = bin_
    best.missing_left = missing_left
    best.is_categorical = False
    best.n_left = n_left
    best.g_left = g_left
    best.h_left = h_left
    best.n_right = node.n - n_left
    best.g_right = node.sum_g - g_left
    best.h_right = node.sum_h - h_left
    best.value_left = node_value(g_left, h_left, node.lower, node.upper, rules)
    best.value_right = node_value(
        best.g_right, best.h_right, node.lower, node.upper, rules
    )


cdef double _gain(
    double g_left, double h_left, int direction, const NodeSums* node,
    const Rules* rules
) noexcept nogil:
    """Decrease of the loss by a split; -1 against a monotonic constraint."""
    cdef double g_right = node.sum_g - g_left, h_right = node.sum_h - h_left
    cdef double left = node_value(g_left, h_left, node.lower, node.upper, rules)
    cdef double right = node_value(g_right, h_right, node.lower, node.upper, rules)

    if (direction > 0 and left > right) or (direction < 0 and left < right):
        return -1.0
    return node.value * node.sum_g - left * g_left - right * g_right


cdef void _scan(
    double* g_left, double* n_left, double* h_left, Py_ssize_t n_candidates,
    bint missing_left, int direction, const NodeSums* node, const Rules* rules,
    Split* best
) noexcept nogil:
    """Take the best of some thresholds if it is better than what was best so far.

    Of equal thresholds (there are no rows between them) the first is taken. Versions of
    scikit-learn before 1.10 take the last if missing values go left.
    """
    cdef double[MAX_CELLS] scores
    cdef double top = -1.0, gain
    cdef Py_ssize_t i, where = -1

    if rules.is_bounded:
        for i in range(n_candidates):
            scores[i] = -1.0
            if (
                n_left[i] >= rules.min_samples_leaf
                and node.n - n_left[i] >= rules.min_samples_leaf
                and h_left[i] >= rules.min_hessian
                and node.sum_h - h_left[i] >= rules.min_hessian
            ):
                scores[i] = _gain(g_left[i], h_left[i], direction, node, rules)
    else:
        _scores(
            g_left, n_left, h_left, n_candidates, node.sum_g, node.n, node.sum_h,
            rules.l2, rules.min_samples_leaf, rules.min_hessian, scores,
        )
    for i in range(n_candidates):
        if scores[i] > top:
            top = scores[i]
    if top < 0.0:
        return
    if missing_left and not rules.first_of_equal:
        where = n_candidates - 1
        while scores[where] != top:
            where -= 1
    else:
        where = 0
        while scores[where] != top:
            where += 1
    gain = _gain(g_left[where], h_left[where], direction, node, rules)
    if gain > best.gain and gain > 0.0:
        _set_split(
            best, gain, where, missing_left, n_left[where], g_left[where],
            h_left[where], node, rules,
        )


cdef void find_split(
    const double* cells,
    int n_bins,
    bint has_missing,
    int missing_bin,
    int direction,
    const NodeSums* node,
    const Rules* rules,
    Split* best,
) noexcept nogil:
    """Find the best threshold of a numerical feature; `best` has a gain to beat."""
    cdef double[MAX_CELLS] g_left, n_left, h_left
    cdef double g = 0.0, n = 0.0, h = 0.0
    cdef int width = rules.width, i
    cdef const double* missing

    for i in range(n_bins):
        g += cells[i * width]
        n += cells[i * width + 1]
        h += cells[i * width + width // 2]
        g_left[i] = g
        n_left[i] = n
        h_left[i] = h
    # With all values on the left, missing ones must be on the right.
    _scan(
        g_left, n_left, h_left, n_bins - 1 + has_missing, False, direction, node, rules,
        best,
    )
    if not has_missing:
        return
    missing = cells + n_bins * width
    for i in range(n_bins - 1):
        g_left[i] += missing[0]
        n_left[i] += missing[1]
        h_left[i] += missing[width // 2]
    _scan(g_left, n_left, h_left, n_bins - 1, True, direction, node, rules, best)


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
    cdef double g, n, h, gain, support = node.n / node.sum_h
    cdef double top = best.gain, top_g = 0.0, top_n = 0.0, top_h = 0.0

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
        g = 0.0
        n = 0.0
        h = 0.0
        for k in range(n_tried):
            cell = order[k if from_left else n_used - 1 - k]
            g += cells[cell * width]
            n += cells[cell * width + 1]
            h += cells[cell * width + width // 2]
            if n < rules.min_samples_leaf or h < rules.min_hessian:
                continue
            if (
                node.n - n < rules.min_samples_leaf
                or node.sum_h - h < rules.min_hessian
            ):
                break
            gain = _gain(g, h, 0, node, rules)
            if gain > top and gain > 0.0:
                top = gain
                top_g = g
                top_n = n
                top_h = h
                best_size = k + 1
                best_end = from_left
    if best_size == 0:
        return
    _set_split(best, top, 0, False, top_n, top_g, top_h, node, rules)
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
