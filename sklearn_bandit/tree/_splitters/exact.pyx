"""The exact search: full histograms of the features drawn, or of random thresholds.

Features that are constant in a node are constant in all of its descendants. They are
kept in front of the list of features, and each node passes on how many there are;
deeper nodes only reorder what is behind them, so a node's number stays valid for its
right child after its left subtree is done (the tree is grown depth first).

`max_features` are drawn among the features that still vary in the node. (scikit-learn
counts constant ones that it happens to draw.) With many one-hot columns most draws
would be wasted deep in the tree.
"""

import numpy as np

from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy, memset

from sklearn_bandit._core.random cimport random_below, random_unit
from sklearn_bandit._core.simd cimport (
    line_16,
    line_64,
    lowest_bit,
    note_difference_16,
    note_difference_64,
    simd_void,
)
from sklearn_bandit.tree._common cimport (
    MAX_GROUP,
    MISSING_BIN,
    SMALL,
    SPARSE,
    UNKNOWN_BIN,
    bins_of,
)
from sklearn_bandit.tree._criteria.base cimport is_allowed

from .rank_search cimport ABSOLUTE_ERROR, RankSearch

cdef enum:
    # In a block of copied rows that are no wider, the features that vary are found by
    # comparing whole rows, many features at once; in nodes of more rows only if not
    # many more are compared than drawn. The columns of other blocks are looked at one
    # by one when they are drawn: a forest on MNIST took 8% longer with 2,048 rows here.
    WIDEST_COMPARISON = 1024
    COMPARED_ROWS = 128
    COMPARED_PER_DRAWN = 16
    COMPARED_PER_ROW = 64


