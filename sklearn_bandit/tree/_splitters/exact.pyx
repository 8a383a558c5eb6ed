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
from libc.math cimport INFINITY

from sklearn_bandit._core.random cimport random_below
from sklearn_bandit.tree._bin_sets cimport N_WORDS
from sklearn_bandit.tree._common cimport MAX_GROUP, MISSING_BIN, ScanRequest

from .random_thresholds cimport draw_cut, draw_thresholds
from .rank_search cimport ABSOLUTE_ERROR, RankSearch
from .row_comparison cimport find_all_ranges, find_range, find_varying, is_constant

cdef enum:
    # In a block of copied rows that are no wider, the features that vary are found by
    # comparing whole rows, many features at once; in nodes of more rows only if not
    # many more are compared than drawn. The columns of other blocks are compared one
    # by one when they are drawn: with 2,048 rows a forest on MNIST takes 8% longer.
    WIDEST_COMPARISON = 1024
    COMPARED_ROWS = 128
    COMPARED_PER_DRAWN = 16
    COMPARED_PER_ROW = 64


cdef class Splitter:
    """Best split of a node over all of its rows.

    Parameters
    ----------
    settings : SplitSettings
        What is searched for, and among what.
    """

    def __init__(self, settings):
        self.criterion = settings.criterion
        self.n_bins = settings.n_bins
        self.n_features = len(settings.n_bins)
        self.max_features = settings.max_features
        self.n_thresholds = settings.n_thresholds
        self.constraints = settings.constraints
        self.max_insertions = settings.max_insertions
        self.random = settings.seed
        self.features = np.arange(self.n_features, dtype=np.int32)
        self.differences = np.empty(self.n_features + 64, dtype=np.uint8)
        self.smallest = np.empty(self.n_features + 64, dtype=np.uint8)
        self.largest = np.empty(self.n_features + 64, dtype=np.uint8)
        self.n_sets = settings.n_sets
        self.free_sets = np.arange(self.n_sets, dtype=np.intp)
        self.n_free = self.n_sets
        self.set = -1
        self.min_rows = PY_SSIZE_T_MAX
        self.first_set = self.slots_needed()
        self.histograms = self.criterion.make_histograms(
            self.first_set + self.n_sets * self.n_features,
            settings.n_bins,
            settings.count_rows,
        )

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
        return self.search_features(block, ids, n, totals, limits, n_constant, best)

    cdef Outcome search_features(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split at all thresholds, or at several random ones."""
        cdef bint by_rank = block.ranks != NULL, is_first = True
        cdef bint all_vary = block.transposed != NULL and not by_rank
        cdef Py_ssize_t j, n_most, n_varying = 0, place
        cdef uint8_t varies[MAX_GROUP]
        cdef Group group

        best.feature = -1
        best.rank = -1
        best.score = -INFINITY
        if self.compares(block, n, self.n_features - n_constant[0]):
            self.find_constants(block, ids, n, n_constant)
        place = n_constant[0]
        if not by_rank and self.is_tiny(n, limits):
            return self.search_tiny(block, ids, n, totals, limits, n_constant, best)
        while n_varying < self.max_features and place < self.n_features:
            n_most = 1 if by_rank else self.max_features - n_varying
            self.draw_group(block, ids, n, n_most, &place, n_constant, &group)
            if group.n == 0:
                # All features that were left are constant.
                break
            if self.set < 0 and not self.can_pay(n * group.n):
                return OUT_OF_BUDGET
            if by_rank:
                varies[0] = self.search_ranks(
                    block, ids, n, group.features[0], is_first, totals, limits, best
                )
                is_first = False
            else:
                self.search_histograms(
                    block, ids, n, &group, totals, limits, varies, best
                )
            for j in range(group.n):
                if varies[j] or all_vary:
                    n_varying += 1
                else:
                    self.set_aside(place - group.n + j, n_constant)
        return NOTHING if best.feature < 0 else FOUND

    cdef void search_histograms(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, const Group* group,
        const double* totals, const Limits* limits, uint8_t* varies, Split* best,
    ) noexcept nogil:
        """Search a group of features by histograms: the node's own, or new ones."""
        cdef int kind = self.histograms.choose_kind(n, totals) if self.set < 0 else 0
        cdef Py_ssize_t j, slot

        if self.set < 0:
            self.histograms.fill(block, ids, n, group.features, group.n, 0, kind)
        for j in range(group.n):
            slot = j
            if self.set >= 0:
                slot = self.set_slot(self.set) + group.features[j]
            varies[j] = self.scan(
                block, slot, group.features[j], kind, totals, limits, self.set < 0, best
            )

    cdef bint search_ranks(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        bint is_first, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil:
        """Search between any two values of a feature; whether it varies.

        `is_first` says that no other feature of the node was searched before.
        """
        if self.rank_search.impurity != ABSOLUTE_ERROR:
            return self.rank_search.search(
                block, ids, n, feature, totals, limits, self.constraints[feature], best
            )
        # These sort the rows themselves.
        if is_first:
            self.histograms.fill(block, ids, n, &feature, 1, 0, 0)
        return self.scan_allowed(0, feature, 0, totals, limits, NULL, True, best)

    cdef void draw_group(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_most,
        Py_ssize_t* place, Py_ssize_t* n_constant, Group* group,
    ) noexcept nogil:
        """Draw up to `n_most` features, at most MAX_GROUP, from `place` on.

        Where a column can be read on its own, constant ones are set aside at once: for
        these, reading takes a third of the time to fill a histogram, and for others a
        few rows are enough. (Ranks may differ where bins do not.)
        """
        cdef bint looks = block.transposed != NULL and block.ranks == NULL
        cdef int32_t feature

        n_most = min(n_most, <Py_ssize_t> MAX_GROUP)
        group.n = 0
        while group.n < n_most and place[0] < self.n_features:
            self.draw(place[0], 1)
            feature = self.features[place[0]]
            if looks and is_constant(
                block.transposed + feature * block.transposed_stride, ids, n
            ):
                self.set_aside(place[0], n_constant)
            else:
                group.features[group.n] = feature
                group.n += 1
            place[0] += 1

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
            self.histograms.fill(
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
            self.histograms.clear(self.set_slot(set) + feature, 0)
        self.free_sets[self.n_free] = set
        self.n_free += 1

    cdef object save_set(self, Py_ssize_t set):
        """Copy a set, for the splitter of a subtree."""
        return self.histograms.save(self.set_slot(set), self.n_features)

    cdef Py_ssize_t restore_set(self, saved) except -2:
        """Take a set that another splitter has saved; -1 if there is no room."""
        if self.n_free == 0:
            return -1
        self.n_free -= 1
        self.histograms.restore(
            self.set_slot(self.free_sets[self.n_free]), saved
        )
        return self.free_sets[self.n_free]

    cdef void subtract_set(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        """Take the histograms of one child from those of its parent."""
        cdef Py_ssize_t feature

        for feature in range(self.n_features):
            self.histograms.subtract(
                self.set_slot(part) + feature, self.set_slot(whole) + feature
            )

    cdef bint is_tiny(self, Py_ssize_t n, const Limits* limits) noexcept nogil:
        """Whether a node is small enough to be searched without histograms."""
        return (
            n <= self.histograms.tiny_rows
            and self.n_thresholds == 0
            and not limits.monotonic
        )

    cdef Outcome search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Find the best split of a few rows without histograms.

        Many are divided perfectly by the first feature: then no other is searched.
        """
        cdef double perfect = self.criterion.perfect_score(totals)
        cdef Py_ssize_t place = n_constant[0], n_varying = 0, n_left, n_group, j
        cdef int kind
        cdef int32_t group[MAX_GROUP]
        cdef uint8_t varies[MAX_GROUP]

        self.histograms.load_tiny(block, ids, n, totals, limits)
        while n_varying < self.max_features and place < self.n_features:
            n_group = min(self.max_features - n_varying, self.n_features - place)
            n_group = min(n_group, self.histograms.tiny_group)
            if not self.can_pay(n * n_group):
                return OUT_OF_BUDGET
            self.draw(place, n_group)
            for j in range(MAX_GROUP):
                group[j] = self.features[place + min(j, n_group - 1)]
            if self.histograms.search_tiny(group, n_group, varies, best) < 0:
                kind = self.histograms.choose_kind(n, totals)
                self.histograms.fill(block, ids, n, group, n_group, 0, kind)
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

        Most criteria need no histogram for that. Features with missing values in the
        node still have one, as these go either way.
        """
        cdef bint ranges_known = (
            block.columns == NULL and block.stride <= WIDEST_COMPARISON
        )
        cdef int kind = self.histograms.choose_kind(n, totals)
        cdef Py_ssize_t place, n_varying = 0, n_cuts = 0
        cdef uint8_t* smallest = &self.smallest[0]
        cdef uint8_t* largest = &self.largest[0]
        cdef int32_t feature
        cdef Cut cuts[MAX_GROUP]

        best.feature = -1
        best.score = -INFINITY
        if ranges_known:
            find_all_ranges(block, ids, n, smallest, largest)
            for place in range(n_constant[0], self.n_features):
                feature = self.features[place]
                if smallest[feature] == largest[feature]:
                    self.set_aside(place, n_constant)
        place = n_constant[0]
        while n_varying < self.max_features and place < self.n_features:
            if not self.can_pay(n):
                return OUT_OF_BUDGET
            self.draw(place, 1)
            feature = self.features[place]
            if not ranges_known:
                find_range(
                    block, ids, n, feature, smallest + feature, largest + feature
                )
            if smallest[feature] == largest[feature]:
                self.set_aside(place, n_constant)
                place += 1
                continue
            n_varying += 1
            place += 1
            if largest[feature] == MISSING_BIN:
                self.histograms.fill(block, ids, n, &feature, 1, 0, kind)
                self.scan(block, 0, feature, kind, totals, limits, True, best)
                continue
            cuts[n_cuts].feature = feature
            cuts[n_cuts].last = draw_cut(
                block, feature, smallest[feature], largest[feature], &self.random
            )
            n_cuts += 1
            if n_cuts == MAX_GROUP:
                self.histograms.try_cuts(
                    block, ids, n, cuts, n_cuts, totals, limits, best
                )
                n_cuts = 0
        if n_cuts > 0:
            self.histograms.try_cuts(block, ids, n, cuts, n_cuts, totals, limits, best)
        return NOTHING if best.feature < 0 else FOUND

    cdef bint scan(
        self, const Block* block, Py_ssize_t slot, int32_t feature, int kind,
        const double* totals, const Limits* limits, bint clear, Split* best,
    ) noexcept nogil:
        """Scan one histogram, at all thresholds or at random ones."""
        cdef uint64_t allowed[N_WORDS]
        cdef uint64_t* pointer = NULL

        if self.n_thresholds:
            self.histograms.find_occupied(slot, kind, feature, allowed)
            draw_thresholds(block, feature, self.n_thresholds, &self.random, allowed)
            pointer = allowed
        return self.scan_allowed(
            slot, feature, kind, totals, limits, pointer, clear, best
        )

    cdef bint scan_allowed(
        self, Py_ssize_t slot, int32_t feature, int kind, const double* totals,
        const Limits* limits, const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil:
        """Scan one histogram at the thresholds of a bitmap (NULL: at all)."""
        cdef ScanRequest request

        request.feature = feature
        request.constraint = self.constraints[feature]
        request.totals = totals
        request.limits = limits
        request.allowed = allowed
        request.clear = clear
        return self.histograms.scan(slot, kind, &request, best)

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

        find_varying(block, ids, n, differs)
        if block.ranks != NULL:
            # Values may differ where bins do not.
            for feature in range(<int32_t> self.n_features):
                differs[feature] |= block.rank_columns[feature] >= 0
        # Without a branch, which could not be predicted: features that vary may move.
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
