"""Imported first by the process that others are forked from: it finds no pyarrow.

pandas would load it, where it is installed. A process that is forked after that, and
has no memory left for a new thread, ends in a segmentation fault within its start.
"""

import sys


class NoPyarrow:
    """Refuses to find a package, as if it were not installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name=name)


sys.meta_path.insert(0, NoPyarrow)
