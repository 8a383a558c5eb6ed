/* Vectors: what a compiler and a processor have, under names that always exist.

   What each platform gets:

   platform                              kernels (SKB_SIMD)     vectors    integers
   ------------------------------------  ---------------------  ---------  --------
   x86-64, glibc, GCC 12+ or Clang 17+   AVX-512, AVX2, SSE2,   compiler   SSE2
                                         chosen by the loader
   x86-64, other GCC 12+ or any Clang    SSE2                   compiler   SSE2
   (macOS, musl)
   x86-64, MSVC or older GCC             SSE2                   loops      SSE2
   arm64, GCC 12+ or Clang               NEON                   compiler   loops
   anything else                         what it compiles to    loops      loops

   "Vectors" are types with operators of their own (vector_size), "integers" the few
   intrinsics that no operator stands for. Beside each stands a loop with the same
   result. Only `SKB_SIMD` and `SKB_SIMD_256` are decided at run time; a kernel that
   needs more (tree/_criteria/mean_small_nodes.h) asks the processor itself. */

#ifndef SKLEARN_BANDIT_SIMD_H
#define SKLEARN_BANDIT_SIMD_H

#include <stdint.h>
#include <string.h>
#if defined(__linux__)
#include <features.h>       /* __GLIBC__ */
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && \
    ((defined(__clang__) && __clang_major__ >= 17) || \
     (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12))
#define SKB_HAS_CLONES
#endif
#if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
#define SKB_HAS_VECTORS
#endif
#if defined(__SSE2__) || defined(_M_X64)
#define SKB_HAS_SSE2
#include <emmintrin.h>
#endif

/* -- functions --------------------------------------------------------------------- */

#if defined(SKB_HAS_CLONES)
#define SKB_SIMD __attribute__((target_clones( \
    "arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define SKB_SIMD_256 __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SKB_SIMD
#define SKB_SIMD_256
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SKB_INLINE __attribute__((always_inline)) inline
#define SKB_RESTRICT __restrict__
#define SKB_PREFETCH(address) __builtin_prefetch(address)
#define SKB_PREFETCH_L2(address) __builtin_prefetch(address, 0, 2)
#define skb_lowest_bit(x) __builtin_ctzll(x)
/* Everything is inlined: how a vector would be passed does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"
#elif defined(_MSC_VER)
#include <intrin.h>
#define SKB_INLINE __forceinline
#define SKB_RESTRICT __restrict
#define SKB_PREFETCH(address) ((void) (address))
#define SKB_PREFETCH_L2(address) ((void) (address))
static __forceinline int skb_lowest_bit(unsigned __int64 x)
{ unsigned long i; _BitScanForward64(&i, x); return (int) i; }
#endif

#if defined(SKB_HAS_VECTORS)
#define SKB_INLINED static inline __attribute__((always_inline))
#else
#define SKB_INLINED static
#endif

typedef float* SKB_RESTRICT skb_restrict_float;
typedef const float* SKB_RESTRICT skb_restrict_const_float;

/* -- sums over eight integers: loops of eight are unrolled, and then not vectorised -- */

#if defined(SKB_HAS_VECTORS)
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
SKB_INLINED int32_t skb_sum_8(const uint16_t* x)
{ int32_t s = 0; for (int i = 0; i < 8; i++) s += x[i]; return s; }
SKB_INLINED void skb_add_8(int32_t* to, const uint16_t* x)
{ for (int i = 0; i < 8; i++) to[i] += x[i]; }
SKB_INLINED int32_t skb_squares_8(const int32_t* x)
{ int32_t s = 0; for (int i = 0; i < 8; i++) s += x[i] * x[i]; return s; }
SKB_INLINED int32_t skb_squared_distance_8(const int32_t* x, const int32_t* y)
{
    int32_t s = 0;
    for (int i = 0; i < 8; i++) s += (x[i] - y[i]) * (x[i] - y[i]);
    return s;
}
#endif

/* -- bytes of several rows that are compared; the result stays in registers --------- */

#if defined(SKB_HAS_VECTORS)
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
SKB_INLINED void skb_note_difference_##SIZE( \
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

/* -- one byte compared with many, and weights summed where it is reached ------------ */

#if defined(SKB_HAS_VECTORS)
#define SKB_ADD_REACHED(SIZE) \
typedef uint8_t skb_bytes_##SIZE __attribute__((vector_size(SIZE))); \
SKB_INLINED void skb_add_reached_##SIZE( \
    skb_bytes_##SIZE* sum, const skb_bytes_##SIZE* x, uint8_t least, uint8_t w) \
{ *sum += (skb_bytes_##SIZE) (*x >= least) & w; }
#else
#define SKB_ADD_REACHED(SIZE) \
typedef struct { uint8_t x[SIZE]; } skb_bytes_##SIZE; \
SKB_INLINED void skb_add_reached_##SIZE( \
    skb_bytes_##SIZE* sum, const skb_bytes_##SIZE* x, uint8_t least, uint8_t w) \
{ for (int i = 0; i < SIZE; i++) sum->x[i] += x->x[i] >= least ? w : 0; }
#endif
SKB_ADD_REACHED(16)
SKB_ADD_REACHED(32)
SKB_ADD_REACHED(64)

/* -- products of short integers, summed: what a scan of class counts is made of ----- */

#if defined(SKB_HAS_SSE2)
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

/* -- masks of bytes, and a weight added where bytes are not larger than others ------ */

#if defined(SKB_HAS_SSE2)
static inline uint64_t skb_top_bits_16(const uint8_t* x)
{ return (uint64_t) _mm_movemask_epi8(_mm_loadu_si128((const __m128i*) x)); }
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
static inline uint64_t skb_top_bits_16(const uint8_t* x)
{
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++) bits |= (uint64_t) (x[i] >> 7) << i;
    return bits;
}
static inline void skb_add_where_8(
    uint16_t* to, const uint8_t* x, const uint8_t* most, uint16_t weight)
{ for (int i = 0; i < 8; i++) to[i] += x[i] <= most[i] ? weight : 0; }
#endif

/* -- a few floats as one value: the width of AVX2 and half of AVX-512 --------------- */

#if defined(SKB_HAS_VECTORS)
#define SKB_LANES 8
typedef float skb_floats __attribute__((vector_size(32)));
SKB_INLINED skb_floats skb_least(skb_floats x, float most)
{
    for (int i = 0; i < SKB_LANES; i++) x[i] = x[i] < most ? x[i] : most;
    return x;
}
SKB_INLINED void skb_add_floats(double* to, skb_floats x)
{ for (int i = 0; i < SKB_LANES; i++) to[i] += x[i]; }
#else
#define SKB_LANES 1
typedef float skb_floats;
SKB_INLINED skb_floats skb_least(skb_floats x, float most)
{ return x < most ? x : most; }
SKB_INLINED void skb_add_floats(double* to, skb_floats x)
{ *to += x; }
#endif
SKB_INLINED skb_floats skb_load_floats(const float* from)
{ skb_floats x; memcpy(&x, from, sizeof(x)); return x; }
SKB_INLINED skb_floats skb_no_floats(void)
{ skb_floats x; memset(&x, 0, sizeof(x)); return x; }

#endif
