"""Memory that BLAS takes for itself: see ``blas_buffers.pyx``."""

# Before and after a loop of products in several threads.
cdef int reserve_buffers(int n_threads) except -1
cdef void release_buffers(int n_threads) noexcept

# Before and after a product: the second gets what the first returns.
cdef long begin_product() noexcept nogil
cdef void end_product(long n_begun) noexcept nogil
