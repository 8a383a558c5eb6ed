"""The scan of a small histogram of one output by Gini.

The common case of a scan, in the order that keeps a processor busy: no branch depends
on what was just computed. First, one step a bin, the numbers that a score needs; then
the scores of all thresholds, several at once; last the best of them.

With the class weights L on the left and T of the node these numbers are ``sum(L^2)``,
``sum(T L)`` and ``sum(L)``: integers, exact in any order. The right side's
``sum((T - L)^2)`` follows.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from sklearn_bandit._core.simd cimport (
    add_eight,
    add_four,
    eight_t,
    four_t,
    inline_void,
    load_eight,
    multiply,
    simd_void,
    store_eight,
    store_four,
    sum_three,
)
from sklearn_bandit.tree._common cimport N_SLOTS, set_split

from .scores cimport SCORE_LANES

cdef enum:
    MAX_CELLS = 16


cdef struct Sums:
    # Of what is on the left of a threshold.
    int32_t squares             # squared class weights
    int32_t products            # class weights times those of the node
    int32_t weight
    int32_t unused


cdef struct Search:
    uint16_t* cells
    const uint8_t* bins
    Py_ssize_t n_bins
    uint16_t totals[MAX_CELLS]  # class weights of the node, their sum and squares' sum
    int32_t weight
    int32_t squares
    double best_score           # in: to be beaten; out: the best
    Py_ssize_t chosen           # out: place of the bin before the threshold; -1: none
    Py_ssize_t next             # out: place of the occupied bin behind it
    uint16_t left[MAX_CELLS]    # out: class weights on its left
    bint varies                 # out: whether two bins are occupied


cdef inline_void add_bins(
    const int width, const uint16_t* cells, const uint8_t* bins, Py_ssize_t n_bins,
    const uint16_t* totals, Sums* sums,
) noexcept nogil:
    """The sums left of the threshold after each bin."""
    cdef uint16_t ones[8]
    cdef eight_t unit, node, node_more, left, left_more
    cdef four_t squares, products, weight
    cdef int32_t small[4]
    cdef Py_ssize_t i
    cdef int k

    if width < 8:
        memset(small, 0, sizeof(small))
        for i in range(n_bins):
            memset(&sums[i], 0, sizeof(Sums))
            for k in range(width):
                small[k] += cells[bins[i] * width + k]
                sums[i].squares += small[k] * small[k]
                sums[i].products += small[k] * totals[k]
                sums[i].weight += small[k]
        return
    for k in range(8):
        ones[k] = 1
    unit = load_eight(ones)
    node = load_eight(totals)
    node_more = load_eight(totals + 8)
    memset(&left, 0, sizeof(left))
    memset(&left_more, 0, sizeof(left_more))
    for i in range(n_bins):
        left = add_eight(left, load_eight(cells + bins[i] * width))
        squares = multiply(left, left)
        products = multiply(left, node)
        weight = multiply(left, unit)
        if width == 16:
            left_more = add_eight(left_more, load_eight(cells + bins[i] * 16 + 8))
            squares = add_four(squares, multiply(left_more, left_more))
            products = add_four(products, multiply(left_more, node_more))
            weight = multiply(add_eight(left, left_more), unit)
        store_four(&sums[i], sum_three(squares, products, weight))


cdef inline_void score_sums(
    const Sums* sums, Py_ssize_t n, int32_t node_squares, int32_t node_weight,
    double* scores,
) noexcept nogil:
    """Scores of the thresholds; not a number where one side is empty.

    Both sides with one division: numerator and denominator are exact.
    """
    cdef Py_ssize_t i
    cdef int32_t right
    cdef double weight, right_weight

    for i in range(n):
        right = (node_squares - sums[i].products) - (sums[i].products - sums[i].squares)
        weight = sums[i].weight
        right_weight = node_weight - sums[i].weight
        scores[i] = (sums[i].squares * right_weight + right * weight) / (
            weight * right_weight
        )


cdef inline_void find_best(
    const double* scores, Py_ssize_t n, double* best, Py_ssize_t* chosen
) noexcept nogil:
    """The first of the best scores, if it is better than `best`.

    The largest one is found eight by eight: one by one, each would have to wait for the
    one before.
    """
    cdef double lanes[SCORE_LANES]
    cdef double largest = best[0]
    cdef Py_ssize_t i = 0
    cdef int k

    chosen[0] = -1
    for k in range(SCORE_LANES):
        lanes[k] = largest
    while i < n:
        for k in range(SCORE_LANES):
            lanes[k] = scores[i + k] if scores[i + k] > lanes[k] else lanes[k]
        i += SCORE_LANES
    for k in range(SCORE_LANES):
        largest = max(largest, lanes[k])
    if not largest > best[0]:
        return
    best[0] = largest
    i = 0
    while scores[i] != largest:
        i += 1
    chosen[0] = i


cdef inline_void sum_bins(
    const int width, const uint16_t* cells, const uint8_t* bins, Py_ssize_t n_bins,
    uint16_t* out,
) noexcept nogil:
    """Class weights in some bins."""
    cdef Py_ssize_t i
    cdef int k
    cdef eight_t sum, sum_more

    if width >= 8:
        memset(&sum, 0, sizeof(sum))
        memset(&sum_more, 0, sizeof(sum_more))
        for i in range(n_bins):
            sum = add_eight(sum, load_eight(cells + bins[i] * width))
            if width > 8:
                sum_more = add_eight(
                    sum_more, load_eight(cells + bins[i] * width + 8)
                )
        store_eight(out, sum)
        store_eight(out + 8, sum_more)
        return
    for k in range(width):
        out[k] = 0
    for i in range(n_bins):
        for k in range(width):
            out[k] += cells[bins[i] * width + k]


cdef inline_void scan_width(const int width, Search* search) noexcept nogil:
    """Scan with the number of cells known to the compiler."""
    cdef Sums sums[N_SLOTS]
    cdef double scores[N_SLOTS + SCORE_LANES]
    cdef Py_ssize_t i, chosen = -1, n = search.n_bins
    cdef double best_score = search.best_score

    add_bins(width, search.cells, search.bins, n, search.totals, sums)
    score_sums(sums, n, search.squares, search.weight, scores)
    # Never better than anything: a feature that does not vary has no score at all.
    for i in range(n, n + SCORE_LANES):
        scores[i] = -INFINITY
    find_best(scores, n, &best_score, &chosen)
    search.best_score = best_score
    search.chosen = chosen
    if chosen >= 0:
        sum_bins(width, search.cells, search.bins, chosen + 1, search.left)
        search.next = chosen + 1
        while sums[search.next].weight == sums[chosen].weight:
            search.next += 1
    i = 0
    while i < n and sums[i].weight == 0:
        i += 1
    search.varies = i < n and sums[i].weight < search.weight
    for i in range(n):
        memset(
            search.cells + search.bins[i] * width, 0, width * sizeof(uint16_t)
        )


cdef simd_void scan_2(Search* search) noexcept nogil:
    scan_width(2, search)


cdef simd_void scan_4(Search* search) noexcept nogil:
    scan_width(4, search)


cdef simd_void scan_8(Search* search) noexcept nogil:
    scan_width(8, search)


cdef simd_void scan_16(Search* search) noexcept nogil:
    scan_width(16, search)


cdef bint scan_gini(
    uint16_t* cells, Py_ssize_t n_cells, const uint8_t* bins, Py_ssize_t n_bins,
    const double* totals, Py_ssize_t n_classes, int32_t feature, Split* best,
) noexcept nogil:
    """Find the best threshold of a feature without missing values; empty the cells.

    All splits are allowed. Empty bins may be listed. Returns whether the feature
    varies.
    """
    cdef Search search
    cdef Py_ssize_t k

    search.cells = cells
    search.bins = bins
    search.n_bins = n_bins
    search.best_score = best.score
    search.weight = 0
    search.squares = 0
    memset(search.totals, 0, sizeof(search.totals))
    for k in range(n_classes):
        search.totals[k] = <uint16_t> totals[k]
        search.weight += search.totals[k]
        search.squares += search.totals[k] * search.totals[k]
    if n_cells == 2:
        scan_2(&search)
    elif n_cells == 4:
        scan_4(&search)
    elif n_cells == 8:
        scan_8(&search)
    else:
        scan_16(&search)
    if search.chosen >= 0:
        set_split(
            best, feature, bins[search.chosen], bins[search.next], False, False,
            search.best_score,
        )
        for k in range(n_classes):
            best.left[k] = search.left[k]
    return search.varies
