"""The search of a few rows by Gini, comparing all pairs of rows.

Every row is a threshold: what has its bin or a smaller one goes left. Row by row, its
weight is added to the left of all thresholds that it reaches, one byte each, so that a
vector holds those of all rows. With the rows in order of their classes the sums of a
class are complete before the next one begins. There is nothing to sort and no
histogram to empty.
"""

from libc.string cimport memcpy, memset

from sklearn_bandit._core.simd cimport (
    add_reached_16,
    add_reached_32,
    add_reached_64,
    bytes_16,
    bytes_32,
    bytes_64,
    inline_void,
    simd_void,
)
from sklearn_bandit.tree._common cimport MISSING_BIN, set_split


cdef union Score:
    # Scores that are not negative compare as integers as they do as doubles.
    double score
    int64_t key


cdef struct Thresholds:
    uint8_t bins[MAX_COMPARED]
    Score scores[MAX_COMPARED]  # negative where one side is empty
    int64_t best_key


cdef void load_few(
    const Block* block, const uint32_t* ids, Py_ssize_t n, const double* totals,
    Py_ssize_t n_classes, int64_t* places, FewRows* few,
) noexcept nogil:
    """Put the rows of a node in order; none if their weight is too large.

    `places` is scratch, one number a class.
    """
    cdef Py_ssize_t i, k, place, start = 0
    cdef uint16_t label

    few.n = 0
    few.n_groups = 0
    few.weight = 0
    few.squares = 0
    memset(places, 0, n_classes * sizeof(int64_t))
    for i in range(n):
        places[block.labels[ids[i]]] += 1
    for k in range(n_classes):
        if places[k] == 0:
            continue
        few.labels[few.n_groups] = <uint16_t> k
        few.totals[few.n_groups] = <int32_t> totals[k]
        few.ends[few.n_groups] = <int32_t> (start + places[k])
        few.n_groups += 1
        few.weight += <int32_t> totals[k]
        few.squares += <int32_t> (totals[k] * totals[k])
        place = places[k]
        places[k] = start
        start += place
    if few.weight > MAX_WEIGHT:
        return
    few.n = <int32_t> n
    for i in range(n):
        label = block.labels[ids[i]]
        place = places[label]
        places[label] += 1
        few.rows[place] = block.rows + <Py_ssize_t> ids[i] * block.stride
        few.weights[place] = <uint8_t> block.counts[ids[i]]


cdef inline_void sum_group(
    const int width, const uint8_t* bins, const uint8_t* weights, Py_ssize_t start,
    Py_ssize_t end, uint8_t* out,
) noexcept nogil:
    """Weight of some rows left of each threshold."""
    cdef bytes_16 all_16, sum_16
    cdef bytes_32 all_32, sum_32
    cdef bytes_64 all_64, sum_64
    cdef Py_ssize_t j

    if width == 16:
        memcpy(&all_16, bins, 16)
        memset(&sum_16, 0, 16)
        for j in range(start, end):
            add_reached_16(&sum_16, &all_16, bins[j], weights[j])
        memcpy(out, &sum_16, 16)
    elif width == 32:
        memcpy(&all_32, bins, 32)
        memset(&sum_32, 0, 32)
        for j in range(start, end):
            add_reached_32(&sum_32, &all_32, bins[j], weights[j])
        memcpy(out, &sum_32, 32)
    else:
        memcpy(&all_64, bins, 64)
        memset(&sum_64, 0, 64)
        for j in range(start, end):
            add_reached_64(&sum_64, &all_64, bins[j], weights[j])
        memcpy(out, &sum_64, 64)


