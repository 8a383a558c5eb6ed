"""Ctrl-C inside a kernel.

A kernel that runs without the interpreter asks from time to time whether the user wants
to stop, ends its work if so, and leaves the exception for its caller to raise.
"""

from cpython.exc cimport PyErr_CheckSignals


cdef class Interrupts:
    """What the user asked for while a kernel was running."""

    cdef bint look(self) noexcept with gil:
        """Return whether the user wants to stop."""
        if not self.seen:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.error = error
                self.seen = True
        return self.seen
