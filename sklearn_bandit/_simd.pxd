"""Run-time dispatch for kernels that gain from wide vectors.

A kernel declared ``cdef simd_void kernel(...) noexcept nogil`` is compiled once for
each instruction set below and resolved by the loader, so one wheel uses AVX-512 or AVX2
where the processor has them and runs everywhere. Keep such kernels leaves: an inner
function is only compiled for the wider set if it is inlined, and a ``prange`` body
never is. ``prefetch`` asks for a cache line ahead of its use.
"""

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
