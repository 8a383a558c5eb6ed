"""SimpleSong has the thesis's notes, chords and weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_bandit.datasets import make_simple_song
from sklearn_bandit.datasets._song import THESIS_NOTES


def test_notes_are_sine_waves():
    X, _, notes = make_simple_song(interval=0.6, n_notes=20, dtype=np.float64)
    assert X.flags.f_contiguous
    assert len(set(notes)) == 20
    time = np.arange(X.shape[0]) / 44_100
    for name, frequency in THESIS_NOTES.items():
        note = X[:, list(notes).index(name)]
        assert_allclose(note, np.sin(2 * np.pi * frequency * time), atol=1e-9)


def test_chords_and_weights():
    X, y, notes = make_simple_song(2, interval=0.5, n_notes=6, dtype=np.float64)
    half = 22_050
    assert len(y) == 4 * half
    column = {name: X[:, i] for i, name in enumerate(notes)}
    a = column["C4"] + 2 * column["E4"] + 3 * column["G4"]
    b = 3 * column["G4"] + 2.5 * column["C5"] + 1.5 * column["E5"]
    for part in range(4):
        inside = slice(part * half, (part + 1) * half)
        assert_allclose(y[inside], (a if part % 2 == 0 else b)[inside], atol=1e-12)


def test_keyboard_is_ordered_and_complete():
    _, _, notes = make_simple_song(interval=0.001, n_notes=88)
    assert len(set(notes)) == 88
    assert notes[0] == "A0"
    assert notes[-1] == "C8"


def test_noise_is_seeded():
    quiet = make_simple_song(interval=0.1, n_notes=6)[1]
    first = make_simple_song(interval=0.1, n_notes=6, noise=0.5, random_state=0)[1]
    second = make_simple_song(interval=0.1, n_notes=6, noise=0.5, random_state=0)[1]
    assert_array_equal(first, second)
    assert_allclose((first - quiet).std(), 0.5, atol=0.02)


@pytest.mark.parametrize("bad", [{"n_notes": 5}, {"interval": 0}, {"n_repeats": 0}])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_simple_song(**bad)
