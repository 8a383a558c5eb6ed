"""MABSplit: the search for a split as a best-arm problem (thesis, chapter 3).

The features are the arms. Rows are sampled in batches; on the sample every feature has
its best threshold, and every row a loss under that split (see ``Criterion.losses``),
whose mean is the impurity of the children. The feature with the smallest mean leads,
and each other one is compared with it *on the same rows*: the difference of two losses
varies far less than either, so a feature is often out after the first batch where
separate intervals, as in the thesis, would overlap to the end.

The search stops when no survivor could be better by more than the tolerance. If the
survivors would need more than a fraction of the rows to tell apart, full histograms of
these few decide.

What `delta` covers: with probability at least ``1 - delta`` (over the sample, by the
asymptotic radii of ``sklearn_bandit.bandit``, with a union bound over features and
rounds) the gain of the chosen feature is within the tolerance of the best feature's,
both at the thresholds found on the sample. What it does not cover: the threshold within
a feature, which is the sample's best.
"""

import numpy as np

from libc.math cimport INFINITY, ceil, log2
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit._core.simd cimport prefetch, simd_void
from sklearn_bandit.bandit._arms cimport eliminate
from sklearn_bandit.bandit._radii cimport effective_size, paired_radius, split_delta
from sklearn_bandit.tree._common cimport (
    MAX_GROUP,
    MISSING_BIN,
    SAMPLE_LEVEL,
    SMALL,
    Block,
    Limits,
    Split,
)

from .exact cimport (
    FOUND,
    NOTHING,
    OUT_OF_BUDGET,
    SAMPLED,
    UNDECIDED,
    Outcome,
    Splitter,
)
from .row_comparison cimport is_constant

cdef enum:
    # Beyond this share (one in so many) of a node's rows a sample does not pay: a row
    # read at random costs about as much as several read in order.
    SAMPLE_SHARE = 4
    # The rows of a subset are there to be used, if not all twice.
    SUBSET_SHARE = 2
    # Nor does a larger sample, whatever the node: its losses no longer fit the cache.
    LARGEST_SAMPLE = 65536
    SAMPLE_BYTES = 1 << 24
    # Rows whose bins are copied together, out of the first-level cache.
    GATHERED_ROWS = 64
    CACHE_LINE = 64


# However small the gain, `tol` times this share of the impurity is tolerated. A tree on
# all features would pay for near ties on every level: with a fifth of this share, one
# of depth 8 on ten million rows took three times as long and was no better. Trees that
# draw features are grown deep, where sampling ends, and near the root gains are small:
# at the larger share ten of them lost 0.2 points on a million continuous rows.
cdef double ALLOWANCE = 0.1
cdef double ALLOWANCE_DRAWN = 0.02


