"""
=====================================
Clusters of words under edit distance
=====================================

The distance may be any function of two objects, and the objects may be strings: here
misspelled words are clustered by the edit distance, and the medoids are the spellings
in the middle.
"""

# %%
# Variants of a few words, by random edits.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.cluster import BanditKMedoids

WORDS = ["medoid", "bandit", "cluster", "reference", "elimination"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
rng = np.random.default_rng(0)


def misspell(word, n_edits):
    """Replace, drop or double letters at random places."""
    letters = list(word)
    for _ in range(n_edits):
        place = rng.integers(len(letters))
        kind = rng.integers(3)
        if kind == 0:
            letters[place] = rng.choice(LETTERS)
        elif kind == 1 and len(letters) > 3:
            del letters[place]
        else:
            letters.insert(place, letters[place])
    return "".join(letters)


variants = [misspell(rng.choice(WORDS), rng.integers(0, 4)) for _ in range(600)]


def edit_distance(a, b):
    """Least number of insertions, deletions and replacements."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            replaced = previous + (x != y)
            previous = row[j]
            row[j] = min(row[j] + 1, row[j - 1] + 1, replaced)
    return row[-1]


# %%
# The edit distance is tried both ways on a few pairs and seen to be symmetric, so that
# no pair is evaluated twice. Of as few as 600 strings nearly all pairs are compared:
# what is saved is the half of a full matrix that repeats the other. How the share falls
# with more samples is in :ref:`sphx_glr_auto_examples_cluster_plot_scaling.py`.
kmedoids = BanditKMedoids(
    5, metric=edit_distance, algorithm="eager", batch_size=32, random_state=0
).fit(variants)
for center, size in zip(
    kmedoids.cluster_centers_, np.bincount(kmedoids.labels_), strict=True
):
    print(f"{center:12} {size} variants")
n_calls, n_entries = kmedoids.n_distance_evaluations_, len(variants) ** 2
print(f"{n_calls:,} distances; a full matrix has {n_entries:,}")

# %%
# New strings go to the nearest medoid.
new = ["banditt", "clutser", "refrence"]
for word, label in zip(new, kmedoids.predict(new), strict=True):
    print(f"{word:12} {kmedoids.cluster_centers_[label]}")

# %%
# How far the variants are from their medoids.
to_medoid = kmedoids.transform(variants).min(axis=1)
edits, n_variants = np.unique(to_medoid, return_counts=True)
plt.bar(edits, n_variants, tick_label=[f"{n:g}" for n in edits])
plt.xlabel("edits to the medoid")
plt.ylabel("number of variants")
plt.show()
