"""Rows laid out for the search: how they are centred, scaled, rotated and encoded.

Everything that is estimated (centre, steps, rotation, whether to rotate at all) comes
from a sample of the rows and decides how fast the search is, never what it finds.
"""

import numpy as np

from ._encode import METRICS, Space
from ._segment import BLOCK, N_STATS, Segment
from .calibration import calibrate
from .estimates import (
    N_SAMPLE,
    common_step,
    draw_rows,
    feature_steps,
    normalised,
    power_of_two,
)
from .head import choose_head, encode_head

# Fewer features are scanned as fast as a head and its survivors.
MIN_HEAD_FEATURES = 256
MIN_HEAD_ROWS = 4096


def make_segment(rows, metric, first, rng, n_threads, delta=0.0):
    """Encode rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), float32 or float64
        The rows, which are not copied.
    metric : str
        "euclidean", "cosine", "inner_product" or "manhattan".
    first : int
        Position of the first row.
    rng : RandomState
        Draws the sample.
    n_threads : int
        Number of threads.
    delta : float, default=0.0
        Share of neighbours that a calibrated head may miss; 0 for none.

    Returns
    -------
    Segment
        The rows with their codes.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # Rows that are too large are refused when they are encoded.
        return _make_segment(rows, metric, first, rng, n_threads, delta)


def _make_segment(rows, metric, first, rng, n_threads, delta):
    sample = draw_rows(rows, N_SAMPLE, rng)
    prepared = sample.astype(np.float64)
    if metric == "cosine":
        prepared = normalised(prepared)
    centre = prepared.mean(axis=0)
    prepared -= centre
    if metric == "manhattan":
        unit = power_of_two(np.abs(prepared).sum(axis=1).mean())
        prepared /= unit
        space = Space(metric, centre, unit, common_step(prepared))
        return _encode(rows, space, first, n_threads)
    unit = power_of_two(np.sqrt(np.einsum("ij,ij->i", prepared, prepared).mean()))
    prepared /= unit
    space = Space(metric, centre, unit, feature_steps(prepared))
    basis = None
    if (
        rows.shape[1] >= MIN_HEAD_FEATURES
        and len(rows) >= MIN_HEAD_ROWS
        and (metric != "inner_product" or delta == 0)
    ):
        basis = choose_head(rows, space, prepared, metric, delta, rng)
    segment = _encode(rows, space, first, n_threads, basis, prepared)
    if delta > 0 and segment.head is not None:
        return calibrate(segment, delta, rng, n_threads)
    return segment


def _encode(rows, space, first, n_threads, basis=None, sample=None):
    """Return the segment, with a head if there is a basis."""
    n, d = rows.shape
    n_blocks = (n + BLOCK - 1) // BLOCK
    by_row = basis is not None
    manhattan = space.metric == METRICS["manhattan"]
    multiple = BLOCK if by_row else 8 if manhattan else 4
    width = (d + multiple - 1) // multiple * multiple
    codes = np.empty(n_blocks * BLOCK * width, dtype=np.uint8)
    stats = np.empty((n_blocks, 1 if manhattan else N_STATS, BLOCK), dtype=np.float32)
    norms = np.empty(n)
    space.encode(rows, codes, stats, norms, by_row, n_threads)
    if manhattan:
        return Segment(rows, space, codes, stats, (0.0, 0.0, 0.0), None, first)
    usual = norms[norms <= 1e12]
    centre_norm = float(np.linalg.norm(space.centre_array))
    max_norm = float(usual.max(initial=0.0))
    limits = (
        float(np.abs(stats[:, 0]).max(initial=0.0)),
        max_norm,
        (float(norms.max(initial=0.0)) * space.unit + centre_norm) / space.unit,
    )
    head = None
    if by_row:
        head = encode_head(rows, space, basis, (stats, norms), sample, n_threads)
    return Segment(rows, space, codes, stats, limits, head, first)