cdef inline_void score_rows(
    const int width, const FewRows* few, Thresholds* at
) noexcept nogil:
    """Scores of all thresholds, and the best of them."""
    cdef uint8_t left[MAX_COMPARED]
    cdef int32_t squares[MAX_COMPARED]
    cdef int32_t products[MAX_COMPARED]
    cdef int32_t weights[MAX_COMPARED]
    cdef Py_ssize_t group, start = 0
    cdef int32_t i, total, right_squares, right_weight
    cdef double score
    cdef int64_t best_key = -1

    for i in range(width):
        squares[i] = 0
        products[i] = 0
        weights[i] = 0
    for group in range(few.n_groups):
        sum_group(width, at.bins, few.weights, start, few.ends[group], left)
        start = few.ends[group]
        total = few.totals[group]
        for i in range(width):
            weights[i] += left[i]
            squares[i] += <int32_t> left[i] * left[i]
            products[i] += <int32_t> left[i] * total
    for i in range(width):
        right_squares = few.squares - 2 * products[i] + squares[i]
        right_weight = few.weight - weights[i]
        score = (
            <double> squares[i] / weights[i]
            + <double> right_squares / (right_weight if right_weight else 1)
        )
        at.scores[i].score = score if right_weight else -1.0
    for i in range(width):
        best_key = max(best_key, at.scores[i].key)
    at.best_key = best_key


cdef simd_void score_16(const FewRows* few, Thresholds* at) noexcept nogil:
    score_rows(16, few, at)


cdef simd_void score_32(const FewRows* few, Thresholds* at) noexcept nogil:
    score_rows(32, few, at)


cdef simd_void score_64(const FewRows* few, Thresholds* at) noexcept nogil:
    score_rows(64, few, at)


cdef void forbid(
    const FewRows* few, const Limits* limits, Thresholds* at
) noexcept nogil:
    """Take the thresholds out that leave too little on a side."""
    cdef int32_t i, j, n_left, left_weight
    cdef int64_t best_key = -1

    for i in range(few.n):
        n_left = 0
        left_weight = 0
        for j in range(few.n):
            if at.bins[j] <= at.bins[i]:
                n_left += 1
                left_weight += few.weights[j]
        if (
            min(n_left, few.n - n_left) < limits.min_samples_leaf
            or min(left_weight, few.weight - left_weight) < limits.min_weight_leaf
        ):
            at.scores[i].score = -1.0
        best_key = max(best_key, at.scores[i].key)
    at.best_key = best_key


cdef void take_best(
    const FewRows* few, int32_t feature, Py_ssize_t n_classes, const Thresholds* at,
    Split* best,
) noexcept nogil:
    """Note the first of the best thresholds."""
    cdef int32_t i, group = 0, bin = MISSING_BIN, next_bin = MISSING_BIN
    cdef double score = best.score

    for i in range(few.n):
        if at.scores[i].key == at.best_key:
            bin = min(bin, <int32_t> at.bins[i])
            score = at.scores[i].score
    memset(best.left, 0, n_classes * sizeof(double))
    for i in range(few.n):
        if i == few.ends[group]:
            group += 1
        if at.bins[i] <= bin:
            best.left[few.labels[group]] += few.weights[i]
        else:
            next_bin = min(next_bin, <int32_t> at.bins[i])
    set_split(best, feature, bin, next_bin, False, False, score)


cdef int search_few(
    const FewRows* few, int32_t feature, const Limits* limits, Py_ssize_t n_classes,
    Split* best,
) noexcept nogil:
    """Find the best threshold of a feature; replace `best` if it has a better score.

    Returns 1 if the feature varies, 0 if not, and -1, with nothing done, if it has
    missing values.
    """
    cdef Thresholds at
    cdef Score to_beat
    cdef uint8_t first = few.rows[0][feature], differs = 0, largest = 0
    cdef int32_t i, n = few.n

    for i in range(n):
        at.bins[i] = few.rows[i][feature]
        differs |= at.bins[i] ^ first
        largest = max(largest, at.bins[i])
    if largest == MISSING_BIN:
        return -1
    if not differs:
        return 0
    # Vectors are filled up with thresholds that have nothing on their right.
    if n <= 16:
        memset(at.bins + n, MISSING_BIN, 16 - n)
        score_16(few, &at)
    elif n <= 32:
        memset(at.bins + n, MISSING_BIN, 32 - n)
        score_32(few, &at)
    else:
        memset(at.bins + n, MISSING_BIN, 64 - n)
        score_64(few, &at)
    if limits.min_samples_leaf > 1 or limits.min_weight_leaf > 1.0:
        forbid(few, limits, &at)
    to_beat.score = best.score
    if at.best_key >= 0 and (best.feature < 0 or at.best_key > to_beat.key):
        take_best(few, feature, n_classes, &at, best)
    return 1
