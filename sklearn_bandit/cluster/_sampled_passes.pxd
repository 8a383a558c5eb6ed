"""Layout of the sums: see ``_sampled_passes.pyx``."""

cdef enum:
    # Planes of a group: sum, second and fourth power; three more with a control
    # variate.
    MOMENTS = 3
    WITH_VARIATE = 6
