"""Histograms of class weights: see ``class_fill.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from sklearn_bandit.tree._common cimport Block

from .class_scan cimport cell_t


cdef struct Filling:
    # Rows that are added to the histograms of some features.
    uint8_t* marks              # of the bins touched; NULL: not set
    Py_ssize_t n_cells          # numbers in a cell
    Py_ssize_t n_outputs
    const Block* block
    const uint32_t* ids         # the rows
    Py_ssize_t n
    const int32_t* features     # up to MAX_GROUP
    Py_ssize_t n_features


cdef void fill_group(cell_t* cells, const Filling* filling) noexcept nogil