cdef class Splitter:
    """Best split of a node over all of its rows.

    Parameters
    ----------
    criterion : Criterion
        What is to be predicted.
    n_bins : ndarray of shape (n_features,), int32
        Bins of each feature.
    max_features : int
        Varying features to look at in each node.
    n_thresholds : int
        Number of random thresholds tried per feature, or 0 for all thresholds.
    constraints : ndarray of shape (n_features,), int8
        Monotonic constraints: 1 increasing, -1 decreasing, 0 none.
    max_insertions : int
        Insertions into histograms that may be made.
    seed : int
        Of the random numbers.
    count_rows : bool
        Whether `min_samples_leaf` needs the number of rows in each cell.
    n_sets : int
        Sets of histograms of all features to make room for. With these, the histograms
        of the larger child of a node are its parent's less those of the smaller one.
    """

    def __init__(
        self, Criterion criterion, n_bins, max_features, n_thresholds, constraints,
        max_insertions, seed, count_rows, n_sets=0,
    ):
        self.criterion = criterion
        self.n_bins = n_bins
        self.n_features = n_bins.shape[0]
        self.max_features = max_features
        self.n_thresholds = n_thresholds
        self.constraints = constraints
        self.max_insertions = max_insertions
        self.random = seed
        self.features = np.arange(self.n_features, dtype=np.int32)
        self.differences = np.empty(self.n_features + 64, dtype=np.uint8)
        self.smallest = np.empty(self.n_features + 64, dtype=np.uint8)
        self.largest = np.empty(self.n_features + 64, dtype=np.uint8)
        self.lefts = np.empty((MAX_GROUP, criterion.n_channels))
        self.n_sets = n_sets
        self.free_sets = np.arange(n_sets, dtype=np.intp)
        self.n_free = n_sets
        self.set = -1
        self.min_rows = PY_SSIZE_T_MAX
        self.first_set = self.slots_needed()
        criterion.reserve(self.first_set + n_sets * self.n_features, count_rows)

    def use_ranks(self, RankSearch rank_search):
        """Search between any two values where blocks have their ranks."""
        self.rank_search = rank_search

    def slots_needed(self):
        """Histograms that are held at the same time, beside sets."""
        return MAX_GROUP

    cdef Outcome search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split of a node, among features that vary in it."""
        return self.search_exactly(block, ids, n, totals, limits, n_constant, best)

    cdef Outcome search_exactly(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split on all rows."""
        if self.n_thresholds == 1 and not limits.monotonic:
            return self.search_random(block, ids, n, totals, limits, n_constant, best)
        if block.ranks != NULL:
            return self.search_ranks(block, ids, n, totals, limits, n_constant, best)
        return self.search_histograms(block, ids, n, totals, limits, n_constant, best)

    cdef Outcome search_histograms(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split by histograms."""
        cdef int kind = self.choose_kind(n, totals) if self.set < 0 else 0
        cdef Py_ssize_t j, n_group, n_varying = 0, place, slot
        cdef int32_t group[MAX_GROUP]
        cdef bint varies

        best.feature = -1
        best.score = -INFINITY
        if self.compares(block, n, self.n_features - n_constant[0]):
            self.find_constants(block, ids, n, n_constant)
        place = n_constant[0]
        if self.is_tiny(n, limits):
            return self.search_tiny(block, ids, n, totals, limits, n_constant, best)
        while n_varying < self.max_features and place < self.n_features:
            n_group = self.draw_group(
                block, ids, n, self.max_features - n_varying, &place, n_constant, group
            )
            if self.set < 0:
                if not self.can_pay(n * n_group):
                    return OUT_OF_BUDGET
                self.criterion.fill(block, ids, n, group, n_group, 0, kind)
            for j in range(n_group):
                slot = j if self.set < 0 else self.set_slot(self.set) + group[j]
                varies = self.scan(
                    block, slot, group[j], kind, totals, limits, self.set < 0, best
                )
                if varies or block.transposed != NULL:
                    n_varying += 1
                else:
                    self.set_aside(place - n_group + j, n_constant)
        return NOTHING if best.feature < 0 else FOUND

    cdef Outcome search_ranks(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split between any two values of a feature."""
        cdef bint sorts_itself = self.rank_search.impurity == ABSOLUTE_ERROR, varies
        cdef bint is_loaded = False
        cdef Py_ssize_t n_varying = 0, place
        cdef int32_t feature

        best.feature = -1
        best.rank = -1
        best.score = -INFINITY
        if self.compares(block, n, self.n_features - n_constant[0]):
            self.find_constants(block, ids, n, n_constant)
        place = n_constant[0]
        while n_varying < self.max_features and place < self.n_features:
            self.draw(place, 1)
            feature = self.features[place]
            if not self.can_pay(n):
                return OUT_OF_BUDGET
            if sorts_itself:
                if not is_loaded:
                    self.criterion.fill(block, ids, n, &feature, 1, 0, 0)
                is_loaded = True
                varies = self.criterion.scan(
                    0, feature, 0, self.n_bins[feature], totals, limits,
                    self.constraints[feature], NULL, True, best,
                )
            else:
                varies = self.rank_search.search(
                    block, ids, n, feature, totals, limits, self.constraints[feature],
                    best,
                )
            if varies:
                n_varying += 1
            else:
                self.set_aside(place, n_constant)
            place += 1
        return NOTHING if best.feature < 0 else FOUND

    cdef Py_ssize_t draw_group(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_most,
        Py_ssize_t* place, Py_ssize_t* n_constant, int32_t* group,
    ) noexcept nogil:
        """Draw up to `n_most` features, at most MAX_GROUP, from `place` on.

        Where a column can be read for itself, constant ones are set aside at once: that
        takes a third of the time to fill a histogram, and one look at others.
        """
        cdef Py_ssize_t n_group = 0
        cdef int32_t feature

        n_most = min(n_most, <Py_ssize_t> MAX_GROUP)
        while n_group < n_most and place[0] < self.n_features:
            self.draw(place[0], 1)
            feature = self.features[place[0]]
            if block.transposed != NULL and is_constant(
                block.transposed + feature * block.transposed_stride, ids, n
            ):
                self.set_aside(place[0], n_constant)
            else:
                group[n_group] = feature
                n_group += 1
            place[0] += 1
        return n_group

    cdef bint compares(
        self, const Block* block, Py_ssize_t n, Py_ssize_t n_left
    ) noexcept nogil:
        """Whether the features that vary are found by comparing rows.

        Not in very small nodes if that leaves many features to go through.
        """
        return (
            block.columns == NULL
            and n_left <= COMPARED_PER_ROW * n
            and (
                block.stride <= COMPARED_PER_DRAWN * self.max_features
                or (block.stride <= WIDEST_COMPARISON and n <= COMPARED_ROWS)
            )
        )

    cdef Py_ssize_t set_slot(self, Py_ssize_t set) noexcept nogil:
        """Where the histogram of the first feature of a set is."""
        return self.first_set + set * self.n_features

    cdef Py_ssize_t take_set(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n
    ) noexcept nogil:
        """Fill histograms of all features; -1 if there is no room or no budget."""
        cdef int32_t group[MAX_GROUP]
        cdef Py_ssize_t set, first = 0, n_group, j

        if self.n_free == 0 or not self.can_pay(n * self.n_features):
            return -1
        self.n_free -= 1
        set = self.free_sets[self.n_free]
        while first < self.n_features:
            n_group = min(<Py_ssize_t> MAX_GROUP, self.n_features - first)
            for j in range(n_group):
                group[j] = <int32_t> (first + j)
            self.criterion.fill(
                block, ids, n, group, n_group, self.set_slot(set) + first, 0
            )
            first += n_group
        return set

    cdef void release_set(self, Py_ssize_t set) noexcept nogil:
        """Empty a set for others to use."""
        cdef Py_ssize_t feature

        if set < 0:
            return
        for feature in range(self.n_features):
            self.criterion.clear(self.set_slot(set) + feature, 0)
        self.free_sets[self.n_free] = set
        self.n_free += 1

    cdef void subtract_set(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        """Take the histograms of one child from those of its parent."""
        cdef Py_ssize_t feature

        for feature in range(self.n_features):
            self.criterion.subtract(
                self.set_slot(part) + feature, self.set_slot(whole) + feature
            )

    cdef bint is_tiny(self, Py_ssize_t n, const Limits* limits) noexcept nogil:
        """Whether a node has so few rows that no histogram is needed."""
        return (
            n <= self.criterion.tiny_rows
            and self.n_thresholds == 0
            and not limits.monotonic
        )

    cdef Outcome search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split of a few rows without histograms.

        Many are divided perfectly by the first feature: then no other is looked at.
        """
        cdef double perfect = self.criterion.perfect_score(totals)
        cdef Py_ssize_t place = n_constant[0], n_varying = 0, n_left, n_group, j
        cdef int kind
        cdef int32_t group[MAX_GROUP]
        cdef uint8_t varies[MAX_GROUP]

        self.criterion.load_tiny(block, ids, n, totals)
        while n_varying < self.max_features and place < self.n_features:
            n_group = min(self.max_features - n_varying, self.n_features - place)
            n_group = min(n_group, self.criterion.tiny_group)
            if not self.can_pay(n * n_group):
                return OUT_OF_BUDGET
            self.draw(place, n_group)
            for j in range(MAX_GROUP):
                group[j] = self.features[place + min(j, n_group - 1)]
            if self.criterion.search_tiny(
                block, ids, n, group, n_group, totals, limits, varies, best
            ) < 0:
                kind = self.choose_kind(n, totals)
                self.criterion.fill(block, ids, n, group, n_group, 0, kind)
                for j in range(n_group):
                    varies[j] = self.scan(
                        block, j, group[j], kind, totals, limits, True, best
                    )
            for j in range(n_group):
                if varies[j]:
                    n_varying += 1
                else:
                    self.set_aside(place + j, n_constant)
            place += n_group
            if best.score >= perfect:
                # Draw the others all the same: what comes next in the tree shall not
                # depend on how this node was searched.
                n_left = min(self.max_features - n_varying, self.n_features - place)
                self.draw(place, n_left)
                break
        return NOTHING if best.feature < 0 else FOUND

    cdef Outcome search_random(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best of one random threshold a feature.

        Most targets need no histogram for that. Features with missing values in the
        node still have one, as these go either way.
        """
        cdef bint ranges_known = (
            block.columns == NULL and block.stride <= WIDEST_COMPARISON
        )
        cdef int kind = self.choose_kind(n, totals)
        cdef Py_ssize_t place, n_varying = 0, n_group = 0
        cdef int32_t feature
        cdef int32_t group[MAX_GROUP]
        cdef Cut cuts[MAX_GROUP]

        best.feature = -1
        best.score = -INFINITY
        if ranges_known:
            find_ranges(
                block.rows, block.stride, ids, n, &self.smallest[0], &self.largest[0]
            )
            for place in range(n_constant[0], self.n_features):
                feature = self.features[place]
                if self.smallest[feature] == self.largest[feature]:
                    self.set_aside(place, n_constant)
        place = n_constant[0]
        while n_varying < self.max_features and place < self.n_features:
            if not self.can_pay(n):
                return OUT_OF_BUDGET
            self.draw(place, 1)
            feature = self.features[place]
            if not ranges_known:
                self.find_range(block, ids, n, feature)
            if self.smallest[feature] == self.largest[feature]:
                self.set_aside(place, n_constant)
                place += 1
                continue
            n_varying += 1
            place += 1
            if self.largest[feature] == MISSING_BIN:
                self.criterion.fill(block, ids, n, &feature, 1, 0, kind)
                self.scan(block, 0, feature, kind, totals, limits, True, best)
                continue
            group[n_group] = feature
            cuts[n_group].last = self.draw_cut(
                block, feature, self.smallest[feature], self.largest[feature]
            )
            n_group += 1
            if n_group == MAX_GROUP:
                self.try_cuts(block, ids, n, group, n_group, totals, cuts, limits, best)
                n_group = 0
        if n_group > 0:
            self.try_cuts(block, ids, n, group, n_group, totals, cuts, limits, best)
        return NOTHING if best.feature < 0 else FOUND

    cdef void try_cuts(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_group, const double* totals, Cut* cuts,
        const Limits* limits, Split* best,
    ) noexcept nogil:
        """Try one cut each of some features."""
        if self.criterion.divides:
            self.divide_group(
                block, ids, n, features, n_group, totals, cuts, limits, best
            )
        else:
            self.scan_group(
                block, ids, n, features, n_group, totals, cuts, limits, best
            )

    cdef void scan_group(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_group, const double* totals,
        const Cut* cuts, const Limits* limits, Split* best,
    ) noexcept nogil:
        """Try one cut each of some features by their histograms."""
        cdef int kind = self.choose_kind(n, totals)
        cdef uint64_t bins[4]
        cdef Py_ssize_t j

        self.criterion.fill(block, ids, n, features, n_group, 0, kind)
        for j in range(n_group):
            self.criterion.find_occupied(j, kind, self.n_bins[features[j]], bins)
            keep_highest(bins, cuts[j].last)
            self.criterion.scan(
                j, features[j], kind, self.n_bins[features[j]], totals, limits,
                self.constraints[features[j]], bins, True, best,
            )

    cdef void divide_group(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_group, const double* totals, Cut* cuts,
        const Limits* limits, Split* best,
    ) noexcept nogil:
        """Try one cut each of some features; the bins next to it are not known."""
        cdef double left_weight, weight = self.criterion.weight(totals)
        cdef double* left
        cdef Cut* cut
        cdef Py_ssize_t j

        self.criterion.divide(
            block, ids, n, features, n_group, totals, cuts, &self.lefts[0, 0]
        )
        for j in range(n_group):
            cut = &cuts[j]
            left = &self.lefts[j, 0]
            left_weight = self.criterion.weight(left)
            if (
                cut.score - self.criterion.tie * fabs(cut.score) > best.score
                and is_allowed(
                    limits, 0, left_weight, weight - left_weight, cut.n_left, 0.0, 0.0
                )
            ):
                best.feature = features[j]
                best.score = cut.score
                best.bin = cut.last
                best.next_bin = UNKNOWN_BIN
                best.has_missing = False
                best.missing_left = False
                memcpy(best.left, left, self.criterion.n_channels * sizeof(double))

    cdef void find_range(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature
    ) noexcept nogil:
        """Smallest and largest bin of one feature in a node."""
        cdef Py_ssize_t i, stride = 0
        cdef const uint8_t* bins = bins_of(block, feature, &stride)
        cdef uint8_t bin, smallest = MISSING_BIN, largest = 0

        for i in range(n):
            bin = bins[<Py_ssize_t> ids[i] * stride]
            smallest = min(smallest, bin)
            largest = max(largest, bin)
        self.smallest[feature] = smallest
        self.largest[feature] = largest

    cdef uint8_t draw_cut(
        self, const Block* block, int32_t feature, uint8_t smallest, uint8_t largest
    ) noexcept nogil:
        """Draw a threshold between two bins; returns the last bin on its left.

        It is uniform between the smallest and the largest value. One that falls inside
        a bin moves to the nearer of its edges.
        """
        cdef const double* low = block.low + feature * block.n_values
        cdef const double* high = block.high + feature * block.n_values
        cdef double threshold = low[smallest] + random_unit(&self.random) * (
            high[largest] - low[smallest]
        )
        cdef int last = smallest, n_more = largest - 1 - smallest, half
        cdef double middle

        # The last bin whose middle is not above the threshold, by halving without a
        # branch, which nobody could foresee.
        while n_more > 0:
            half = (n_more + 1) >> 1
            middle = low[last + half] + high[last + half]
            last += half if middle <= 2.0 * threshold else 0
            n_more -= half
        return <uint8_t> last

    cdef int choose_kind(self, Py_ssize_t n, const double* totals) noexcept nogil:
        """Kind of the histograms of a node."""
        cdef int kind = SPARSE if n <= self.criterion.sparse_rows else 0

        return kind | SMALL if self.criterion.is_small(totals) else kind

    cdef bint scan(
        self, const Block* block, Py_ssize_t slot, int32_t feature, int kind,
        const double* totals, const Limits* limits, bint clear, Split* best,
    ) noexcept nogil:
        """Scan one histogram, at all thresholds or at random ones."""
        cdef uint64_t allowed[4]
        cdef uint64_t* pointer = NULL

        if self.n_thresholds:
            self.criterion.find_occupied(slot, kind, self.n_bins[feature], allowed)
            self.draw_thresholds(block, feature, allowed)
            pointer = allowed
        return self.criterion.scan(
            slot, feature, kind, self.n_bins[feature], totals, limits,
            self.constraints[feature], pointer, clear, best,
        )

    cdef void draw_thresholds(
        self, const Block* block, int32_t feature, uint64_t* bins
    ) noexcept nogil:
        """Replace the occupied bins by those after which random thresholds fall.

        Thresholds are uniform between the smallest and the largest value in the node.
        One that falls inside a bin moves to the nearer of its edges.
        """
        cdef const double* low = block.low + feature * block.n_values
        cdef const double* high = block.high + feature * block.n_values
        cdef uint64_t chosen[4]
        cdef int32_t occupied[256]
        cdef int n_occupied = 0, word, i, first, last, middle
        cdef uint64_t bits
        cdef double threshold
        cdef Py_ssize_t _k

        memset(chosen, 0, sizeof(chosen))
        for word in range(4):
            bits = bins[word]
            while bits:
                i = 64 * word + lowest_bit(bits)
                bits &= bits - 1
                if i != MISSING_BIN:
                    occupied[n_occupied] = i
                    n_occupied += 1
        if n_occupied:
            for _k in range(self.n_thresholds):
                threshold = low[occupied[0]] + random_unit(&self.random) * (
                    high[occupied[n_occupied - 1]] - low[occupied[0]]
                )
                first = 0
                last = max(n_occupied - 2, 0)
                while first < last:
                    middle = (first + last + 1) // 2
                    i = occupied[middle]
                    if 0.5 * (low[i] + high[i]) <= threshold:
                        first = middle
                    else:
                        last = middle - 1
                i = occupied[first]
                chosen[i >> 6] |= (<uint64_t> 1) << (i & 63)
            # "All others on the left, missing ones on the right" is always tried.
            if (bins[3] >> 63) & 1:
                i = occupied[n_occupied - 1]
                chosen[i >> 6] |= (<uint64_t> 1) << (i & 63)
        memcpy(bins, chosen, sizeof(chosen))

    cdef void draw(self, Py_ssize_t first, Py_ssize_t n_drawn) noexcept nogil:
        """Move `n_drawn` random features from behind `first` to the places from it
        on."""
        cdef Py_ssize_t place, other
        cdef int32_t swap

        for place in range(first, first + n_drawn):
            other = place + random_below(
                &self.random, <uint32_t> (self.n_features - place)
            )
            swap = self.features[place]
            self.features[place] = self.features[other]
            self.features[other] = swap

    cdef void set_aside(self, Py_ssize_t place, Py_ssize_t* n_constant) noexcept nogil:
        """Put the feature at `place`, which is constant, with the other constant
        ones."""
        cdef int32_t swap = self.features[place]

        self.features[place] = self.features[n_constant[0]]
        self.features[n_constant[0]] = swap
        n_constant[0] += 1

    cdef void find_constants(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t* n_constant,
    ) noexcept nogil:
        """Set all features aside that are constant in a block of copied rows."""
        cdef Py_ssize_t place, n_found = n_constant[0]
        cdef int32_t* features = &self.features[0]
        cdef uint8_t* differs = &self.differences[0]
        cdef int32_t feature

        compare_rows(block.rows, block.stride, ids, n, differs)
        if block.ranks != NULL:
            # Values may differ where bins do not.
            for feature in range(<int32_t> self.n_features):
                differs[feature] |= block.rank_columns[feature] >= 0
        # Without a branch that cannot be foreseen: features that vary may move, too.
        for place in range(n_found, self.n_features):
            feature = features[place]
            features[place] = features[n_found]
            features[n_found] = feature
            n_found += differs[feature] == 0
        n_constant[0] = n_found

    cdef bint can_pay(self, int64_t n_insertions) noexcept nogil:
        """Spend insertions if the budget allows it."""
        if n_insertions > self.max_insertions - self.n_insertions:
            return False
        self.n_insertions += n_insertions
        return True


cdef void keep_highest(uint64_t* bins, int last) noexcept nogil:
    """Keep only the highest bin of a bitmap that is not above `last`."""
    cdef int word = last >> 6
    cdef uint64_t bits = bins[word] & (~<uint64_t> 0 >> (63 - (last & 63)))

    while bits == 0 and word > 0:
        word -= 1
        bits = bins[word]
    while bits & (bits - 1):
        bits &= bits - 1
    memset(bins, 0, 4 * sizeof(uint64_t))
    bins[word] = bits


cdef simd_void find_ranges(
    const uint8_t* rows, Py_ssize_t stride, const uint32_t* ids, Py_ssize_t n,
    uint8_t* smallest, uint8_t* largest,
) noexcept nogil:
    """Smallest and largest bin of every feature, in a block of copied rows."""
    cdef const uint8_t* row = rows + ids[0] * stride
    cdef const uint8_t* row_1
    cdef const uint8_t* row_2
    cdef const uint8_t* row_3
    cdef Py_ssize_t i = 1, j

    for j in range(stride):
        smallest[j] = row[j]
        largest[j] = row[j]
    # Four rows at a time: what is noted goes to memory and back only once for these.
    while i < n:
        row = rows + ids[i] * stride
        row_1 = rows + ids[min(i + 1, n - 1)] * stride
        row_2 = rows + ids[min(i + 2, n - 1)] * stride
        row_3 = rows + ids[min(i + 3, n - 1)] * stride
        for j in range(stride):
            smallest[j] = min(
                smallest[j], min(min(row[j], row_1[j]), min(row_2[j], row_3[j]))
            )
            largest[j] = max(
                largest[j], max(max(row[j], row_1[j]), max(row_2[j], row_3[j]))
            )
        i += 4


cdef simd_void compare_rows(
    const uint8_t* rows, Py_ssize_t stride, const uint32_t* ids, Py_ssize_t n,
    uint8_t* out,
) noexcept nogil:
    """Set the bytes of `out` in which not all rows are equal, others to 0.

    A piece of the rows at a time, so that what is noted stays in a register.
    """
    cdef const uint8_t* first = rows + ids[0] * stride
    cdef Py_ssize_t start = 0, i
    cdef line_64 noted
    cdef line_16 rest

    while start + 64 <= stride:
        memset(&noted, 0, 64)
        for i in range(1, n):
            note_difference_64(&noted, rows + ids[i] * stride + start, first + start)
        memcpy(out + start, &noted, 64)
        start += 64
    while start < stride:
        memset(&rest, 0, 16)
        for i in range(1, n):
            note_difference_16(&rest, rows + ids[i] * stride + start, first + start)
        memcpy(out + start, &rest, 16)
        start += 16


cdef bint is_constant(
    const uint8_t* column, const uint32_t* ids, Py_ssize_t n
) noexcept nogil:
    """Whether a feature, of which this is the column, has one bin in all of a node."""
    cdef uint8_t first = column[ids[0]], noted = 0
    cdef Py_ssize_t i = 1, k

    # Sixteen at a time: fewer branches.
    while i + 16 <= n:
        for k in range(16):
            noted |= column[ids[i + k]] ^ first
        if noted:
            return False
        i += 16
    while i < n:
        noted |= column[ids[i]] ^ first
        i += 1
    return noted == 0
