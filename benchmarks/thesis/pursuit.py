"""Appendix C.5: matching pursuit on SimpleSong."""

import numpy as np

from sklearn_bandit.datasets import make_simple_song
from sklearn_bandit.linear_model import BanditMatchingPursuit

from ..harness import Table, benchmark
from ._summary import slope

ORDER = ["G4", "C5", "E4", "E5", "C4"]  # the thesis's, of decreasing strength
N_NOTES = 48


@benchmark("thesis.pursuit.song")
def song(options):
    """Figure C.4: multiplications over the length of the song."""
    repeats = (1, 4, 16)
    settings = {"exact coefficients": {}, "sampled coefficients": {"coef": "sampled"}}
    counts = {name: [] for name in settings}
    rows = []
    for t in repeats:
        # Two seconds a repeat: the thesis's d = 88,200 t.
        X, y, notes = make_simple_song(t, interval=1.0, n_notes=N_NOTES)
        truth = _weights(X, y, notes)
        for name, parameters in settings.items():
            found = [
                pursue(X, y, notes, seed, **parameters)
                for seed in range(options.rounds or 3)
            ]
            count = float(np.mean([n for n, _, _ in found]))
            counts[name].append(count)
            right = sum(order == ORDER for _, order, _ in found)
            errors = [np.abs(coef / truth - 1).max() for _, _, coef in found]
            rows.append([f"{len(y):,}", name, count, 5 * X.size / count])
            rows[-1] += [f"{right}/{len(found)}", float(np.max(errors))]
        del X
    sizes = [88_200 * t for t in repeats]
    exponents = ", ".join(
        f"{name} {slope(sizes, values):.2f}" for name, values in counts.items()
    )
    yield Table(
        f"Figure C.4: SimpleSong, {N_NOTES} notes, five steps, delta = 0.0001",
        ["d", "", "multiplications", "saved", "right order", "worst coefficient off"],
        rows,
        note=f"Exponents: {exponents}. Thesis: does not scale with d; the notes in the "
        "right order and the coefficients correct in each experiment. Exact "
        "coefficients read the chosen notes in full.",
    )


def pursue(X, y, notes, seed, **parameters):
    """Return multiplications, the notes found and their coefficients."""
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=len(ORDER),
        orthogonal=False,
        fit_intercept=False,
        delta=1e-4,
        random_state=seed,
        **parameters,
    )
    pursuit.fit(X, y)
    order = [str(note) for note in notes[pursuit.support_]]
    at = [list(notes).index(note) for note in ORDER]
    return pursuit.n_multiplications_, order, pursuit.coef_[at]


def _weights(X, y, notes):
    """Return the coefficients of exact matching pursuit."""
    residual, found = y.astype(np.float64), []
    for note in ORDER:
        atom = X[:, list(notes).index(note)].astype(np.float64)
        found.append(atom @ residual / (atom @ atom))
        residual -= found[-1] * atom
    return np.array(found)
