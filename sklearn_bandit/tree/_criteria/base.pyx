"""What a tree predicts, as its splitters see it.

A *criterion* holds the y of the samples. It computes

- the *totals* of a node (class weights, or sums of y), from which impurity and
  prediction follow;
- the *loss* of each sample under a split, whose mean is the weighted impurity of
  the children: what the bandit averages;
- the *histograms* in which splits are searched (see ``histograms.pyx``).

The score of a split is the sum over both children of a function of their totals, such
that ``(score of the split - score of the node) / (weight of the node * n_outputs)`` is
the decrease in impurity. Up to a constant it is the negative loss.
"""

from libc.math cimport INFINITY


cdef class Criterion:
    """Base class: a base that is asked answers "nothing"."""

    def make_histograms(self, n_slots, n_bins, count_rows):
        """Make the histograms of a splitter.

        Parameters
        ----------
        n_slots : int
            Histograms that are held at the same time.
        n_bins : ndarray of shape (n_features,), int32
            Bins of each feature.
        count_rows : bool
            Whether `min_samples_leaf` needs the number of rows in each cell.

        Returns
        -------
        Histograms
        """
        raise NotImplementedError

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
