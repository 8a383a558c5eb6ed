"""Shapes and metrics that all kernels of distances share."""

cdef enum:
    # Arms in a tile: a block of 512 x 512 keeps BLAS near its peak (100 references, the
    # thesis's batch, reach two thirds of it) and one reference's row is 2 KB.
    TILE = 512

cdef enum Metric:
    SQEUCLIDEAN = 0
    EUCLIDEAN = 1
    COSINE = 2
    MANHATTAN = 3
