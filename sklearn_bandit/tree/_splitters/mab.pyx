"""MABSplit: the search for a split as a best-arm problem (thesis, chapter 3).

The features are the arms. Rows are sampled in batches; on the sample every feature has
its best threshold, and every row a loss under that split (see ``Criterion.losses``),
whose mean is the impurity of the children. The feature with the smallest mean leads,
and each other one is compared with it *on the same rows*: the difference of two losses
varies far less than either, so a feature is often out after the first batch where
separate intervals, as in the thesis, would overlap to the end.

The search stops when no survivor could be better by more than the tolerance, a share of
what the leader gains for certain: it must have been shown to beat *no split*, too. If
the survivors would need more than a fraction of the rows to tell apart, full histograms
of these few decide. Whatever the sample has chosen, a histogram of all rows of the node
places the threshold.

A sample that decides nothing is lost. While most features survive it has few rows, or
as many as others have paid for; and nodes are sampled only while what was lost is
covered by what was saved, but for a hundredth of all insertions.

What `delta` covers: with probability at least ``1 - delta`` (over the sample, by the
radii of ``sklearn_bandit.bandit``, with a union bound over features and rounds) the
gain of the chosen feature is within the tolerance of the best feature's, both at the
thresholds found on the sample. What it does not cover: that a sample finds good
thresholds for all of them. The chosen feature's own threshold is the best of all rows.
"""

import numpy as np

from libc.math cimport INFINITY, ceil, log2, sqrt
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit.bandit._arms cimport eliminate
from sklearn_bandit.bandit._radii cimport needed_samples, split_delta
from sklearn_bandit.tree._common cimport MISSING_BIN, SMALL, Block, Limits, Split

from .exact cimport FOUND, NOTHING, OUT_OF_BUDGET, SAMPLED, UNDECIDED, Outcome
from .loss_comparison cimport LossComparison
from .row_sample cimport SAMPLE_SHARE, SUBSET_SHARE, RowSample, Slots, count_room
from .savings cimport Savings, affords, affords_sample
from .slots cimport SlotSplitter

# Where most features survive, all rows of a subset decide if they are predicted to
# leave no more than this share of what must be told apart. With 0.7, twice as many
# roots that gain half a percent of the impurity stay undecided; with 1, noise takes
# more insertions.
cdef double MOST_MISSING = 0.8


