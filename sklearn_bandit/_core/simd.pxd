"""Run-time dispatch for kernels that gain from wide vectors.

A kernel declared ``cdef simd_void kernel(...) noexcept nogil`` is compiled once for
each instruction set below and resolved by the loader, so one wheel uses AVX-512 or AVX2
where the processor has them and runs everywhere. Keep such kernels leaves: an inner
function is only compiled for the wider set if it is inlined, and a ``prange`` body
never is.

Loops of eight are unrolled by compilers before they are vectorised, and then they are
not: sums over eight integers are written out below, to be inlined into such kernels.
``prefetch`` asks for a cache line ahead of its use; ``prefetch_l2`` has it come to the
second-level cache only, which takes more requests at a time.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t

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
    #define SKB_PREFETCH_L2(address) __builtin_prefetch(address, 0, 2)
    #else
    #define SKB_PREFETCH(address) ((void) (address))
    #define SKB_PREFETCH_L2(address) ((void) (address))
    #endif
    #endif
    """
    ctypedef void simd_void "SKB_SIMD void"
    void prefetch "SKB_PREFETCH" (const void* address) noexcept nogil
    void prefetch_l2 "SKB_PREFETCH_L2" (const void* address) noexcept nogil


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
    int32_t squares_8 "skb_squares_8"(const int32_t* x) noexcept nogil
    int32_t squared_distance_8 "skb_squared_distance_8"(
        const int32_t* x, const int32_t* y
    ) noexcept nogil


# Bytes of several rows that are compared at once; the sums stay in registers.
cdef extern from *:
    """
    #ifndef SKB_LINES
    #define SKB_LINES
    #include <stdint.h>
    #include <string.h>
    #if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    typedef uint64_t skb_line_64 __attribute__((vector_size(64)));
    typedef uint64_t skb_line_16 __attribute__((vector_size(16)));
    #define SKB_NOTE_DIFFERENCE(SIZE) \
    SKB_INLINED void skb_note_difference_##SIZE( \
        skb_line_##SIZE* noted, const void* x, const void* y) \
    { \
        skb_line_##SIZE a, b; \
        memcpy(&a, x, SIZE); \
        memcpy(&b, y, SIZE); \
        *noted |= a ^ b; \
    }
    #else
    typedef struct { uint64_t words[8]; } skb_line_64;
    typedef struct { uint64_t words[2]; } skb_line_16;
    #define SKB_NOTE_DIFFERENCE(SIZE) \
    static void skb_note_difference_##SIZE( \
        skb_line_##SIZE* noted, const void* x, const void* y) \
    { \
        uint64_t a[SIZE / 8], b[SIZE / 8]; \
        memcpy(a, x, SIZE); \
        memcpy(b, y, SIZE); \
        for (int i = 0; i < SIZE / 8; i++) noted->words[i] |= a[i] ^ b[i]; \
    }
    #endif
    SKB_NOTE_DIFFERENCE(64)
    SKB_NOTE_DIFFERENCE(16)
    #endif
    """
    ctypedef struct line_64 "skb_line_64":
        pass
    ctypedef struct line_16 "skb_line_16":
        pass
    void note_difference_64 "skb_note_difference_64"(   # set the bits that differ
        line_64* noted, const void* x, const void* y
    ) noexcept nogil
    void note_difference_16 "skb_note_difference_16"(
        line_16* noted, const void* x, const void* y
    ) noexcept nogil


# Products of short integers, summed: what a scan of class counts is made of.
cdef extern from *:
    """
    #ifndef SKB_PRODUCTS
    #define SKB_PRODUCTS
    #include <stdint.h>
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    typedef __m128i skb_eight;
    typedef __m128i skb_four;
    #define skb_load_eight(x) _mm_loadu_si128((const __m128i*) (x))
    #define skb_store_eight(to, x) _mm_storeu_si128((__m128i*) (to), x)
    #define skb_add_eight(x, y) _mm_add_epi16(x, y)
    #define skb_multiply(x, y) _mm_madd_epi16(x, y)
    #define skb_add_four(x, y) _mm_add_epi32(x, y)
    #define skb_store_four(to, x) _mm_storeu_si128((__m128i*) (to), x)
    static inline __m128i skb_sum_three(__m128i a, __m128i b, __m128i c)
    {
        __m128i zero = _mm_setzero_si128();
        __m128i ab = _mm_add_epi32(
            _mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        __m128i c0 = _mm_add_epi32(
            _mm_unpacklo_epi32(c, zero), _mm_unpackhi_epi32(c, zero));
        return _mm_add_epi32(
            _mm_unpacklo_epi64(ab, c0), _mm_unpackhi_epi64(ab, c0));
    }
    #else
    typedef struct { int16_t x[8]; } skb_eight;
    typedef struct { int32_t x[4]; } skb_four;
    static inline skb_eight skb_load_eight(const void* x)
    { skb_eight r; memcpy(&r, x, 16); return r; }
    static inline void skb_store_eight(void* to, skb_eight x) { memcpy(to, &x, 16); }
    static inline skb_eight skb_add_eight(skb_eight x, skb_eight y)
    { for (int i = 0; i < 8; i++) x.x[i] += y.x[i]; return x; }
    static inline skb_four skb_multiply(skb_eight x, skb_eight y)
    {
        skb_four r;
        for (int i = 0; i < 4; i++)
            r.x[i] = x.x[2 * i] * y.x[2 * i] + x.x[2 * i + 1] * y.x[2 * i + 1];
        return r;
    }
    static inline skb_four skb_add_four(skb_four x, skb_four y)
    { for (int i = 0; i < 4; i++) x.x[i] += y.x[i]; return x; }
    static inline void skb_store_four(void* to, skb_four x) { memcpy(to, &x, 16); }
    static inline skb_four skb_sum_three(skb_four a, skb_four b, skb_four c)
    {
        skb_four r = {{0, 0, 0, 0}};
        for (int i = 0; i < 4; i++)
        { r.x[0] += a.x[i]; r.x[1] += b.x[i]; r.x[2] += c.x[i]; }
        return r;
    }
    #endif
    #endif
    """
    ctypedef struct eight_t "skb_eight":        # eight 16-bit integers
        pass
    ctypedef struct four_t "skb_four":          # four 32-bit integers
        pass
    eight_t load_eight "skb_load_eight"(const void* x) noexcept nogil
    void store_eight "skb_store_eight"(void* to, eight_t x) noexcept nogil
    eight_t add_eight "skb_add_eight"(eight_t x, eight_t y) noexcept nogil
    four_t multiply "skb_multiply"(             # products, added in pairs
        eight_t x, eight_t y
    ) noexcept nogil
    four_t add_four "skb_add_four"(four_t x, four_t y) noexcept nogil
    void store_four "skb_store_four"(void* to, four_t x) noexcept nogil
    four_t sum_three "skb_sum_three"(           # the sums of a, of b and of c, and 0
        four_t a, four_t b, four_t c
    ) noexcept nogil


