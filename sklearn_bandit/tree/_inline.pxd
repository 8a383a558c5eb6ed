"""Kernels written once and compiled for each constant they are called with.

A function declared ``cdef inline_void kernel(const int width, ...)`` is always
inlined, so that a call with a literal width has loops of constant length: the C
compiler unrolls and vectorises them. Inlined into a ``simd_void`` kernel, it is
compiled for that kernel's instruction sets too.
"""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SKB_INLINE __attribute__((always_inline)) inline
    #define skb_lowest_bit(x) __builtin_ctzll(x)
    #define skb_prefetch(p) __builtin_prefetch(p)
    #elif defined(_MSC_VER)
    #include <intrin.h>
    #define SKB_INLINE __forceinline
    static __forceinline int skb_lowest_bit(unsigned __int64 x)
    { unsigned long i; _BitScanForward64(&i, x); return (int) i; }
    #define skb_prefetch(p) ((void) 0)
    #endif
    """
    ctypedef void inline_void "SKB_INLINE void"
    int lowest_bit "skb_lowest_bit"(unsigned long long) noexcept nogil
    void prefetch "skb_prefetch"(const void*) noexcept nogil
