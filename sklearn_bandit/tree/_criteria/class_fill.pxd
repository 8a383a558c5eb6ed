"""Histograms of class weights: see ``class_fill.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from sklearn_bandit.tree._common cimport Block

from .class_scan cimport cell_t


cdef void fill_group(
    cell_t* cells,
    uint8_t* marks,             # of the bins touched; NULL: not wanted
    Py_ssize_t n_cells,
    const Block* block,
    Py_ssize_t n_outputs,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
    Py_ssize_t n_features,
) noexcept nogil
