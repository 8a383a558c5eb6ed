"""Histograms of all features drawn in a node: see ``slots.pyx``."""

from libc.stdint cimport int32_t

from sklearn_bandit.tree._common cimport Split

from .exact cimport Splitter
from .row_sample cimport Node


cdef class SlotSplitter(Splitter):
    cdef Node node                  # the present search
    cdef Py_ssize_t n_drawn         # features in it
    cdef Py_ssize_t first_place     # of these in the list of features
    cdef int32_t[::1] drawn         # these features: slot i is for feature drawn[i]
    cdef int32_t[::1] slot_of       # scratch: the slot of each feature; -1: none
    cdef int kind                   # of the histograms

    cdef void draw_varying(self, Py_ssize_t* n_constant) noexcept nogil
    cdef void search_slots(
        self, const Py_ssize_t* slots, Py_ssize_t n_slots, Split* best
    ) noexcept nogil
    cdef void fill_slots(
        self, const Py_ssize_t* slots, Py_ssize_t n_slots
    ) noexcept nogil
    cdef void scan_slot(self, Py_ssize_t slot, Split* best) noexcept nogil
    cdef void accept(self, const Split* split, Split* best) noexcept nogil
