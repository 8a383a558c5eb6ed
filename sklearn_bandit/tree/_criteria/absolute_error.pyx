"""Regression by medians: the absolute error.

The totals of a node are not sums: medians are found by sorting the y of its rows.
"""

from libc.math cimport fabs
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, qsort

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.tree._common cimport Block

from .moments cimport MomentCriterion

from .median_search import MedianSearch


cdef class AbsoluteErrorCriterion(MomentCriterion):
    """Real targets with weights, predicted by their medians.

    Totals of a node are its weight, the median of each output and the sum of absolute
    deviations from these. In a block, the moments of a row are its weight and its y.

    Parameters
    ----------
    moments : ndarray of shape (n_samples, 1 + n_outputs), float64
        Weight and y of each sample.
    n_rows : int
        Samples in the tree.
    """

    cdef Py_ssize_t n_rows
    cdef Pair* pairs                        # scratch: rows in the order of y

    def __init__(self, moments, n_rows):
        MomentCriterion.__init__(self, moments)
        self.n_rows = n_rows
        self.has_losses = False
        self.pairs = <Pair*> allocate(n_rows, sizeof(Pair))
        if self.pairs == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.pairs)

    def make_histograms(self, n_slots, n_bins, count_rows):
        """Make the search that replaces histograms; see `Criterion.make_histograms`."""
        return MedianSearch(self, n_slots, n_bins, self.n_rows)

    # -- nodes ----

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        cdef double half, below, weight, deviations = 0.0
        cdef Py_ssize_t i, k, width = self.n_moments

        totals[0] = 0.0
        for i in range(n):
            totals[0] += block.moments[width * ids[i]]
        half = 0.5 * totals[0]
        for k in range(1, width):
            sort_by_output(block, ids, n, width, k, self.pairs)
            below = 0.0
            totals[k] = self.pairs[n - 1].y
            for i in range(n):
                weight = block.moments[width * ids[self.pairs[i].place]]
                if below + weight > half or i == n - 1:
                    totals[k] = self.pairs[i].y
                    break
                below += weight
                if below == half:
                    totals[k] = 0.5 * (self.pairs[i].y + self.pairs[i + 1].y)
                    break
            for i in range(n):
                deviations += block.moments[width * ids[i]] * fabs(
                    block.moments[width * ids[i] + k] - totals[k]
                )
        totals[width] = deviations

    cdef double score(self, const double* totals) noexcept nogil:
        return -totals[self.n_moments]

    cdef double impurity(self, const double* totals) noexcept nogil:
        return totals[self.n_moments] / (totals[0] * self.n_outputs)

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[1] + right[1])

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        cdef Py_ssize_t k

        for k in range(self.n_outputs):
            out[k] = totals[k + 1]
        if self.n_outputs == 1:
            out[0] = min(max(out[0], lower), upper)


cdef void sort_by_output(
    const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t width,
    Py_ssize_t output, Pair* pairs,
) noexcept nogil:
    """Put rows in the order of one output (1, 2, ...)."""
    cdef Py_ssize_t i

    for i in range(n):
        pairs[i].y = block.moments[width * ids[i] + output]
        pairs[i].place = <uint32_t> i
    qsort(pairs, n, sizeof(Pair), &compare_pairs)


cdef int compare_pairs(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Pair*> a).y, y = (<const Pair*> b).y

    return (x > y) - (x < y)
