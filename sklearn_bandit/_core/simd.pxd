"""Kernels for wide vectors, and the vectors that they are made of; see ``simd.h``.

A kernel declared ``cdef simd_void kernel(...) noexcept nogil`` is compiled once for
each instruction set and resolved by the loader, so one wheel uses AVX-512 or AVX2 where
the processor has them and runs everywhere. Keep such kernels leaves: an inner function
is only compiled for the wider set if it is inlined, and a ``prange`` body never is.

A function declared ``cdef inline_void kernel(const int width, ...)`` is always inlined,
so that a call with a literal width has loops of constant length, which the C compiler
unrolls and vectorises. Inlined into a ``simd_void`` kernel, it is compiled for that
kernel's instruction sets too.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t

cdef extern from "simd.h":
    # -- functions ----
    ctypedef void simd_void "SKB_SIMD void"
    # Without AVX-512, for kernels that load more than they compute: arrays of numpy
    # begin 16 bytes into a cache line, so that each load of 64 bytes touches two.
    ctypedef void simd_256_void "SKB_SIMD_256 void"
    ctypedef void inline_void "SKB_INLINE void"
    # Pointers that are the only way to their memory. Without this promise a loop over
    # six arrays is not vectorised: there are too many pairs to check.
    ctypedef float* restrict_float "skb_restrict_float"
    ctypedef const float* restrict_const_float "skb_restrict_const_float"
    # Ask for a cache line ahead of its use. The second-level cache takes more requests
    # at a time, and what is in use is not pushed out of the first.
    void prefetch "SKB_PREFETCH"(const void* address) noexcept nogil
    void prefetch_l2 "SKB_PREFETCH_L2"(const void* address) noexcept nogil

    # -- bits and bytes ----
    int lowest_bit "skb_lowest_bit"(unsigned long long) noexcept nogil
    uint64_t top_bits_16 "skb_top_bits_16"(     # the highest bit of each of 16 bytes
        const uint8_t* x
    ) noexcept nogil
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

    # -- integers ----
    int32_t sum_8 "skb_sum_8"(const uint16_t* x) noexcept nogil
    void add_8 "skb_add_8"(int32_t* to, const uint16_t* x) noexcept nogil
    int32_t squares_8 "skb_squares_8"(const int32_t* x) noexcept nogil
    int32_t squared_distance_8 "skb_squared_distance_8"(
        const int32_t* x, const int32_t* y
    ) noexcept nogil
    void add_where_8 "skb_add_where_8"(         # add it where x is at most `most`
        uint16_t* to, const uint8_t* x, const uint8_t* most, uint16_t weight
    ) noexcept nogil
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

    # -- floats: a few as one value, which the compiler keeps in a register ----
    # Sums, differences and products go as for one float, and mix with one. A local
    # array of as many floats would stay in memory.
    enum: LANES "SKB_LANES"
    ctypedef float floats "skb_floats"
    floats no_floats "skb_no_floats"() noexcept nogil       # zero
    floats load_floats "skb_load_floats"(const float* values) noexcept nogil
    floats least "skb_least"(floats x, float most) noexcept nogil
    void add_floats "skb_add_floats"(double* to, floats x) noexcept nogil
