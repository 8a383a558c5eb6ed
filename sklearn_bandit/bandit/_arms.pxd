"""Elimination for kernels: see ``_arms.pyx``.

Survivors are kept compact: position i of every array is the same arm. Means and radii
are relative to one leader (differences on common references; the leader itself has mean
and radius zero) or, for marginal radii, absolute. Smaller is better.
"""

cdef double kth_smallest(double* values, Py_ssize_t n, Py_ssize_t k) noexcept nogil

cdef Py_ssize_t eliminate(
    double* mean,           # mean of each survivor; compacted in place
    double* radius,         # its confidence radius; compacted in place
    Py_ssize_t* ids,        # its name; compacted in place
    Py_ssize_t n_survivors,
    Py_ssize_t k,           # how many arms are wanted
    Py_ssize_t* leader,      # position of the arm kept by identity; follows it
    Py_ssize_t* kept,       # old positions of the survivors (NULL: not wanted)
    double* scratch,        # room for n_survivors doubles
) noexcept nogil


cdef class Arms:
    cdef readonly Py_ssize_t n_arms     # arms at the start
    cdef readonly Py_ssize_t n_survivors    # the leading entries of all arrays
    cdef readonly Py_ssize_t n_used     # references that every survivor has seen
    cdef Py_ssize_t[::1] _ids
    cdef Py_ssize_t[::1] _kept
    cdef Py_ssize_t _leader              # position of the leader
    cdef double[::1] _total             # sum of costs less `_origin`
    cdef double[::1] _mean              # relative to the leader, or marginal
    cdef double[::1] _radius
    cdef double[::1] _shift             # about which the moments are taken
    cdef double[:, ::1] _moments        # sums of 1st, 2nd, 4th powers about the shift
    cdef double[::1] _size_before       # effective size before the last batch
    cdef double _n_before               # references behind it
    cdef double _n_summed               # references behind the moments
    cdef double[::1] _scratch
    cdef double _origin                 # any one cost: against cancellation
    cdef bint _paired
    cdef list _batches                  # costs of the survivors, to re-base from

    cdef void _add(
        self, const double[:, ::1] costs, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil
    cdef void _start_moments(self, const double[:, ::1] costs) noexcept nogil
    cdef object _compact(self, Py_ssize_t n_before)
    cdef double _stable_size(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t _kth_best(self, Py_ssize_t k) noexcept nogil