# Masks of bytes.
cdef extern from *:
    """
    #ifndef SKB_MASKS
    #define SKB_MASKS
    #include <stdint.h>
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline uint64_t skb_top_bits_16(const uint8_t* x)
    { return (uint64_t) _mm_movemask_epi8(_mm_loadu_si128((const __m128i*) x)); }
    #else
    static inline uint64_t skb_top_bits_16(const uint8_t* x)
    {
        uint64_t bits = 0;
        for (int i = 0; i < 16; i++) bits |= (uint64_t) (x[i] >> 7) << i;
        return bits;
    }
    #endif
    #endif
    """
    uint64_t top_bits_16 "skb_top_bits_16"(     # the highest bit of each of 16 bytes
        const uint8_t* x
    ) noexcept nogil


# Eight bytes compared with eight, and a weight added where they are not larger.
cdef extern from *:
    """
    #ifndef SKB_WHERE
    #define SKB_WHERE
    #include <stdint.h>
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline void skb_add_where_8(
        uint16_t* to, const uint8_t* x, const uint8_t* most, uint16_t weight)
    {
        __m128i b = _mm_loadl_epi64((const __m128i*) x);
        __m128i m = _mm_loadl_epi64((const __m128i*) most);
        m = _mm_cmpeq_epi8(_mm_min_epu8(b, m), b);
        m = _mm_and_si128(_mm_unpacklo_epi8(m, m), _mm_set1_epi16((short) weight));
        m = _mm_add_epi16(m, _mm_loadu_si128((const __m128i*) to));
        _mm_storeu_si128((__m128i*) to, m);
    }
    #else
    static inline void skb_add_where_8(
        uint16_t* to, const uint8_t* x, const uint8_t* most, uint16_t weight)
    { for (int i = 0; i < 8; i++) to[i] += x[i] <= most[i] ? weight : 0; }
    #endif
    #endif
    """
    void add_where_8 "skb_add_where_8"(         # add it where x is at most `most`
        uint16_t* to, const uint8_t* x, const uint8_t* most, uint16_t weight
    ) noexcept nogil


# `simd_void` without AVX-512, for kernels that load more than they compute: arrays of
# numpy begin 16 bytes into a cache line, so that each load of 64 bytes touches two.
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


# One byte compared with many, and weights summed where it is reached.
cdef extern from *:
    """
    #ifndef SKB_REACHED
    #define SKB_REACHED
    #include <stdint.h>
    #if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    #define SKB_ADD_REACHED(SIZE) \
    typedef uint8_t skb_bytes_##SIZE __attribute__((vector_size(SIZE))); \
    SKB_INLINED void skb_add_reached_##SIZE( \
        skb_bytes_##SIZE* sum, const skb_bytes_##SIZE* x, uint8_t least, uint8_t w) \
    { *sum += (skb_bytes_##SIZE) (*x >= least) & w; }
    #else
    #define SKB_ADD_REACHED(SIZE) \
    typedef struct { uint8_t x[SIZE]; } skb_bytes_##SIZE; \
    static void skb_add_reached_##SIZE( \
        skb_bytes_##SIZE* sum, const skb_bytes_##SIZE* x, uint8_t least, uint8_t w) \
    { for (int i = 0; i < SIZE; i++) sum->x[i] += x->x[i] >= least ? w : 0; }
    #endif
    SKB_ADD_REACHED(16)
    SKB_ADD_REACHED(32)
    SKB_ADD_REACHED(64)
    #endif
    """
    ctypedef struct bytes_16 "skb_bytes_16":
        pass
    ctypedef struct bytes_32 "skb_bytes_32":
        pass
    ctypedef struct bytes_64 "skb_bytes_64":
        pass
    void add_reached_16 "skb_add_reached_16"(       # add w where x is at least `least`
        bytes_16* sum, const bytes_16* x, uint8_t least, uint8_t w
    ) noexcept nogil
    void add_reached_32 "skb_add_reached_32"(
        bytes_32* sum, const bytes_32* x, uint8_t least, uint8_t w
    ) noexcept nogil
    void add_reached_64 "skb_add_reached_64"(
        bytes_64* sum, const bytes_64* x, uint8_t least, uint8_t w
    ) noexcept nogil
