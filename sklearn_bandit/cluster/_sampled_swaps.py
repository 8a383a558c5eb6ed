"""Swaps for arms that need not be among the references.

Where all samples are not in one place, a sample of them is: these are the references.
Arms come in parts, from elsewhere. What a swap changes is estimated on the leading
references, by the passes of a fit.
"""

import numpy as np

from .._core.thread_start import keep_threads
from ._distances import N_SCALE
from ._medoid_state import MedoidState
from ._reference_sample import Sample, SampleRows
from ._samples import check_samples
from ._weighted_samples import draw_order

# Least improvement on the sample, relative to the distances, that is worth a swap.
SAMPLE_TOL = 1e-5

# Arms whose values and sums are held at a time: so many numbers, but at least and at
# most so many arms. With 32,768 arms copies of references are a small part of the work.
MAX_VALUES = 1 << 24
LEAST_ARMS = 512
MOST_ARMS = 1 << 15

# What puts the references into one order.
SEED = 0


class SampledSwaps:
    """Estimates of what swaps change, on references in random order.

    Parameters
    ----------
    model : BanditKMedoids
        Fitted; has the metric.
    X : ndarray of shape (n_references, n_features)
        The references, in the order in which they are taken.
    weights : ndarray of shape (n_references,)
        Their weights.
    n_heavy : int
        Leading references that are no random choice; see `draw_order`.

    Attributes
    ----------
    n_references : int
        How many there are.
    """

    def __init__(self, model, X, weights, n_heavy):
        self.model = model
        self.X, self.weights = X, weights
        self.n_heavy = n_heavy
        self.n_references = len(X)

    @classmethod
    def in_random_order(cls, model, X, weights=None):
        """Put references into random order.

        Parameters
        ----------
        model : BanditKMedoids
            Fitted.
        X : ndarray of shape (n_samples, n_features)
            A sample of all samples.
        weights : ndarray of shape (n_samples,) or None
            Their weights; those of weight zero are left out.
        """
        weights = np.ones(len(X)) if weights is None else weights
        used = np.flatnonzero(weights)
        block = min(model.batch_size, len(used))
        order, n_heavy = draw_order(weights[used], block, np.random.RandomState(SEED))
        order = used[order]
        return cls(model, X[order], weights[order], n_heavy)

    def leading(self, n, model):
        """Return the first references for another model of the same metric.

        These are no more than n beside the heavy ones.
        """
        n = min(self.n_heavy + n, self.n_references)
        return SampledSwaps(model, self.X[:n], self._weights(n), self.n_heavy)

    def changes(self, medoids, arms, n):
        """Estimate what swaps change on leading references.

        Parameters
        ----------
        medoids : ndarray of shape (n_clusters, n_features)
            The present medoids.
        arms : ndarray of shape (n_arms, n_features)
            What they may be swapped for.
        n : int
            References beside the heavy ones.

        Returns
        -------
        means : ndarray of shape (n_arms,)
            Mean change by the best swap of each arm, up to a factor that is the same
            for all arms.
        removed : ndarray of shape (n_arms,)
            The medoid that it removes.
        """
        means = np.empty(len(arms))
        removed = np.empty(len(arms), dtype=np.intc)
        step = min(max(MAX_VALUES // self.X.shape[1], LEAST_ARMS), MOST_ARMS)
        for start in range(0, len(arms), step):
            part = slice(start, start + step)
            sample, state, some = self._begin(medoids, arms[part], n, 0)
            with sample.distances.threads():
                means[part], removed[part], _ = sample.means(
                    state, state.n, some, build=False
                )
        return means, removed

    def descend(self, medoids, arms, tol):
        """Make the best swap on all references until none improves.

        Parameters
        ----------
        medoids, arms : ndarray
            As in `changes`.
        tol : float
            Least improvement of a swap, relative to the loss.

        Returns
        -------
        ndarray of shape (n_clusters,)
            The medoids, by their places among the present ones and the arms after them.
        """
        n = self.n_references
        cache_size = self.model.cache_size
        sample, state, arms = self._begin(medoids, arms, n, cache_size)
        with sample.distances.threads():
            while swap_on_sample(sample, state, arms, tol):
                pass
        return np.array(state.medoids) - (arms.start - len(medoids))

    def _begin(self, medoids, arms, n, cache_size):
        """Put leading references, medoids and arms into one order."""
        model = self.model
        n = min(self.n_heavy + n, self.n_references)
        n_rows = min(max(n, N_SCALE), self.n_references)
        X = np.concatenate([self.X[:n_rows], medoids, arms])
        X = check_samples(model, X, reset=False)
        # Centre and scale come from the first positions: these are references only, so
        # that a distance does not depend on which arms there are.
        leading = np.resize(np.arange(n_rows), max(n_rows, N_SCALE))
        first = len(leading)
        order = np.concatenate([leading, np.arange(n_rows, len(X))])
        n_threads = keep_threads(model.n_jobs)
        distances = model._distances(X, model._params, order, n_threads)
        sample = Sample(distances, model.batch_size, cache_size, n_threads)
        with distances.threads():
            state = MedoidState(
                SampleRows(sample, n),
                order[:n],
                self._weights(n),
                len(medoids),
                n_threads,
            )
            state.set(range(first, first + len(medoids)))
        return sample, state, range(first + len(medoids), len(order))

    def _weights(self, n):
        """Weights of leading references; those that are not heavy stand for all."""
        weights, n_heavy = self.weights[:n].astype(np.float64), self.n_heavy
        if n > n_heavy:
            weights[n_heavy:] *= (self.n_references - n_heavy) / (n - n_heavy)
        return weights


def swap_on_sample(sample, state, arms, tol):
    """Make the best swap by the leading references alone.

    Parameters
    ----------
    sample : Sample
        All references.
    state : MedoidState
        Medoids, by the leading references; changed.
    arms : range
        Positions.
    tol : float
        Least improvement, relative to the loss.

    Returns
    -------
    bool
        Whether there was a swap that improves.
    """
    means, removed, _ = sample.means(state, state.n, arms, build=False)
    best = np.argmin(means)
    present = state.in_scale(abs(state.loss))
    if means[best] >= -max(SAMPLE_TOL, tol) * present:
        return False
    # Distances to many arms and to one are rounded differently: without a smaller loss
    # two arms that are hardly any better may take turns forever.
    return state.swap(removed[best], arms[best])
