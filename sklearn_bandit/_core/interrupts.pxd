"""Ctrl-C inside a kernel: see ``interrupts.pyx``."""


cdef class Interrupts:
    cdef readonly bint seen     # whether the user wants to stop
    cdef readonly object error  # what is then to be raised

    cdef bint look(self) noexcept with gil
