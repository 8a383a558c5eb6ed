"""
=======================================================
What of a search grows with the dimension, and what not
=======================================================

An exact search multiplies every coordinate of every atom. Sampling needs as many
coordinates as it takes to tell the atoms apart, however many there are. What still
grows is what is computed for one or a few vectors only.
"""

# %%
# Atoms are noisy multiples of the query, as in the thesis's synthetic data: the gaps
# between inner products grow as fast as the dimension.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.datasets import (
    make_correlated_normal_custom,
    make_symmetric_normal,
)
from sklearn_bandit.neighbors import BanditMIPS

n_atoms = 100
dimensions = [3_000, 6_000, 12_000, 24_000]


def multiplications(make):
    """Return the multiplications for an atom, at every dimension."""
    counts = []
    for n_features in dimensions:
        atoms, queries = make(n_atoms, n_features, 10, random_state=0)
        search = BanditMIPS(n_neighbors=1, random_state=0).fit(atoms)
        for i in range(len(queries)):
            _, found = search.kneighbors(queries[i : i + 1])
            assert found[0, 0] == np.argmax(atoms @ queries[i])
            counts.append(search.n_multiplications_[0] / n_atoms)
    return np.reshape(counts, (len(dimensions), -1)).mean(axis=1)


# %%
# Of a search that samples, two things are computed in full: the query's part along the
# constant vector, and the inner product of each atom that is returned. With a hundred
# atoms that is at least one hundredth of the exact search for each. The rest, which is
# what tells the atoms apart, grows by a sixth from 6,000 dimensions to 24,000.
separable = multiplications(make_correlated_normal_custom)
in_full = np.array(dimensions) * 2 / n_atoms
for d, whole, full in zip(dimensions, separable, in_full, strict=True):
    print(f"{d:6}: {whole:4.0f} of {d}, of which {whole - full:4.0f} to tell apart")

# %%
# Where nothing tells the atoms apart there is nothing to save: the search notices it in
# its first round and lets BLAS do the work.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(dimensions, dimensions, color="grey", ls="--", label="exact search")
ax.plot(dimensions, multiplications(make_symmetric_normal), label="worst case")
ax.plot(dimensions, separable, label="separable atoms")
ax.plot(dimensions, separable - in_full, label="separable atoms, to tell them apart")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="dimension",
    ylabel="multiplications for each atom",
)
ax.set_xticks(dimensions, [f"{d:,}" for d in dimensions])
ax.minorticks_off()
ax.legend()
plt.show()
