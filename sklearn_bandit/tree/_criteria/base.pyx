"""What a tree predicts, as its splitters see it.

A *criterion* knows the y of the samples and the criterion. Splitters ask it

- for the *totals* of a node (class weights, or sums of y), from which impurity and
  prediction follow;
- to *fill* histograms: one cell per bin, holding the totals of the rows in that bin;
- to *scan* a histogram for the threshold with the best *score*;
- for the *loss* of each sample under a split, whose mean is the weighted impurity of
  the children: what the bandit averages.

The score of a split is the sum over both children of a function of their totals, such
that ``(score of the split - score of the node) / (weight of the node * n_outputs)`` is
the decrease in impurity. Up to a constant it is the negative loss.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit.tree._common cimport N_SLOTS

cdef enum:
    # Up to this many rows, only the bins that they touch are scanned and cleared: fewer
    # than the bins there are, or hardly more.
    SPARSE_ROWS = 512


cdef class Criterion:
    """Base class: room for the histograms, and the rows counted in them."""

    def __cinit__(self, *args, **kwargs):
        self.sparse_rows = SPARSE_ROWS
        self.tiny_group = 1

    def __dealloc__(self):
        free(self.sizes)

    cdef int reserve(self, Py_ssize_t n_slots, bint count_rows) except -1:
        """Make room for `n_slots` histograms."""
        self.n_slots = n_slots
        if count_rows:
            self.sizes = <uint32_t*> allocate_zeros(
                n_slots, N_SLOTS * sizeof(uint32_t)
            )
            if self.sizes == NULL:
                raise MemoryError
        return 0

    cdef void count_rows(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot,
    ) noexcept nogil:
        """Count the rows of each cell, for `min_samples_leaf`."""
        cdef Py_ssize_t i, j
        cdef uint32_t* sizes

        for j in range(n_features):
            sizes = self.sizes + (slot + j) * N_SLOTS
            for i in range(n):
                sizes[block.rows[<Py_ssize_t> ids[i] * block.stride + features[j]]] += 1

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        """Empty a histogram."""
        if self.sizes != NULL:
            memset(self.sizes + slot * N_SLOTS, 0, N_SLOTS * sizeof(uint32_t))

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        """Take the histogram of one child from that of its parent: the other child's.

        Only where weights are integers, so that what is empty becomes exactly 0.
        """
        cdef Py_ssize_t i

        if self.sizes != NULL:
            for i in range(N_SLOTS):
                self.sizes[whole * N_SLOTS + i] -= self.sizes[part * N_SLOTS + i]

    # The rest is the subclasses'; a base that is asked answers "nothing".

    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1:
        """Make room for the targets of a block of copied rows."""
        return 0

    cdef void describe(self, Block* block) noexcept nogil:
        """Point a block to the targets of all samples."""

    cdef void gather(
        self, Py_ssize_t level, const Block* source, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t first, Block* copy,
    ) noexcept nogil:
        """Copy the targets of some rows together, from place `first` of the copy on."""

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        """Compute the totals of a node."""

    cdef void add_rows(
        self, const Block* block, Py_ssize_t start, Py_ssize_t n, const uint16_t* nodes,
        double* totals,
    ) noexcept nogil:
        """Add consecutive rows to the totals of their nodes, in any thread."""

    cdef double weight(self, const double* totals) noexcept nogil:
        """Weight of a node."""
        return 0.0

    cdef bint is_small(self, const double* totals) noexcept nogil:
        """Whether short integers hold all weights in a node."""
        return False

    cdef bint is_small_sample(self, Py_ssize_t n) noexcept nogil:
        """Whether short integers hold the weights of any n rows."""
        return False

    cdef double impurity(self, const double* totals) noexcept nogil:
        """Impurity of a node."""
        return 0.0

    cdef double score(self, const double* totals) noexcept nogil:
        """Score of a node that is not split."""
        return 0.0

    cdef double perfect_score(self, const double* totals) noexcept nogil:
        """Score, less rounding, of a split whose children are pure: none is better."""
        return INFINITY

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        """Middle between two nodes' values, for monotonic constraints."""
        return 0.0

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        """Prediction of a node, within bounds."""

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        """Add rows to the histograms of some features, in slots from `slot` on.

        At most MAX_GROUP features. `kind` is that of the histograms: SPARSE, SMALL,
        both or 0; SMALL only if `is_small` allows it.
        """

    cdef bint scan(
        self, Py_ssize_t slot, int32_t feature, int kind, int32_t n_bins,
        const double* totals, const Limits* limits, int8_t constraint,
        const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil:
        """Find the best threshold of a feature; replace `best` if it has a better
        score.

        `allowed` (NULL: all) is a bitmap of the bins after which may be split. Returns
        whether the feature varies in the node.
        """
        return False

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t n_bins, uint64_t* out
    ) noexcept nogil:
        """Bitmap of the bins of a histogram that hold rows."""

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals, Cut* cuts,
        double* lefts,
    ) noexcept nogil:
        """Divide rows at one cut each of up to MAX_GROUP features.

        No value is missing, and every cut leaves rows on each side. Fills in the scores
        of the cuts, and the totals on the left: those that the score needs.
        """

    cdef void count_left(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        Cut* cut,
    ) noexcept nogil:
        """Count the rows on the left of a cut, for `min_samples_leaf`."""
        cdef const uint8_t* bins = block.rows + feature
        cdef Py_ssize_t i

        cut.n_left = 0
        for i in range(n):
            cut.n_left += bins[<Py_ssize_t> ids[i] * block.stride] <= cut.last

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals,
    ) noexcept nogil:
        """Prepare the search of a node of at most `tiny_rows` rows."""
        pass

    cdef int search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals,
        const Limits* limits, uint8_t* varies, Split* best,
    ) noexcept nogil:
        """Find the best threshold of some features in the node that was loaded.

        The node has no monotonic constraints. `features` has MAX_GROUP elements, of
        which the first `n_features` count; `varies` is set for these. Returns -1, with
        nothing done, if histograms are needed.
        """
        return -1

    cdef void losses(
        self, const Block* block, const Split* split, const double* totals,
        double* loss, double* weight,
    ) noexcept nogil:
        """Loss of each row under a split whose children are fitted to these rows.

        The block has one column, that of the split's feature. Weights are written
        unless the pointer is NULL.
        """

    def find_bounds(self):
        """Find the bounds of weights and targets that `difference_range` needs."""

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil:
        """Length of an interval that holds, whatever the row, its weight times the
        difference of its losses under two splits with children as in `losses`.
        """
        return INFINITY
