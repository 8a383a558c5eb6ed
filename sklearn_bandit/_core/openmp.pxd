"""The few OpenMP functions that kernels need, with a serial fall-back."""

cdef extern from "openmp.h":
    int max_threads "skb_max_threads"() noexcept nogil
    int thread_num "skb_thread_num"() noexcept nogil
