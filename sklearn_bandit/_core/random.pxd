"""Random numbers inside a kernel: splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""

from libc.stdint cimport uint32_t, uint64_t


cdef inline uint64_t random_bits(uint64_t* state) noexcept nogil:
    """The next 64 random bits."""
    cdef uint64_t z

    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline uint32_t random_below(uint64_t* state, uint32_t n) noexcept nogil:
    """An integer from 0 to n - 1; its bias, below n / 2^32, cannot be observed."""
    return <uint32_t> (((random_bits(state) >> 32) * n) >> 32)


cdef inline double random_unit(uint64_t* state) noexcept nogil:
    """A double from [0, 1)."""
    return <double> (random_bits(state) >> 11) * (1.0 / 9007199254740992.0)
