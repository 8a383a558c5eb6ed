"""Allocation by a number of items, whatever that number is; the cache line.

C multiplies sizes modulo 2**64: a block for ``2**62`` nodes of 64 bytes would be one of
no bytes. Here a product that does not fit counts as memory that is not there. What is
returned may be NULL, which the caller has to check. No items have an address, too.
"""

from libc.stddef cimport size_t
from libc.stdint cimport SIZE_MAX
from libc.stdlib cimport calloc, malloc, realloc

cdef extern from "allocation.h":
    bint skb_can_allocate(size_t size) noexcept nogil

cdef enum:
    CACHE_LINE = 64             # bytes that are read from memory at once


cdef inline size_t times(size_t a, size_t b) noexcept nogil:
    """Return the product, or the largest size if it is larger than that."""
    if b != 0 and a > SIZE_MAX // b:
        return SIZE_MAX
    return a * b


cdef inline void* allocate(size_t n_items, size_t item_size) noexcept nogil:
    """Return memory of any content, or NULL."""
    cdef size_t size = times(n_items, item_size)

    return NULL if size == SIZE_MAX else malloc(size if size else 1)


cdef inline void* allocate_zeros(size_t n_items, size_t item_size) noexcept nogil:
    """Return memory full of zeros, or NULL."""
    cdef size_t size = times(n_items, item_size)

    return NULL if size == SIZE_MAX else calloc(size if size else 1, 1)


cdef inline void* reallocate(
    void* memory, size_t n_items, size_t item_size
) noexcept nogil:
    """Return larger or smaller memory with the same content, or NULL.

    If NULL, the memory is as it was and still the caller's.
    """
    cdef size_t size = times(n_items, item_size)

    return NULL if size == SIZE_MAX else realloc(memory, size if size else 1)


cdef inline bint can_allocate(size_t n_items, size_t item_size) noexcept nogil:
    """Return whether memory of this size could be allocated; nothing is."""
    cdef size_t size = times(n_items, item_size)

    return size != SIZE_MAX and skb_can_allocate(size if size else 1)
