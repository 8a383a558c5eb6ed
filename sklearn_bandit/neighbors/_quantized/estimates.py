"""What is estimated from a sample of the rows: how large values are, and steps."""

import numpy as np

# Rows that centre, steps and rotation are estimated from.
N_SAMPLE = 2000

# Range of the codes of a feature, in standard deviations. A row that has larger entries
# gets a larger scale.
N_DEVIATIONS = 4.0

# Steps are at least this share of their root mean square: what a finer step gains is
# little, and a rare large entry would make the scale of the whole row larger.
LEAST_STEP = 0.3

# Range of the codes of differences: the size that these shares of entries do not exceed.
# The one that loses the least of distances in the sample is taken.
RANGES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
# Pairs of rows whose distances are compared.
N_PAIRS = 250


# Steps from the mean towards the geometric median: an outlier takes the mean of n rows
# away by a distance, the first step by an n-th of that.
N_MIDDLE_STEPS = 2
# A row that is nearer to the centre weighs no more, in typical distances.
LEAST_DISTANCE = 0.1


def draw_rows(rows, n, rng):
    if len(rows) <= n:
        return np.asarray(rows)
    return rows[np.sort(rng.permutation(len(rows))[:n])]


def power_of_two(x):
    """Return the power of two next to x; 1 for 0. One over it is a normal number."""
    return float(2.0 ** max(np.round(np.log2(x)), -1000.0)) if x > 0 else 1.0


def normalised(rows):
    """Return rows of norm one; zeros stay."""
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def row_norms(rows):
    """Return the norm of each row."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def middle(sample):
    """Return what rows are centred by: a point with small distances to them.

    What codes leave out of a row is about a share of its distance from the centre. The
    mean, from where this starts, minimises the squares of distances, and a few huge rows
    take it away from all others; steps of Weiszfeld lead to the geometric median, which
    minimises the distances themselves.
    """
    centre = sample.mean(axis=0)
    for _ in range(N_MIDDLE_STEPS):
        distances = row_norms(sample - centre)
        typical = np.median(distances)
        if not 0.0 < typical < np.inf:
            break
        weights = typical / np.maximum(distances, LEAST_DISTANCE * typical)
        centre = weights @ sample / weights.sum()
    return centre


def feature_steps(sample):
    """Return the step of each feature for codes up to 127.

    Rows are taken at one size: each has a scale of its own.
    """
    norms = row_norms(sample)
    sample = sample / np.where(norms > 0, norms, 1.0)[:, None]
    largest = np.abs(sample).max(axis=0, initial=0.0)
    steps = np.minimum(N_DEVIATIONS * sample.std(axis=0), 1.2 * largest)
    least = LEAST_STEP * np.sqrt(np.mean(steps * steps))
    return np.maximum(steps, least if least > 0 else 1.0) / 127.0


def common_step(sample):
    """Return the one step of all features, repeated, whose bounds lose least.

    Bounds are those of ``_encode.pyx``.
    """
    n_pairs = min(N_PAIRS, len(sample) // 2)
    some, others = sample[:n_pairs], sample[n_pairs : 2 * n_pairs]
    distances = np.abs(some - others).sum(axis=1)
    is_apart = distances > 0
    if not is_apart.any():
        largest = np.abs(sample).max()
        return np.full(sample.shape[1], largest / 127.0 if largest > 0 else 1.0)
    sizes = np.unique(np.quantile(np.abs(sample[: 2 * n_pairs]), RANGES))
    sizes = sizes[sizes > 0]

    def coded(rows, step):
        inside = np.clip(rows, -128.0 * step, 127.0 * step)
        codes = np.rint(inside / step)
        rest = np.abs(inside - step * codes).sum(axis=1)
        return step * codes, rest, np.abs(rows - inside).sum(axis=1)

    def loss(step):
        codes, rest, outside = coded(some[is_apart], step)
        codes_2, rest_2, outside_2 = coded(others[is_apart], step)
        bounds = np.abs(codes - codes_2).sum(axis=1) + np.abs(outside - outside_2)
        return (1.0 - (bounds - rest - rest_2) / distances[is_apart]).mean()

    return np.full(sample.shape[1], min(sizes / 127.0, key=loss))
