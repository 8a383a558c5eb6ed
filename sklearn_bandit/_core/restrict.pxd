"""Pointers that the compiler may take to be the only way to their memory.

Without the promise a loop over six arrays is not vectorised: too many pairs to check.
"""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define SKB_RESTRICT __restrict
    #else
    #define SKB_RESTRICT __restrict__
    #endif
    typedef float* SKB_RESTRICT skb_restrict_float;
    typedef const float* SKB_RESTRICT skb_restrict_const_float;
    """
    ctypedef float* restrict_float "skb_restrict_float"
    ctypedef const float* restrict_const_float "skb_restrict_const_float"
