"""A few floats as one value, which the compiler keeps in a register.

Sums, differences and products go as for one float, and mix with one. There are eight
where the compiler has vectors, the width of AVX2 and half of AVX-512; else there is
one. Local arrays of as many floats would stay in memory.
"""

cdef extern from *:
    """
    #ifndef SKB_FLOATS
    #define SKB_FLOATS
    #include <string.h>
    #if defined(__GNUC__)
    /* Everything is inlined: how a vector would be passed does not matter. */
    #pragma GCC diagnostic ignored "-Wpsabi"
    #endif
    #if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    #define SKB_LANES 8
    #define SKB_OF_FLOATS static inline __attribute__((always_inline))
    typedef float skb_floats __attribute__((vector_size(32)));
    SKB_OF_FLOATS skb_floats skb_least(skb_floats x, float most)
    {
        for (int i = 0; i < SKB_LANES; i++) x[i] = x[i] < most ? x[i] : most;
        return x;
    }
    SKB_OF_FLOATS void skb_add_floats(double* to, skb_floats x)
    { for (int i = 0; i < SKB_LANES; i++) to[i] += x[i]; }
    #else
    #define SKB_LANES 1
    #define SKB_OF_FLOATS static
    typedef float skb_floats;
    SKB_OF_FLOATS skb_floats skb_least(skb_floats x, float most)
    { return x < most ? x : most; }
    SKB_OF_FLOATS void skb_add_floats(double* to, skb_floats x)
    { *to += x; }
    #endif
    #if defined(__GNUC__)
    #define SKB_PREFETCH_SECOND(address) __builtin_prefetch(address, 0, 2)
    #else
    #define SKB_PREFETCH_SECOND(address) ((void) (address))
    #endif
    SKB_OF_FLOATS skb_floats skb_load_floats(const float* from)
    { skb_floats x; memcpy(&x, from, sizeof(x)); return x; }
    SKB_OF_FLOATS skb_floats skb_no_floats(void)
    { skb_floats x; memset(&x, 0, sizeof(x)); return x; }
    #endif
    """
    enum: LANES "SKB_LANES"
    ctypedef float floats "skb_floats"
    floats no_floats "skb_no_floats"() noexcept nogil       # zero
    floats load_floats "skb_load_floats"(const float* values) noexcept nogil
    floats least "skb_least"(floats x, float most) noexcept nogil
    void add_floats "skb_add_floats"(double* to, floats x) noexcept nogil
    # Ask for a cache line ahead of its use; only as far as the second level, where it
    # does not push out what is in use.
    void prefetch_second "SKB_PREFETCH_SECOND"(const void* address) noexcept nogil
