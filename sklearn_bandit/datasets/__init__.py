"""The synthetic problems of the thesis, seeded and at any size.

- ``_mips``: atoms and queries for maximum inner product search, from the friendliest to
  the worst case
- ``_song``: a song of sine waves and the notes that it is made of, for matching pursuit
"""

from ._mips import (
    make_correlated_normal_custom,
    make_normal_custom,
    make_symmetric_normal,
)
from ._song import make_simple_song

__all__ = [
    "make_correlated_normal_custom",
    "make_normal_custom",
    "make_simple_song",
    "make_symmetric_normal",
]