cdef class BanditSplitter(Splitter):
    """Best split of a node, by adaptive sampling where it has many rows.

    Parameters
    ----------
    settings
        As for `Splitter`.
    has_missing : ndarray of shape (n_features,), uint8
        Features with missing values.
    delta : float
        Error probability of one search.
    batch_size : int
        Rows of the first batch; the sample doubles from then on.
    tol : float
        Near ties: a split is as good as the best if its gain is smaller by at most this
        share of the gain, or a fiftieth of this share of the node's impurity (a tenth
        where all features are searched).
    min_rows : int
        Smaller nodes are searched exactly.
    is_subset : bool
        Whether the rows are themselves a sample of those to learn from: then nothing is
        ever searched exactly, and what cannot be told is left undecided.
    """

    cdef const uint8_t[::1] has_missing
    cdef double delta
    cdef Py_ssize_t batch_size
    cdef double tol
    cdef double allowance               # of the tolerance, as a share of the impurity
    cdef bint is_subset
    cdef Py_ssize_t share               # of a node's rows, one in so many is sampled
    cdef Py_ssize_t n_drawn             # features in the present search
    cdef int kind                       # of the histograms in this search
    cdef int32_t[::1] drawn             # these features: slot i is for feature drawn[i]
    cdef uint8_t[::1] is_drawn          # scratch: one flag a feature
    cdef Block sampled                  # the targets of the sampled rows, and in turn
    cdef uint8_t* sampled_bins          # the bins of each slot, column by column
    cdef uint32_t* sample               # which rows were sampled last
    cdef uint32_t[::1] places           # 0, 1, 2, ...: all rows of the sample
    cdef Py_ssize_t sample_room
    cdef double[::1] leader_loss
    cdef double[::1] rival_loss
    cdef double[::1] row_weight
    cdef double[::1] sample_totals
    cdef double[:, ::1] lefts           # totals of the left child, for each slot
    cdef Split* splits                  # best split on the sample, for each slot
    cdef double[::1] mean               # of the survivors, relative to the leader
    cdef double[::1] radius
    cdef double[::1] scratch
    cdef Py_ssize_t[::1] arms           # slots of the survivors
    cdef Py_ssize_t[::1] fallen         # scratch: slots before an elimination
    cdef readonly Py_ssize_t n_sampled_nodes    # nodes split on a sample

    def __init__(
        self, settings, *, has_missing, delta, batch_size, tol, min_rows, n_samples,
        is_subset=False,
    ):
        Splitter.__init__(self, settings)
        cdef Py_ssize_t n_slots = min(self.max_features, self.n_features), slot

        self.has_missing = has_missing
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.allowance = (
            ALLOWANCE if n_slots == self.n_features else ALLOWANCE_DRAWN
        )
        self.is_subset = is_subset
        self.min_rows = 2 * batch_size if is_subset else min_rows
        self.share = SUBSET_SHARE if is_subset else SAMPLE_SHARE
        self.sample_room = max(
            min(n_samples // self.share, LARGEST_SAMPLE, SAMPLE_BYTES // n_slots),
            batch_size,
        )
        self.places = np.arange(self.sample_room, dtype=np.uint32)
        self.sampled_bins = <uint8_t*> allocate(self.sample_room, n_slots)
        self.criterion.reserve_copy(SAMPLE_LEVEL, self.sample_room)
        self.drawn = np.empty(n_slots, dtype=np.int32)
        self.is_drawn = np.empty(self.n_features, dtype=np.uint8)
        self.leader_loss = np.empty(self.sample_room)
        self.rival_loss = np.empty(self.sample_room)
        self.row_weight = np.empty(self.sample_room)
        self.sample_totals = np.empty(self.criterion.n_channels)
        self.lefts = np.empty((n_slots, self.criterion.n_channels))
        self.mean = np.empty(n_slots)
        self.radius = np.empty(n_slots)
        self.scratch = np.empty(n_slots)
        self.arms = np.empty(n_slots, dtype=np.intp)
        self.fallen = np.empty(n_slots, dtype=np.intp)
        self.sample = <uint32_t*> allocate(self.sample_room, sizeof(uint32_t))
        self.splits = <Split*> allocate(n_slots, sizeof(Split))
        if self.sample == NULL or self.splits == NULL or self.sampled_bins == NULL:
            raise MemoryError
        for slot in range(n_slots):
            self.splits[slot].left = &self.lefts[slot, 0]

    def __dealloc__(self):
        free(self.sample)
        free(self.sampled_bins)
        free(self.splits)

    def slots_needed(self):
        """Histograms that are held at the same time: those of all features drawn."""
        return max(min(self.max_features, self.n_features), MAX_GROUP)

    cdef Outcome search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        if self.is_subset and n < self.min_rows:
            return UNDECIDED
        if (
            n < self.min_rows
            or self.set >= 0
            or block.columns == NULL
            or limits.monotonic
        ):
            return self.search_exactly(block, ids, n, totals, limits, n_constant, best)
        self.draw_varying(block, ids, n, n_constant)
        if self.n_drawn == 0:
            best.feature = -1
            return NOTHING
        return self.sample_and_compare(
            block, ids, n, totals, limits, n_constant, best
        )

    cdef Outcome sample_and_compare(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        """Sample until a leader is told from its rivals; else go on with all rows."""
        cdef Py_ssize_t n_most = min(n // self.share, self.sample_room)
        cdef Py_ssize_t n_used = 0, n_next = self.batch_size
        cdef Py_ssize_t n_alive = self.n_drawn, i, n_round = 0, n_rounds, leader
        cdef Outcome outcome
        cdef bint decided = False
        cdef double share

        self.kind = SMALL if self.histograms.is_small_sample(n_most) else 0
        n_rounds = 1 + <Py_ssize_t> ceil(log2(<double> n_most / self.batch_size))
        for i in range(n_alive):
            self.arms[i] = i
        leader = 0
        while True:
            if not self.can_pay((n_next - n_used) * n_alive):
                if n_used == 0:
                    return OUT_OF_BUDGET
                decided = True
                break
            self.add_batch(block, ids, n, n_used, n_next, n_alive)
            n_used = n_next
            n_round += 1
            leader = self.find_leader(block, n_used, n, limits, n_alive)
            if leader < 0:
                break
            share = split_delta(self.delta, self.n_drawn, n_round, n_rounds)
            n_alive = self.drop_rivals(n_used, n_alive, &leader, share)
            n_next = self.plan(n_used, n_alive, leader)
            if n_next == 0:
                decided = True
                break
            if n_next > n_most:
                break
        if decided:
            self.take(leader, best)
            outcome = SAMPLED
        elif self.is_subset:
            outcome = UNDECIDED
        elif self.fill_set(block, ids, n, n_alive):
            outcome = self.search_exactly(
                block, ids, n, totals, limits, n_constant, best
            )
        else:
            outcome = self.compare_exactly(
                block, ids, n, totals, limits, n_alive, leader, best
            )
        self.clear_arms(n_alive)
        if outcome == SAMPLED:
            self.n_sampled_nodes += 1
        return outcome

    cdef bint fill_set(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_alive
    ) noexcept nogil:
        """Fill histograms of all features for the nodes below; whether that was done.

        Where features tie, they will tie in the nodes below as well. Over the levels on
        which nodes are large enough to be sampled, full histograms of the survivors
        alone take ``levels * n * n_alive`` insertions. With those of all features to
        subtract from, each level after this one takes half of its rows at most.
        """
        cdef double levels = 1.0 + log2(<double> n / self.min_rows)

        if (
            self.n_sets == 0
            or 2.0 * levels * n_alive <= (levels + 1.0) * self.n_features
        ):
            return False
        self.set = self.take_set(block, ids, n)
        return self.set >= 0

    cdef void clear_arms(self, Py_ssize_t n_alive) noexcept nogil:
        """Empty the histograms of the survivors."""
        cdef Py_ssize_t i

        for i in range(n_alive):
            self.histograms.clear(self.arms[i], self.kind)

    cdef void draw_varying(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t* n_constant,
    ) noexcept nogil:
        """Draw `max_features` features that vary in the node.

        They are listed in ascending order: neighbours share cache lines.
        """
        cdef Py_ssize_t place = n_constant[0], n_drawn = 0
        cdef int32_t feature

        memset(&self.is_drawn[0], 0, self.n_features)
        while n_drawn < self.max_features and place < self.n_features:
            self.draw(place, 1)
            feature = self.features[place]
            if is_constant(block.columns + feature * block.n_rows, ids, n):
                self.set_aside(place, n_constant)
            else:
                self.is_drawn[feature] = True
                n_drawn += 1
            place += 1
        self.n_drawn = 0
        for feature in range(<int32_t> self.n_features):
            if self.is_drawn[feature]:
                self.drawn[self.n_drawn] = feature
                self.n_drawn += 1

    cdef void add_batch(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_used,
        Py_ssize_t n_next, Py_ssize_t n_alive,
    ) noexcept nogil:
        """Sample more rows and put them into the histograms of the survivors.

        One row at random out of each of as many equal stretches: as good as a simple
        random sample or better, and read in order.
        """
        cdef Py_ssize_t i, n_new = n_next - n_used, place
        cdef double step = <double> n / n_new
        cdef int32_t first = 0

        for i in range(n_new):
            place = <Py_ssize_t> ((i + random_unit(&self.random)) * step)
            self.sample[i] = ids[min(place, n - 1)]
        self.sampled = block[0]
        self.criterion.gather(
            SAMPLE_LEVEL, block, self.sample, n_new, n_used, &self.sampled
        )
        self.gather_bins(block, n_used, n_new, n_alive)
        for i in range(n_alive):
            self.show_slot(self.arms[i], n_next)
            self.histograms.fill(
                &self.sampled, &self.places[n_used], n_new, &first, 1, self.arms[i],
                self.kind,
            )

    cdef void gather_bins(
        self, const Block* block, Py_ssize_t n_used, Py_ssize_t n_new,
        Py_ssize_t n_alive,
    ) noexcept nogil:
        """Copy the bins of sampled rows: a few rows at a time, column by column."""
        cdef const uint8_t* lines[GATHERED_ROWS]
        cdef Py_ssize_t start = 0, ahead = 0, n_chunk, i, k, slot
        cdef int32_t feature
        cdef uint8_t* bins

        while start < n_new:
            n_chunk = min(<Py_ssize_t> GATHERED_ROWS, n_new - start)
            while ahead < min(start + 2 * GATHERED_ROWS, n_new):
                k = 0
                while k < block.stride:
                    prefetch(
                        block.rows + <Py_ssize_t> self.sample[ahead] * block.stride + k
                    )
                    k += CACHE_LINE
                ahead += 1
            for i in range(n_chunk):
                lines[i] = (
                    block.rows + <Py_ssize_t> self.sample[start + i] * block.stride
                )
            for k in range(n_alive):
                slot = self.arms[k]
                feature = self.drawn[slot]
                bins = self.sampled_bins + slot * self.sample_room + n_used + start
                for i in range(n_chunk):
                    bins[i] = lines[i][feature]
            start += n_chunk

    cdef void show_slot(self, Py_ssize_t slot, Py_ssize_t n_rows) noexcept nogil:
        """Make the sample a block of one feature: that of a slot."""
        self.sampled.rows = self.sampled_bins + slot * self.sample_room
        self.sampled.columns = self.sampled.rows
        self.sampled.stride = 1
        self.sampled.n_rows = n_rows

    cdef Py_ssize_t find_leader(
        self, const Block* block, Py_ssize_t n_used, Py_ssize_t n, const Limits* limits,
        Py_ssize_t n_alive,
    ) noexcept nogil:
        """Find each survivor's best split on the sample; -1 if there is none at all."""
        cdef double* totals = &self.sample_totals[0]
        cdef double share = <double> n_used / n
        cdef Limits scaled = limits[0]
        cdef Py_ssize_t i, leader = -1, n_tied = 1
        cdef Split* split

        scaled.n_rows = n_used
        scaled.min_samples_leaf = <Py_ssize_t> (limits.min_samples_leaf * share)
        scaled.min_weight_leaf = limits.min_weight_leaf * share
        self.criterion.summarise(&self.sampled, &self.places[0], n_used, totals)
        for i in range(n_alive):
            split = &self.splits[self.arms[i]]
            split.feature = -1
            split.score = -INFINITY
            self.scan(
                block, self.arms[i], self.drawn[self.arms[i]], self.kind, totals,
                &scaled, False, split,
            )
            if split.feature < 0:
                self.leave_whole(split, self.drawn[self.arms[i]])
            elif leader < 0 or split.score > self.splits[self.arms[leader]].score:
                leader = i
                n_tied = 1
            elif split.score == self.splits[self.arms[leader]].score:
                # One of those that are equal leads, all with the same probability.
                n_tied += 1
                if n_tied * random_unit(&self.random) < 1.0:
                    leader = i
        return leader

    cdef void leave_whole(self, Split* split, int32_t feature) noexcept nogil:
        """A feature without a split on the sample: as an arm, everything stays left."""
        cdef Py_ssize_t k

        split.feature = feature
        split.bin = MISSING_BIN
        split.next_bin = MISSING_BIN
        split.missing_left = True
        split.score = self.criterion.score(&self.sample_totals[0])
        for k in range(self.criterion.n_channels):
            split.left[k] = self.sample_totals[k]

    cdef Py_ssize_t drop_rivals(
        self, Py_ssize_t n_used, Py_ssize_t n_alive, Py_ssize_t* leader, double share,
    ) noexcept nogil:
        """Drop the rivals that are worse than the leader; return how many are left."""
        cdef Py_ssize_t i, j, n_left
        cdef double total = 0.0, mean, sum_2, sum_4
        cdef double best_score = self.splits[self.arms[leader[0]]].score

        self.show_slot(self.arms[leader[0]], n_used)
        self.criterion.losses(
            &self.sampled, &self.splits[self.arms[leader[0]]], &self.sample_totals[0],
            &self.leader_loss[0], &self.row_weight[0],
        )
        for j in range(n_used):
            total += self.row_weight[j]
        for i in range(n_alive):
            self.mean[i] = 0.0
            self.radius[i] = 0.0
            if i == leader[0]:
                continue
            self.show_slot(self.arms[i], n_used)
            self.criterion.losses(
                &self.sampled, &self.splits[self.arms[i]], &self.sample_totals[0],
                &self.rival_loss[0], NULL,
            )
            # The mean of the losses is the impurity of the children, which is known.
            mean = (best_score - self.splits[self.arms[i]].score) / (
                total * self.criterion.n_outputs
            )
            add_powers(
                &self.rival_loss[0], &self.leader_loss[0], &self.row_weight[0], n_used,
                mean, &sum_2, &sum_4,
            )
            self.mean[i] = mean
            self.radius[i] = paired_radius(
                n_used * sum_2 / (total * total), n_used, effective_size(sum_2, sum_4),
                share,
            )
        for i in range(n_alive):
            self.fallen[i] = self.arms[i]
        n_left = eliminate(
            &self.mean[0], &self.radius[0], &self.arms[0], n_alive, 1, leader, NULL,
            &self.scratch[0],
        )
        j = 0
        for i in range(n_alive):
            if j < n_left and self.arms[j] == self.fallen[i]:
                j += 1
            else:
                self.histograms.clear(self.fallen[i], self.kind)
        return n_left

    cdef Py_ssize_t plan(
        self, Py_ssize_t n_used, Py_ssize_t n_alive, Py_ssize_t leader
    ) noexcept nogil:
        """Size of the next sample; 0 if the leader is good enough.

        A rival is told from the leader, or shown to be as good, when its radius is
        below its mean and the tolerance together. Radii shrink with the root of the
        sample: if that takes more than the rows there are, say so at once.
        """
        cdef double* totals = &self.sample_totals[0]
        cdef Split* split = &self.splits[self.arms[leader]]
        cdef double weight = self.criterion.weight(totals) * self.criterion.n_outputs
        cdef double gain = (split.score - self.criterion.score(totals)) / weight
        cdef double tolerance = self.tol * gain
        cdef double needed = 0.0, ratio, allowance
        cdef Py_ssize_t i

        # Random thresholds gain little each, but in sum: they get no further allowance.
        if self.n_thresholds == 0:
            allowance = self.allowance * self.criterion.impurity(totals)
            tolerance = self.tol * max(gain, allowance)
        for i in range(n_alive):
            if i == leader:
                continue
            if self.radius[i] <= self.mean[i] + tolerance:
                continue
            ratio = self.radius[i] / max(self.mean[i] + tolerance, 1e-300)
            if self.radius[i] == INFINITY:
                ratio = 1.0
            needed = max(needed, n_used * min(ratio * ratio, 1e9))
        if needed == 0.0:
            return 0
        # Half of what is predicted to be needed: predictions from the first batch err.
        return <Py_ssize_t> max(2.0 * n_used, min(0.5 * needed, 1e18))

    cdef void take(self, Py_ssize_t leader, Split* best) noexcept nogil:
        """Return the leader's split, at bins that need not be in the sample."""
        cdef Split* split = &self.splits[self.arms[leader]]

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

    cdef Outcome compare_exactly(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t n_alive,
        Py_ssize_t leader, Split* best,
    ) noexcept nogil:
        """Decide between the survivors by full histograms."""
        cdef Py_ssize_t i, j, n_group
        cdef int32_t group[MAX_GROUP]

        if not self.can_pay(n * n_alive):
            if leader < 0:
                return OUT_OF_BUDGET
            self.take(leader, best)
            return SAMPLED
        best.feature = -1
        best.score = -INFINITY
        self.clear_arms(n_alive)
        self.kind = 0
        i = 0
        while i < n_alive:
            n_group = 0
            while (
                n_group < MAX_GROUP
                and i + n_group < n_alive
                and self.arms[i + n_group] == self.arms[i] + n_group
            ):
                group[n_group] = self.drawn[self.arms[i + n_group]]
                n_group += 1
            self.histograms.fill(block, ids, n, group, n_group, self.arms[i], self.kind)
            for j in range(n_group):
                self.scan(
                    block, self.arms[i] + j, group[j], self.kind, totals, limits, False,
                    best
                )
            i += n_group
        return NOTHING if best.feature < 0 else FOUND


cdef simd_void add_powers(
    const double* rival, const double* leader, const double* weight, Py_ssize_t n,
    double mean, double* sum_2, double* sum_4,
) noexcept nogil:
    """Sums of the second and fourth powers of what each row adds to the error.

    The weighted mean of the differences, linearised: ``weight (difference - mean)``.
    """
    cdef double d, square, second = 0.0, fourth = 0.0
    cdef Py_ssize_t i

    for i in range(n):
        d = weight[i] * (rival[i] - leader[i] - mean)
        square = d * d
        second += square
        fourth += square * square
    sum_2[0] = second
    sum_4[0] = fourth