cdef class BanditSplitter(SlotSplitter):
    """Best split of a node, by adaptive sampling where it has many rows.

    Parameters
    ----------
    settings : SplitSettings
        As for `Splitter`.
    sampling : Sampling
        How rows are sampled.
    """

    cdef const uint8_t[::1] has_missing
    cdef double delta
    cdef Py_ssize_t batch_size
    cdef double tol                     # share of the gain that may be lost
    cdef bint takes_any                 # all of it: no split is as good as any
    cdef double allowance               # what may be lost however small the gain
    cdef bint is_subset
    cdef Py_ssize_t stride              # rows that a row of a subset stands for
    cdef Py_ssize_t share               # one of this number of a node's rows is sampled
    cdef RowSample sample
    cdef int32_t[::1] order             # features as they were before the draw
    cdef uint64_t row_random            # random numbers for the sample
    cdef LossComparison losses          # of two splits, on the sample
    cdef double[:, ::1] lefts           # totals of the left child, for each slot
    cdef Split* splits                  # best split on the sample, for each slot
    cdef Split whole                    # no split at all
    cdef Py_ssize_t n_survivors
    cdef Py_ssize_t leader              # which of the survivors; -1: no split is seen
    cdef Py_ssize_t[::1] arms           # slots of the survivors
    cdef Py_ssize_t[::1] before         # scratch: slots before an elimination
    cdef double[::1] mean               # of the survivors, relative to the leader
    cdef double[::1] radius
    cdef double[::1] scratch
    cdef Savings savings                # what samples have saved so far
    cdef bint is_decided                # whether the sample has told who is best
    cdef double gain                    # of the leader on the sample
    cdef double gain_radius

    def __init__(self, settings, sampling):
        SlotSplitter.__init__(self, settings)
        cdef Py_ssize_t n_slots = min(self.max_features, self.n_features), slot, room
        cdef Py_ssize_t n_channels = self.criterion.n_channels

        self.has_missing = sampling.has_missing
        self.delta = sampling.delta
        self.batch_size = sampling.batch_size
        self.tol = sampling.tol
        self.takes_any = self.tol >= 1.0
        self.is_subset = sampling.is_subset
        # With a budget, samples are what it allows.
        self.savings.is_kept = self.max_insertions == INT64_MAX
        self.savings.n_saved = sampling.n_saved
        self.stride = sampling.stride
        self.min_rows = sampling.min_rows
        self.share = SAMPLE_SHARE
        if self.is_subset:
            self.min_rows = 2 * self.batch_size
            self.share = SUBSET_SHARE
            self.allowance = self.tol * sampling.gained
        room = count_room(sampling.n_samples // self.share, n_slots)
        room = max(room, self.batch_size)
        self.sample = RowSample(self.criterion, self.histograms, room, n_slots)
        self.order = np.empty(self.n_features, dtype=np.int32)
        # Numbers of its own: features are drawn as without sampling.
        self.row_random = ~self.random
        self.losses = LossComparison(self.criterion, self.sample, sampling.radius)
        self.lefts = np.empty((n_slots + 1, n_channels))
        self.mean = np.empty(n_slots)
        self.radius = np.empty(n_slots)
        self.scratch = np.empty(n_slots)
        self.arms = np.empty(n_slots, dtype=np.intp)
        self.before = np.empty(n_slots, dtype=np.intp)
        self.splits = <Split*> allocate(n_slots, sizeof(Split))
        if self.splits == NULL:
            raise MemoryError
        for slot in range(n_slots):
            self.splits[slot].left = &self.lefts[slot, 0]
            self.splits[slot].rank = -1
        self.whole.left = &self.lefts[n_slots, 0]

    def __dealloc__(self):
        free(self.splits)

    @property
    def n_saved(self):
        """Insertions that samples have saved, less those that were lost to them."""
        return self.savings.n_saved

    cdef Outcome search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        cdef Py_ssize_t n_known = n_constant[0]
        cdef uint64_t random = self.random
        cdef int64_t n_before = self.n_insertions
        cdef Outcome outcome

        if self.is_subset and n < self.min_rows:
            return UNDECIDED
        if n < self.min_rows or self.set >= 0 or block.columns == NULL:
            return self.search_exactly(block, ids, n, totals, limits, n_constant, best)
        if limits.monotonic or not (
            self.is_subset or affords_sample(&self.savings, self.n_insertions)
        ):
            if self.n_sets > 0:
                # The nodes below will subtract from these, as in an exact tree.
                self.set = self.take_set(block, ids, n)
            return self.search_exactly(block, ids, n, totals, limits, n_constant, best)
        self.node.block = block
        self.node.ids = ids
        self.node.n = n
        self.node.totals = totals
        self.node.limits = limits
        memcpy(&self.order[0], &self.features[0], self.n_features * sizeof(int32_t))
        self.draw_varying(n_constant)
        best.feature = -1
        if self.n_drawn == 0:
            return NOTHING
        outcome = self.sample_and_compare(best)
        self.settle(outcome, self.n_insertions - n_before)
        self.clear_arms()
        if self.set >= 0 or (outcome == NOTHING and self.n_survivors < self.n_drawn):
            # As if nothing had been sampled: the same features, in the same order.
            memcpy(
                &self.features[0], &self.order[0], self.n_features * sizeof(int32_t)
            )
            self.random = random
            n_constant[0] = n_known
            outcome = self.search_exactly(
                block, ids, n, totals, limits, n_constant, best
            )
        elif outcome == SAMPLED or outcome == FOUND:
            self.n_sampled_nodes += self.is_decided or self.n_survivors < self.n_drawn
        return outcome

    cdef void settle(self, Outcome outcome, int64_t n_spent) noexcept nogil:
        """Enter into the account what a search has saved, of an exact one's insertions.

        Those subtract histograms where they can, so that they insert half of the rows.
        """
        cdef int64_t n_spared = self.n_exact()

        if outcome == UNDECIDED:
            # With few survivors a sample of all rows will not be lost.
            n_spared = 0 if self.most_survive() else n_spent
        elif self.set >= 0:
            # The histograms are those of an exact search.
            n_spared = self.node.n * self.n_features
        elif self.n_sets > 0:
            n_spared //= 2
        self.savings.n_saved += n_spared - n_spent

    cdef int64_t n_exact(self) noexcept nogil:
        """Insertions of an exact search of the node, with all of its rows."""
        return self.stride * self.node.n * self.n_drawn

    cdef bint most_survive(self) noexcept nogil:
        """Whether samples have not told half of the features from the best."""
        return 2 * self.n_survivors > self.n_drawn

    cdef Outcome sample_and_compare(self, Split* best) noexcept nogil:
        """Sample until a leader is told from the others; else go on with all rows."""
        cdef Py_ssize_t n = self.node.n
        cdef Py_ssize_t n_most = max(
            min(n // self.share, self.sample.room), self.batch_size
        )
        cdef Py_ssize_t n_next = self.batch_size, i, n_round = 0, n_rounds
        cdef double share

        self.kind = SMALL if self.histograms.is_small_sample(n_most) else 0
        n_rounds = 1 + <Py_ssize_t> ceil(log2(<double> n_most / self.batch_size))
        self.sample.n_rows = 0
        self.n_survivors = self.n_drawn
        self.leader = -1
        self.is_decided = True
        for i in range(self.n_survivors):
            self.arms[i] = i
        while self.sample.n_rows < n_most:
            n_next = min(n_next, n_most)
            if not self.can_pay((n_next - self.sample.n_rows) * self.n_survivors):
                if self.leader < 0:
                    return OUT_OF_BUDGET
                return self.take(best)
            self.add_batch(n_next)
            n_round += 1
            self.find_leader()
            if self.leader < 0:
                break
            share = split_delta(self.delta, self.n_drawn, n_round, n_rounds)
            self.drop_worse(share)
            n_next = self.plan()
            if n_next == 0:
                return self.place(best)
            if self.most_survive():
                # What samples of this size predict of larger ones is not to be trusted:
                # another feature may lead then.
                n_next = 2 * self.sample.n_rows
                if not affords(&self.savings, n_next * self.n_drawn, self.n_exact()):
                    break
        if self.is_subset:
            return self.compare_in_subset(best)
        self.is_decided = False
        if self.fill_set():
            return NOTHING
        return self.compare_exactly(best)

    cdef bint fill_set(self) noexcept nogil:
        """Fill histograms of all features for the nodes below; whether that was done.

        Where features tie, they will tie in the nodes below as well. Over the levels on
        which nodes are large enough to be sampled, full histograms of the survivors
        alone take ``levels * n * n_survivors`` insertions. With those of all features
        to subtract from, each level after this one takes half of its rows at most.
        """
        cdef double levels = 1.0 + log2(<double> self.node.n / self.min_rows)

        if (
            self.n_sets == 0
            or 2.0 * levels * self.n_survivors <= (levels + 1.0) * self.n_features
        ):
            return False
        self.set = self.take_set(self.node.block, self.node.ids, self.node.n)
        return self.set >= 0

    cdef void clear_arms(self) noexcept nogil:
        """Empty the histograms of the survivors."""
        cdef Py_ssize_t i

        for i in range(self.n_survivors):
            self.histograms.clear(self.arms[i], self.kind)

    cdef void add_batch(self, Py_ssize_t n_next) noexcept nogil:
        """Sample more rows and put them into the histograms of the survivors."""
        cdef Py_ssize_t i, first = self.sample.n_rows
        cdef Slots slots

        slots.features = &self.drawn[0]
        slots.used = &self.arms[0]
        slots.n_used = self.n_survivors
        self.sample.add(&self.node, n_next, &slots, &self.row_random)
        for i in range(self.n_survivors):
            self.sample.fill(first, self.arms[i], self.kind)

    cdef void find_leader(self) noexcept nogil:
        """Find each survivor's best split on the sample, and the best of these."""
        cdef double* totals = &self.losses.totals[0]
        cdef Py_ssize_t i, n_used = self.sample.n_rows, n_tied = 1
        cdef double share = <double> n_used / self.node.n
        cdef Limits scaled = self.node.limits[0]
        cdef Split* split

        self.leader = -1
        scaled.n_rows = n_used
        scaled.min_samples_leaf = <Py_ssize_t> (scaled.min_samples_leaf * share)
        scaled.min_weight_leaf *= share
        self.losses.summarise()
        for i in range(self.n_survivors):
            split = &self.splits[self.arms[i]]
            split.feature = -1
            split.score = -INFINITY
            self.scan(
                self.node.block, self.arms[i], self.drawn[self.arms[i]], self.kind,
                totals, &scaled, False, split,
            )
            if split.feature < 0:
                self.losses.leave_whole(split, self.drawn[self.arms[i]])
            elif (
                self.leader < 0
                or split.score > self.splits[self.arms[self.leader]].score
            ):
                self.leader = i
                n_tied = 1
            elif split.score == self.splits[self.arms[self.leader]].score:
                # One of those that are equal leads, all with the same probability.
                n_tied += 1
                if n_tied * random_unit(&self.row_random) < 1.0:
                    self.leader = i

    cdef void drop_worse(self, double share) noexcept nogil:
        """Drop the features that are worse than the leader, and learn what it gains."""
        cdef Py_ssize_t i, j, n_left, slot = self.arms[self.leader]
        cdef Split* split = &self.splits[slot]

        self.sample.show(slot)
        self.losses.set_leader(split)
        self.losses.leave_whole(&self.whole, split.feature)
        self.gain = self.losses.compare(&self.whole, share, &self.gain_radius)
        for i in range(self.n_survivors):
            self.mean[i] = 0.0
            self.radius[i] = 0.0
            self.before[i] = self.arms[i]
            if i != self.leader:
                self.sample.show(self.arms[i])
                self.mean[i] = self.losses.compare(
                    &self.splits[self.arms[i]], share, &self.radius[i]
                )
        n_left = eliminate(
            &self.mean[0], &self.radius[0], &self.arms[0], self.n_survivors, 1,
            &self.leader, NULL, &self.scratch[0],
        )
        j = 0
        for i in range(self.n_survivors):
            if j < n_left and self.arms[j] == self.before[i]:
                j += 1
            else:
                self.histograms.clear(self.before[i], self.kind)
        self.n_survivors = n_left

    cdef double missing_share(self, double n_rows) noexcept nogil:
        """By how much radii are too large to decide, if the sample had `n_rows` rows.

        At most 1: the leader is shown to beat no split, and no survivor can be better
        by more than `tol` times what the leader gains at least. Or no survivor can be
        better by more than the allowance.
        """
        cdef double unsure = 0.0 if self.takes_any else self.tol * self.gain_radius
        cdef double most = 0.0, most_allowed = 0.0
        cdef Py_ssize_t i

        if not self.takes_any:
            most = INFINITY
            if self.gain > 0.0:
                most = self.gain_radius / self.gain
        for i in range(self.n_survivors):
            if i == self.leader:
                continue
            most = max(
                most,
                (self.radius[i] + unsure)
                / max(self.mean[i] + self.tol * self.gain, 1e-300),
            )
            most_allowed = max(
                most_allowed,
                self.radius[i] / max(self.mean[i] + self.allowance, 1e-300),
            )
        if self.allowance > 0.0:
            most = min(most, most_allowed)
        return most * sqrt(self.sample.n_rows / n_rows)

    cdef Py_ssize_t plan(self) noexcept nogil:
        """Size of the next sample; 0 if the leader is good enough.

        Radii shrink with the root of the sample: if that takes more than the rows there
        are, say so at once.
        """
        cdef double n = self.sample.n_rows, ratio, n_needed

        if self.n_survivors == 1:
            return 0
        ratio = self.missing_share(n)
        if ratio <= 1.0:
            return 0
        if ratio == INFINITY:
            return 2 * self.sample.n_rows
        # Half of what is predicted to be needed: predictions from the first batch err.
        n_needed = needed_samples(1.0, ratio * sqrt(n), INFINITY)
        return <Py_ssize_t> max(2.0 * n, min(0.5 * n_needed, 1e18))

    cdef Outcome take(self, Split* best) noexcept nogil:
        """Take the leader's split, at bins that need not be in the sample."""
        cdef Split* split = &self.splits[self.arms[self.leader]]

        best.feature = split.feature
        best.score = split.score
        best.has_missing = self.has_missing[split.feature]
        best.missing_left = split.missing_left if split.has_missing else False
        if split.next_bin == MISSING_BIN:
            best.bin = self.n_bins[split.feature] - 1
            best.next_bin = MISSING_BIN
        else:
            # Rows between the sample's two bins are divided in the middle.
            best.bin = (split.bin + split.next_bin - 1) // 2
            best.next_bin = best.bin + 1
        return SAMPLED

    cdef Outcome place(self, Split* best) noexcept nogil:
        """Take the leader, at the best threshold of all rows of the node.

        Random thresholds are taken as they were drawn.
        """
        cdef Py_ssize_t slot = self.arms[self.leader]

        if self.n_thresholds or not self.can_pay(self.node.n):
            return self.take(best)
        self.clear_arms()
        self.kind = 0
        best.score = -INFINITY
        self.search_slots(&slot, 1, best)
        return NOTHING if best.feature < 0 else FOUND

    cdef Outcome compare_exactly(self, Split* best) noexcept nogil:
        """Decide between the survivors by full histograms."""
        if not self.can_pay(self.node.n * self.n_survivors):
            if self.leader < 0:
                return OUT_OF_BUDGET
            return self.take(best)
        self.clear_arms()
        self.kind = 0
        best.score = -INFINITY
        self.search_slots(&self.arms[0], self.n_survivors, best)
        return NOTHING if best.feature < 0 else FOUND

    cdef Outcome compare_in_subset(self, Split* best) noexcept nogil:
        """Decide by full histograms of a subset, if its rows are enough to tell."""
        cdef double weight = self.criterion.weight(self.node.totals)
        cdef double shrink = sqrt(<double> self.sample.n_rows / self.node.n)
        cdef Py_ssize_t i, leader = 0
        cdef int64_t n_insertions = self.node.n * self.n_survivors
        cdef double most = 1.0
        cdef Split* split

        if self.most_survive() and not affords(
            &self.savings, n_insertions, self.n_exact()
        ):
            most = MOST_MISSING
        if (
            self.leader < 0
            or self.missing_share(self.node.n) > most
            or not self.can_pay(n_insertions)
        ):
            return UNDECIDED
        self.clear_arms()
        self.kind = 0
        self.fill_slots(&self.arms[0], self.n_survivors)
        for i in range(self.n_survivors):
            split = &self.splits[self.arms[i]]
            split.feature = -1
            split.score = -INFINITY
            self.scan_slot(self.arms[i], split)
            if split.score > self.splits[self.arms[leader]].score:
                leader = i
        # Radii are relative to the leader of the sample.
        self.leader = leader
        split = &self.splits[self.arms[self.leader]]
        self.gain_radius = shrink * (self.gain_radius + self.radius[self.leader])
        self.gain = split.score - self.criterion.score(self.node.totals)
        self.gain /= weight * self.criterion.n_outputs
        for i in range(self.n_survivors):
            if i != self.leader:
                self.radius[i] = shrink * (self.radius[i] + self.radius[self.leader])
                self.mean[i] = split.score - self.splits[self.arms[i]].score
                self.mean[i] /= weight * self.criterion.n_outputs
        self.radius[self.leader] = 0.0
        if split.feature < 0 or self.missing_share(self.sample.n_rows) > 1.0:
            return UNDECIDED
        self.accept(split, best)
        return FOUND
