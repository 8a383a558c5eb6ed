"""When a vote is decided: see ``_votes.pyx``."""


cdef inline bint is_decided(
    double leader, double runner_up, double n_left, double threshold
) noexcept nogil:
    """Whether the leader's lead over the runner-up is beyond chance, or certain."""
    cdef double lead = leader - runner_up

    return (lead > n_left) | (lead * lead > threshold * (leader + runner_up))
