"""Values that a sample missed: see ``missed_values.pyx``."""

from libc.stdint cimport int32_t


cdef class MissedValues:
    cdef float[:, :, ::1] values    # of each thread and feature
    cdef int32_t[:, ::1] counts     # one more than there is room for: too many

    cdef void note(
        self,
        int thread,
        Py_ssize_t feature,
        float value,
        Py_ssize_t room,            # values there is room for
    ) noexcept nogil
