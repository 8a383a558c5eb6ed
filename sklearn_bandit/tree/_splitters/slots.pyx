"""Histograms of all features drawn in a node, held at the same time.

A feature that is drawn has a slot. A search can drop slots by any rule, and then fill
and scan the histograms of the others on all rows.
"""

import numpy as np

from libc.string cimport memcpy

from sklearn_bandit.tree._common cimport MAX_GROUP, Block

from .row_comparison cimport is_constant


cdef class SlotSplitter(Splitter):
    """Base class of splitters that compare the features drawn.

    Parameters
    ----------
    settings : SplitSettings
        As for `Splitter`.
    """

    def __init__(self, settings):
        Splitter.__init__(self, settings)
        n_slots = min(self.max_features, self.n_features)
        self.drawn = np.empty(n_slots, dtype=np.int32)
        self.slot_of = np.empty(self.n_features, dtype=np.int32)

    def slots_needed(self):
        """Histograms that are held at the same time: those of all features drawn."""
        return max(min(self.max_features, self.n_features), MAX_GROUP)

    cdef void draw_varying(self, Py_ssize_t* n_constant) noexcept nogil:
        """Draw `max_features` features that vary in the node.

        They are listed in ascending order: neighbours share cache lines.
        """
        cdef const Block* block = self.node.block
        cdef Py_ssize_t place = n_constant[0], n_drawn = 0
        cdef int32_t feature

        for feature in range(<int32_t> self.n_features):
            self.slot_of[feature] = -1
        while n_drawn < self.max_features and place < self.n_features:
            self.draw(place, 1)
            feature = self.features[place]
            if is_constant(
                block.columns + feature * block.n_rows, self.node.ids, self.node.n
            ):
                self.set_aside(place, n_constant)
            else:
                self.slot_of[feature] = 0
                n_drawn += 1
            place += 1
        self.first_place = n_constant[0]
        self.n_drawn = 0
        for feature in range(<int32_t> self.n_features):
            if self.slot_of[feature] >= 0:
                self.slot_of[feature] = <int32_t> self.n_drawn
                self.drawn[self.n_drawn] = feature
                self.n_drawn += 1

    cdef void search_slots(
        self, const Py_ssize_t* slots, Py_ssize_t n_slots, Split* best
    ) noexcept nogil:
        """Find the best split of some slots on all rows of the node.

        In the order in which features were drawn: the first of equal ones is taken.
        """
        cdef bint by_rank = self.node.block.ranks != NULL and self.n_thresholds == 0
        cdef Py_ssize_t i
        cdef int32_t feature

        if not by_rank:
            self.fill_slots(slots, n_slots)
        for i in range(self.n_drawn):
            feature = self.features[self.first_place + i]
            if not has(slots, n_slots, self.slot_of[feature]):
                continue
            if by_rank:
                self.rank_search.search(
                    self.node.block, self.node.ids, self.node.n, feature,
                    self.node.totals, self.node.limits, self.constraints[feature], best,
                )
            else:
                self.scan_slot(self.slot_of[feature], best)

    cdef void fill_slots(
        self, const Py_ssize_t* slots, Py_ssize_t n_slots
    ) noexcept nogil:
        """Put all rows of the node into histograms, neighbours together."""
        cdef Py_ssize_t i = 0, n_group
        cdef int32_t group[MAX_GROUP]

        while i < n_slots:
            n_group = 0
            while (
                n_group < MAX_GROUP
                and i + n_group < n_slots
                and slots[i + n_group] == slots[i] + n_group
            ):
                group[n_group] = self.drawn[slots[i + n_group]]
                n_group += 1
            self.histograms.fill(
                self.node.block, self.node.ids, self.node.n, group, n_group, slots[i],
                self.kind,
            )
            i += n_group

    cdef void scan_slot(self, Py_ssize_t slot, Split* best) noexcept nogil:
        """Find the best threshold of a slot on all rows of the node."""
        self.scan(
            self.node.block, slot, self.drawn[slot], self.kind, self.node.totals,
            self.node.limits, False, best,
        )

    cdef void accept(self, const Split* split, Split* best) noexcept nogil:
        """Return a split of all rows, with the totals of its left child."""
        cdef double* left = best.left

        best[0] = split[0]
        best.left = left
        memcpy(left, split.left, self.criterion.n_channels * sizeof(double))


cdef bint has(
    const Py_ssize_t* slots, Py_ssize_t n_slots, Py_ssize_t slot
) noexcept nogil:
    """Whether a slot is among others, which are in ascending order."""
    cdef Py_ssize_t low = 0, high = n_slots, middle

    while low < high:
        middle = (low + high) // 2
        if slots[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low < n_slots and slots[low] == slot
