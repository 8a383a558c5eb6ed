"""The nodes of a tree in groups: see ``grouping.pyx``."""

from libc.stdint cimport int32_t, uint16_t, uint32_t

from .source_tree cimport SourceTree

cdef extern from "node_groups.h":
    # The comments on the fields are in the header.
    enum: GROUP_NODES "SKB_GROUP_NODES"
    enum: GROUP_EXITS "SKB_GROUP_EXITS"
    enum: REGISTER_FEATURES "SKB_REGISTER_FEATURES"
    ctypedef struct Group "skb_group":
        float thresholds[16]
        uint32_t exits[16]
        uint16_t on_path[16]
        uint16_t answers[16]
        uint16_t features[16]
        uint16_t goes_on
        uint16_t missing_right
        uint16_t n_nodes
        uint16_t n_exits
    bint can_group "skb_can_group"() noexcept nogil     # whether this processor can


cdef struct Branch:
    # A subtree, and how it is reached within a group.
    uint32_t node
    uint16_t on_path
    uint16_t answers


cdef struct Waiting:
    # A subtree that has no place yet, and the way out that leads to it.
    uint32_t node
    uint32_t group
    uint32_t exit_


cdef class Grouping:
    """The groups of one tree after the other, in the same memory."""

    cdef Group* groups
    cdef Py_ssize_t n_groups
    cdef Py_ssize_t room                    # for groups
    cdef int32_t* next_                     # next group with as much room left, or -1
    cdef int32_t[GROUP_EXITS] roomy         # first group with room, by ways out
    cdef Waiting* waiting
    cdef Py_ssize_t n_waiting
    cdef Py_ssize_t n_chosen_in_all
    cdef uint32_t[GROUP_NODES] chosen       # nodes that come into a group together
    cdef int n_chosen
    cdef Branch[GROUP_EXITS] exits          # their ways out
    cdef int n_exits

    cdef bint group(self, SourceTree tree) except -1
    cdef int _group(self, SourceTree tree) noexcept nogil
    cdef bint _choose(self, SourceTree tree, uint32_t root) noexcept nogil
    cdef Py_ssize_t _find_group(self) noexcept nogil
    cdef bint _make_room(self) noexcept nogil
    cdef uint32_t _write(self, SourceTree tree, Py_ssize_t number) noexcept nogil
