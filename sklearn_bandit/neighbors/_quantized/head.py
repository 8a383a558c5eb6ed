"""The head of rows: what a rotation puts first, in codes of its own, and what is left.

Where few directions hold most of the variance, bounds from these drop most rows before
the codes of all features are read.
"""

from dataclasses import dataclass

import numpy as np

from ._encode import METRICS, Space
from ._segment import BLOCK, N_STATS
from .estimates import draw_rows, feature_steps, normalised

COSINE = METRICS["cosine"]

# A head has this number of features; twice as many above WIDE features.
HEAD_WIDTH = 64
WIDE = 1536
# Rows that are searched for to see whether a head would pay, among how many rows, and
# the neighbour that sets the threshold.
N_TRIALS = 16
N_TRIAL_ROWS = 8192
N_TRIAL_NEIGHBOURS = 10
# A code of a survivor is taken to cost as much as two that are scanned, and a survivor
# as much as `SURVIVOR_COST` more codes: it is somewhere in memory. These are estimates
# and were not swept: sets are far from the limit. A head must cost a quarter of a scan
# by this count. With images it is a tenth, with vectors like embeddings there is no
# gain ("neighbors.single" of the benchmarks).
SURVIVOR_FACTOR = 2
SURVIVOR_COST = 128
LEAST_GAIN = 4

# Rows that are rotated at a time.
CHUNK_ROWS = 2048


@dataclass(frozen=True)
class Head:
    """Codes of rotated rows.

    Parameters
    ----------
    codes, stats : ndarray
        What `Space.encode` wrote of the rotated rows.
    tails : ndarray of float32 of shape (n_rows,)
        Norms of what the head leaves out.
    basis : ndarray of float32 of shape (width, n_features)
        The directions, one a row.
    steps : ndarray of shape (width,)
        Step of each direction.
    error : float
        As for `Rotation`.
    ratio : float
        Largest share of a squared distance that a calibrated head holds; 0 if it is
        not calibrated, and its bounds are certain.
    """

    codes: np.ndarray
    stats: np.ndarray
    tails: np.ndarray
    basis: np.ndarray
    steps: np.ndarray
    error: float
    ratio: float = 0.0

    @property
    def nbytes(self):
        """Memory of the arrays."""
        arrays = (self.codes, self.stats, self.tails, self.basis, self.steps)
        return sum(array.nbytes for array in arrays)


