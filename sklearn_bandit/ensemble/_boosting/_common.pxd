"""Constants that several kernels of boosting share."""

cdef enum:
    # Rows of a task: what is computed of these stays in the first-level cache.
    TASK_ROWS = 4096
    # Rows whose lists are fetched from memory ahead of their use.
    LISTS_AHEAD = 16
