"""
======================
Which notes are played
======================

Matching pursuit takes a signal apart: it looks for the atom that has most in common
with it, subtracts that, and looks again. With sine waves as atoms it finds the notes of
a song, strongest first.
"""

# %%
# Five seconds of one chord, five of another, and 48 notes that might be in them.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.datasets import make_simple_song
from sklearn_bandit.linear_model import BanditMatchingPursuit

X, y, notes = make_simple_song(interval=5.0)
pursuit = BanditMatchingPursuit(
    n_nonzero_coefs=5, fit_intercept=False, random_state=0
).fit(X, y)
for atom in pursuit.support_:
    print(f"{notes[atom]}: {pursuit.coef_[atom]:.2f}")

# %%
# Each step compares the notes on a sample of moments. An exact pursuit multiplies all
# samples of all notes five times over.
exact = 5 * X.size
print(f"multiplications: {exact / pursuit.n_multiplications_:.0f} times fewer")
sampled = BanditMatchingPursuit(
    n_nonzero_coefs=5, fit_intercept=False, coef="sampled", random_state=0
).fit(X, y)
print(
    "with sampled coefficients: "
    f"{exact / sampled.n_multiplications_:.0f} times fewer, largest error "
    f"{np.abs(sampled.coef_ - pursuit.coef_).max():.2f}"
)

# %%
# With sampled coefficients nothing depends on the length of the song.
seconds = [2, 4, 8]
counts = {"exact": [], "exact coefficients": [], "sampled coefficients": []}
for length in seconds:
    X, y, _ = make_simple_song(interval=length / 2)
    counts["exact"].append(5 * X.size)
    for coef in ("exact", "sampled"):
        pursuit = BanditMatchingPursuit(
            n_nonzero_coefs=5, fit_intercept=False, coef=coef, random_state=0
        ).fit(X, y)
        counts[f"{coef} coefficients"].append(pursuit.n_multiplications_)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, values in counts.items():
    ax.plot(seconds, values, marker="o", label=name)
ax.set(xlabel="length of the song in seconds", ylabel="multiplications", yscale="log")
ax.set_ylim(top=2e9)
ax.legend(loc="upper left")
