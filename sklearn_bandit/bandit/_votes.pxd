"""When a vote is decided: see ``_votes.pyx``."""

cpdef double margin_bound(
    double leader, double runner_up, double n_used, double n_total, double quantile
) noexcept nogil
