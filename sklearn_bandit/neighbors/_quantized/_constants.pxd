"""Constants of the search in bytes: see ``constants.h``."""

cdef extern from "constants.h":
    enum:
        SKB_BLOCK
        SKB_GROUP
        SKB_BYTE_OFFSET
        SKB_HIGH_STEP
    const double ROUNDINGS "SKB_ROUNDINGS"
    const double MOST "SKB_MOST"
    const double MOST_SQUARES "SKB_MOST_SQUARES"
    const double LEAST_SQUARES "SKB_LEAST_SQUARES"
    const double LARGE "SKB_LARGE"
    const double LEAST_FACTOR "SKB_LEAST_FACTOR"
    double enlarge "skb_enlarge"(double value) noexcept nogil
