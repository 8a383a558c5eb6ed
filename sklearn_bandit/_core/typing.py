"""Types of what the public functions and methods take."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import spmatrix

try:
    from scipy.sparse import sparray
except ImportError:  # scipy 1.10
    sparray = spmatrix

# Anything that check_array reads: arrays, lists of rows, data frames, sparse matrices.
MatrixLike: TypeAlias = ArrayLike | sparray | spmatrix
RandomState: TypeAlias = int | np.random.RandomState | None
