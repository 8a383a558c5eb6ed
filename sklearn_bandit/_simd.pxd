"""Run-time dispatch for kernels that gain from wide vectors.

A kernel declared ``cdef simd_void kernel(...) noexcept nogil`` is compiled once for
each instruction set below and resolved by the loader, so one wheel uses AVX-512 or AVX2
where the processor has them and runs everywhere. Keep such kernels leaves: an inner
function is only compiled for the wider set if it is inlined, and a ``prange`` body
never is.

Loops of eight are unrolled by compilers before they are vectorised, and then they are
not: sums over eight integers are written out below, to be inlined into such kernels.
``prefetch`` asks for a cache line ahead of its use.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t

cdef extern from *:
    """
    #if defined(__linux__)
    #include <features.h>
    #endif
    #ifndef SKB_SIMD
    #if defined(__x86_64__) && defined(__GLIBC__) && \\
        ((defined(__clang__) && __clang_major__ >= 17) || \\
         (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12))
    #define SKB_SIMD __attribute__((target_clones( \\
        "arch=x86-64-v4", "arch=x86-64-v3", "default")))
    #else
    #define SKB_SIMD
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define SKB_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define SKB_PREFETCH(address) ((void) (address))
    #endif
    #endif
    """
    ctypedef void simd_void "SKB_SIMD void"
    void prefetch "SKB_PREFETCH" (const void* address) noexcept nogil


cdef extern from *:
    """
    #ifndef SKB_EIGHT
    #define SKB_EIGHT
    #include <stdint.h>
    #include <string.h>
    #if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    #define SKB_INLINED static inline __attribute__((always_inline))
    typedef int32_t skb_ints __attribute__((vector_size(32)));
    typedef int32_t skb_half __attribute__((vector_size(16)));
    typedef uint16_t skb_shorts __attribute__((vector_size(16)));
    typedef uint8_t skb_bytes __attribute__((vector_size(8)));
    #define SKB_SUM(v) \
        skb_half a, b; \
        memcpy(&a, &v, 16); \
        memcpy(&b, (const char*) &v + 16, 16); \
        a += b; \
        a += __builtin_shufflevector(a, a, 2, 3, 0, 1); \
        a += __builtin_shufflevector(a, a, 1, 0, 3, 2); \
        return a[0]
    SKB_INLINED int32_t skb_sum_8(const uint16_t* x)
    {
        skb_shorts s; memcpy(&s, x, 16);
        skb_ints v = __builtin_convertvector(s, skb_ints);
        SKB_SUM(v);
    }
    SKB_INLINED void skb_add_8(int32_t* to, const uint16_t* x)
    {
        skb_shorts s; memcpy(&s, x, 16);
        skb_ints v; memcpy(&v, to, 32);
        v += __builtin_convertvector(s, skb_ints);
        memcpy(to, &v, 32);
    }
    SKB_INLINED void skb_add_where_8(
        int32_t* to, const uint8_t* x, const int32_t* most, int32_t weight)
    {
        skb_bytes b; memcpy(&b, x, 8);
        skb_ints m, v; memcpy(&m, most, 32); memcpy(&v, to, 32);
        v += (__builtin_convertvector(b, skb_ints) <= m) & weight;
        memcpy(to, &v, 32);
    }
    SKB_INLINED int32_t skb_squares_8(const int32_t* x)
    {
        skb_ints v; memcpy(&v, x, 32);
        v *= v;
        SKB_SUM(v);
    }
    SKB_INLINED int32_t skb_squared_distance_8(const int32_t* x, const int32_t* y)
    {
        skb_ints v, w; memcpy(&v, x, 32); memcpy(&w, y, 32);
        v -= w;
        v *= v;
        SKB_SUM(v);
    }
    #else
    static int32_t skb_sum_8(const uint16_t* x)
    { int32_t s = 0; for (int i = 0; i < 8; i++) s += x[i]; return s; }
    static void skb_add_8(int32_t* to, const uint16_t* x)
    { for (int i = 0; i < 8; i++) to[i] += x[i]; }
    static void skb_add_where_8(
        int32_t* to, const uint8_t* x, const int32_t* most, int32_t weight)
    { for (int i = 0; i < 8; i++) to[i] += x[i] <= most[i] ? weight : 0; }
    static int32_t skb_squares_8(const int32_t* x)
    { int32_t s = 0; for (int i = 0; i < 8; i++) s += x[i] * x[i]; return s; }
    static int32_t skb_squared_distance_8(const int32_t* x, const int32_t* y)
    {
        int32_t s = 0;
        for (int i = 0; i < 8; i++) s += (x[i] - y[i]) * (x[i] - y[i]);
        return s;
    }
    #endif
    #endif
    """
    int32_t sum_8 "skb_sum_8"(const uint16_t* x) noexcept nogil
    void add_8 "skb_add_8"(int32_t* to, const uint16_t* x) noexcept nogil
    void add_where_8 "skb_add_where_8"(     # add the weight where x is at most `most`
        int32_t* to, const uint8_t* x, const int32_t* most, int32_t weight
    ) noexcept nogil
    int32_t squares_8 "skb_squares_8"(const int32_t* x) noexcept nogil
    int32_t squared_distance_8 "skb_squared_distance_8"(
        const int32_t* x, const int32_t* y
    ) noexcept nogil


# The same without AVX-512, for kernels that load more than they compute: large arrays
# of numpy begin 16 bytes into a cache line, and each load of 64 bytes touches two.
cdef extern from *:
    """
    #ifndef SKB_SIMD_256
    #if defined(__x86_64__) && defined(__GLIBC__) && \\
        ((defined(__clang__) && __clang_major__ >= 17) || \\
         (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12))
    #define SKB_SIMD_256 __attribute__((target_clones("arch=x86-64-v3", "default")))
    #else
    #define SKB_SIMD_256
    #endif
    #endif
    """
    ctypedef void simd_256_void "SKB_SIMD_256 void"