def _rotation(sample, width, rng):
    """Return orthonormal directions of large variance, one a row, in single precision.

    A randomised singular value decomposition: two rounds suffice to find most of the
    variance, and any directions would be right.
    """
    sample = sample.astype(np.float32)
    width = min(width, min(sample.shape) // 4 * 4)
    directions = rng.standard_normal((sample.shape[1], min(width + 10, *sample.shape)))
    directions = directions.astype(np.float32)
    for _ in range(2):
        directions = np.linalg.qr(sample.T @ (sample @ directions))[0]
    inside = sample @ directions
    order = np.linalg.eigh((inside.T @ inside).astype(np.float64))[1][:, ::-1]
    # Orthonormal in double precision before it is rounded.
    directions = np.linalg.qr(directions.astype(np.float64) @ order[:, :width])[0].T
    return np.ascontiguousarray(directions, dtype=np.float32)


def in_units(rows, space):
    """Return centred rows in units, in single precision."""
    factors = _factors(rows, space)
    if factors is not None:
        rows = rows * factors.astype(np.float32)
        rows -= space.centre_array.astype(np.float32)
        rows *= np.float32(1.0 / space.unit)
        return rows
    rows = rows.astype(np.float64)
    if space.metric == COSINE:
        rows = normalised(rows)
    rows -= space.centre_array
    rows /= space.unit
    return rows.astype(np.float32)


# In units: more than what products that single precision cannot hold would add up to,
# over the error of a rotation.
LOST = 1e-12


def _is_usual(size):
    """Return whether squares of such numbers are far from the limits of floats."""
    return 1e-15 < size < 1e15


def _factors(rows, space):
    """Return what rows are multiplied by before they are centred, 1 or a column.

    None if single precision might not hold the rows times it, in units.
    """
    if rows.dtype != np.float32 or not _is_usual(space.unit):
        return None
    if space.metric != COSINE:
        return np.float64(1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    least, most = norms[norms > 0].min(initial=1.0), norms.max(initial=1.0)
    # The squares of a row may all be lost, and it is not zero.
    is_zero = norms == 0
    is_lost = is_zero.any() and rows[is_zero].any()
    if is_lost or not (_is_usual(least) and _is_usual(most)):
        return None
    return 1.0 / np.where(norms > 0, norms, 1.0)[:, None].astype(np.float64)


class Rotation:
    """The part of rows that a head keeps.

    Notation: a centred row x in units, a query y, the directions B (h of them, as they
    are in single precision), w the rotated row that is kept for Bx, ``G = BB' - I``, P
    the projection onto the span of B, and Q = I - P. Norms of matrices are the spectral
    ones, of which ``|G|`` is at most Frobenius's. What a head claims is

        y.x <= By.w + 2 E R |y| + T(y) T(x),

    where E is `error`, R is `reach`, and T are the tails. ``E = 1.1 (g + p)``, with
    ``g >= |G|`` and ``p = sqrt(h) (2 d + 8) 2**-24``. The argument:

    1. ``B = (I + G)**.5 V``, where the rows of V are orthonormal and ``P = V'V``. Hence
       ``I - B'B = Q - V'GV``, and ``y.x = By.Bx + Qy.Qx - (Vy)'G(Vx)``, of which the
       last term is at most ``g |y| |x|``.
    2. ``|Bx|**2`` is within ``g |x|**2`` of ``|Px|**2``, so that ``|Qx|**2`` is at most
       ``|x|**2 - |Bx|**2 + g |x|**2``. For y this is T(y): the code has E for g.
    3. Let ``|w - Bx| <= p R``. Then ``|Bx|**2 >= |w|**2 - 2 p R |w|``, where ``|w|`` is
       at most ``(1 + g / 2) |x| + p R``. So ``|Qx|**2 <= |x|**2 - |w|**2 + 4 E R**2``,
       which is T(x).
    4. ``By.(Bx - w) <= (1 + g / 2) |y| p R``. With the term of 1 that is less than
       ``E R |y|``. As much again is left for the residual e of the codes of w, at most
       ``|w| <= 2 R``: it meets ``|By| <= (1 + g / 2) |y|`` but has the factor ``|y|``.
    5. ``|w - Bx| <= p R``: rows v are multiplied as they are, and centred afterwards. A
       sum of d products in single precision, in any order, is off by ``d 2**-24 |v|``
       (and its square, as ``d 2**-24`` is below .004), h of them by sqrt(h) as much;
       the norm in single precision, under "cosine", by ``(d / 2 + 2) 2**-24 |v|`` in
       all; rounding by ``2**-24 |w|``. In units ``|v| <= |x| + |centre|``, so that R is
       ``|x|`` plus twice the norm of the centre, and `LOST` for underflow: under
       "cosine" that is relative to ``|v|``, which is not lost, else a product loses
       2**-126 at most, over a unit of at least 1e-15. Rows that are not usual are
       centred in double precision first: off by ``(d sqrt(h) + 2) 2**-24 |x|``.

    Errors of double precision (norms, By) are below ``d 2**-50``, a small part of the
    tenth by which E is larger. A w that is not a number has an infinite residual, and
    must have a tail that is a number or infinite.
    """

    def __init__(self, basis, space, n_features):
        self.basis = basis
        self.space = space
        exact = basis.astype(np.float64)
        gram = np.linalg.norm(exact @ exact.T - np.eye(len(exact))) + 1e-10
        roundings = np.sqrt(len(exact)) * (2 * n_features + 8) * 2.0**-24
        self.error = 1.1 * float(gram + roundings)
        self.centre = (exact @ space.centre_array) / space.unit
        self.centre_norm = float(np.linalg.norm(space.centre_array)) / space.unit

    def __call__(self, rows):
        """Return the rotated rows."""
        space = self.space
        factors = _factors(rows, space)
        if factors is None:
            return np.ascontiguousarray(in_units(rows, space) @ self.basis.T)
        rotated = (rows @ self.basis.T) * (factors / space.unit) - self.centre
        return np.ascontiguousarray(rotated, dtype=np.float32)

    def reach(self, norms):
        """Return what errors of rows with these norms are relative to."""
        return norms + 2.0 * self.centre_norm + LOST


def choose_head(rows, space, sample, metric, delta, rng):
    """Return the rotation of a head, or None where it would not pay.

    Some rows are searched for: their neighbours are computed, and it is counted how
    many rows of the sample the head could not rule out.
    """
    d = rows.shape[1]
    basis = _rotation(sample, 2 * HEAD_WIDTH if d > WIDE else HEAD_WIDTH, rng)
    if len(basis) < 4:
        return None
    if delta > 0:
        return basis
    queries = in_units(draw_rows(rows, N_TRIALS, rng), space).astype(np.float64)
    keys = _trial_keys(rows, space, queries, rng)
    heads, sample_heads = queries @ basis.T, sample @ basis.T
    squares = np.einsum("ij,ij->i", sample, sample)
    tails = np.sqrt(
        np.maximum(squares - np.einsum("ij,ij->i", sample_heads, sample_heads), 0)
    )
    own = np.einsum("ij,ij->i", queries, queries)
    own_tails = np.sqrt(np.maximum(own - np.einsum("ij,ij->i", heads, heads), 0))
    bounds = heads @ sample_heads.T + np.outer(own_tails, tails)
    if metric == "inner_product":
        thresholds = keys
    else:
        bounds -= 0.5 * squares
        thresholds = 0.5 * (own - keys)
    survivors = float((bounds >= thresholds[:, None]).mean())
    cost = len(basis) + survivors * SURVIVOR_FACTOR * (d + SURVIVOR_COST)
    return basis if LEAST_GAIN * cost < d else None


def _trial_keys(rows, space, queries, rng):
    """Return each query's k-th squared distance (or inner product), about right.

    Among part of the rows, a neighbour of as much lower a rank is as far away.
    """
    is_product = space.metric == METRICS["inner_product"]
    some = in_units(draw_rows(rows, N_TRIAL_ROWS, rng), space)
    scores = queries.astype(np.float32) @ some.T
    if not is_product:
        scores -= 0.5 * np.einsum("ij,ij->i", some, some)
    k = -(-(N_TRIAL_NEIGHBOURS + 1) * len(some) // len(rows))
    best = np.partition(scores, -k, axis=1)[:, -k].astype(np.float64)
    if is_product:
        return best
    return np.einsum("ij,ij->i", queries, queries) - 2.0 * best


def encode_head(rows, space, basis, encoded, sample, n_threads):
    """Return the head: codes of rotated rows, and norms of what they leave out."""
    stats, norms = encoded
    n, d = rows.shape
    width = len(basis)
    rotation = Rotation(basis, space, d)
    error = rotation.error
    steps = feature_steps(sample @ basis.T.astype(float))
    head_space = Space("inner_product", np.zeros(width), 1.0, steps)
    n_blocks = len(stats)
    codes = np.empty(n_blocks * BLOCK * width, dtype=np.uint8)
    head_stats = np.empty((n_blocks, N_STATS, BLOCK), dtype=np.float32)
    tails = np.zeros(n_blocks * BLOCK, dtype=np.float32)
    unused = np.empty(CHUNK_ROWS)
    for start in range(0, n, CHUNK_ROWS):
        rotated = rotation(rows[start : start + CHUNK_ROWS])
        m = len(rotated)
        first, last = start // BLOCK, (start + m + BLOCK - 1) // BLOCK
        part = codes[first * BLOCK * width : last * BLOCK * width]
        head_space.encode(
            rotated, part, head_stats[first:last], unused, False, n_threads
        )
        own = norms[start : start + m]
        exact = rotated.astype(np.float64)
        rest = own * own - np.einsum("ij,ij->i", exact, exact)
        rest += 4.0 * error * rotation.reach(own) ** 2
        # What is not a number would reach no threshold.
        rest[np.isnan(rest)] = np.inf
        tails[start : start + m] = np.sqrt(np.maximum(rest, 0.0)) * (1 + 1e-6)
    lanes = np.zeros(n_blocks * BLOCK)
    lanes[:n] = norms
    usual = lanes <= 1e12
    head_stats[:, 0] = stats[:, 0]
    residuals = head_stats[:, 2] + (2.0 * error * rotation.reach(lanes)).reshape(
        n_blocks, BLOCK
    )
    head_stats[:, 2] = residuals * (1 + 1e-6)
    head_stats[:, 2][~usual.reshape(n_blocks, BLOCK)] = np.inf
    tails[~usual] = 0.0
    return Head(codes, head_stats, tails, basis, steps, error)
