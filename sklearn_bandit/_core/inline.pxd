"""Kernels written once and compiled for each constant they are called with.

A function declared ``cdef inline_void kernel(const int width, ...)`` is always
inlined, so that a call with a literal width has loops of constant length: the C
compiler unrolls and vectorises them. Inlined into a ``simd_void`` kernel, it is
compiled for that kernel's instruction sets too.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SKB_INLINE __attribute__((always_inline)) inline
    #define skb_lowest_bit(x) __builtin_ctzll(x)
    #elif defined(_MSC_VER)
    #include <intrin.h>
    #define SKB_INLINE __forceinline
    static __forceinline int skb_lowest_bit(unsigned __int64 x)
    { unsigned long i; _BitScanForward64(&i, x); return (int) i; }
    #endif
    """
    ctypedef void inline_void "SKB_INLINE void"
    int lowest_bit "skb_lowest_bit"(unsigned long long) noexcept nogil


cdef inline void copy_row(
    uint8_t* to, const uint8_t* row, Py_ssize_t stride
) noexcept nogil:
    """Copy a row of bins; its stride is a multiple of 16."""
    cdef Py_ssize_t i

    if stride > 64:
        memcpy(to, row, stride)
        return
    # Where rows are short, calling memcpy takes longer than copying.
    for i in range(stride // 8):
        (<uint64_t*> to)[i] = (<const uint64_t*> row)[i]
