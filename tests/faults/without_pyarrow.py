"""Imported first by the process that others are forked from: it loads no pyarrow.

pandas would, where it is installed. A process that is forked after that, and has no
memory left for a new thread, ends in a segmentation fault within the thread's start.
"""

import sys

sys.modules["pyarrow"] = None
