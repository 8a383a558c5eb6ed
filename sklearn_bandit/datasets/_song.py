"""A song made of sine waves, for matching pursuit.

References
----------
.. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
   PhD thesis, Stanford University (2023), appendix to chapter 4.
"""

from numbers import Integral, Real

import numpy as np
from numpy.typing import DTypeLike

from .._compat import Interval, validate_params
from .._core.typing import RandomState

# The thesis's table of notes, in hertz.
THESIS_NOTES = {"C4": 256, "E4": 330, "G4": 392, "C5": 512, "E5": 660, "G5": 784}

# The chords of the A and B intervals, with the thesis's weights 1:2:3:3:2.5:1.5.
CHORDS = (
    {"C4": 1.0, "E4": 2.0, "G4": 3.0},
    {"G4": 3.0, "C5": 2.5, "E5": 1.5},
)

_PITCHES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
_A4 = 69  # its number on a MIDI keyboard


@validate_params(
    {
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "interval": [Interval(Real, 0, None, closed="neither")],
        "n_notes": [Interval(Integral, len(THESIS_NOTES), 88, closed="both")],
        "sample_rate": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "dtype": "no_validation",
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_simple_song(
    n_repeats: int = 1,
    *,
    interval: float = 60.0,
    n_notes: int = 48,
    sample_rate: int = 44_100,
    noise: float = 0.0,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate SimpleSong: two alternating chords, and the notes to find in them.

    An A interval plays the chord C4-E4-G4 with weights 1:2:3, a B interval plays
    G4-C5-E5 with weights 3:2.5:1.5; A and B are repeated [1]_. The atoms are sine
    waves: the six notes of the thesis's table and as many others of the keyboard as
    asked for. Matching pursuit finds the notes in the order of their strength over the
    whole song: G4, C5, E4, E5, C4.

    Parameters
    ----------
    n_repeats : int, default=1
        How often A and B are played.
    interval : float, default=60.0
        Length of an interval in seconds; the song takes ``2 * n_repeats * interval``.
    n_notes : int, default=48
        Number of notes, from 6 to 88.
    sample_rate : int, default=44_100
        Samples per second.
    noise : float, default=0.0
        Standard deviation of normal noise added to the song.
    dtype : dtype, default=np.float32
        Floating point type of what is returned.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, n_notes)
        The atoms, one note a column (in column-major order: each note is contiguous).
    y : ndarray of shape (n_samples,)
        The song.
    notes : ndarray of shape (n_notes,)
        The names of the notes.

    References
    ----------
    .. [1] M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
       PhD thesis, Stanford University (2023), appendix to chapter 4.

    Examples
    --------
    >>> from sklearn_bandit.datasets import make_simple_song
    >>> X, y, notes = make_simple_song(interval=0.5, n_notes=12)
    >>> X.shape, y.shape
    ((44100, 12), (44100,))
    """
    frequencies = _keyboard(n_notes)
    n_interval = max(round(interval * sample_rate), 1)
    n_samples = 2 * n_repeats * n_interval
    atoms = np.empty((n_notes, n_samples), dtype=dtype)
    for atom, frequency in zip(atoms, frequencies.values(), strict=True):
        _fill_sine(atom, frequency / sample_rate)

    notes = list(frequencies)
    song = np.zeros(n_samples, dtype=dtype)
    for start in range(0, n_samples, n_interval):
        part = slice(start, start + n_interval)
        for note, weight in CHORDS[start // n_interval % 2].items():
            song[part] += np.asarray(weight, dtype) * atoms[notes.index(note), part]
    if noise > 0:
        if isinstance(random_state, np.random.RandomState):
            random_state = random_state.randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(random_state)
        song += np.asarray(noise, dtype) * rng.standard_normal(n_samples, dtype=dtype)
    return atoms.T, song, np.array(notes)


def _keyboard(n_notes):
    """Name and frequency of `n_notes` notes: the thesis's, then outwards from A4."""
    frequencies = dict(THESIS_NOTES)
    by_distance = sorted(range(21, 109), key=lambda key: (abs(key - _A4), key))
    for key in by_distance:
        if len(frequencies) == n_notes:
            break
        name = f"{_PITCHES[key % 12]}{key // 12 - 1}"
        frequencies.setdefault(name, 440.0 * 2.0 ** ((key - _A4) / 12))
    return dict(sorted(frequencies.items(), key=lambda item: item[1]))


def _fill_sine(out, cycles_per_sample, n_block=1 << 12):
    """Write sin(2 pi f j) into `out`, by the addition theorem from a block to the next.

    Two multiplications a sample instead of a sine: songs have tens of millions of them.
    """
    phase = 2 * np.pi * cycles_per_sample
    inner = phase * np.arange(n_block)
    sin_inner, cos_inner = np.sin(inner), np.cos(inner)
    for start in range(0, len(out), n_block):
        n = min(n_block, len(out) - start)
        angle = phase * start
        out[start : start + n] = (
            np.sin(angle) * cos_inner[:n] + np.cos(angle) * sin_inner[:n]
        )
