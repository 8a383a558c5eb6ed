"""The few OpenMP functions that kernels need, with a serial fall-back."""

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define skb_max_threads omp_get_max_threads
    #define skb_thread_num omp_get_thread_num
    #else
    static inline int skb_max_threads(void) { return 1; }
    static inline int skb_thread_num(void) { return 0; }
    #endif
    """
    int max_threads "skb_max_threads"() noexcept nogil
    int thread_num "skb_thread_num"() noexcept nogil
