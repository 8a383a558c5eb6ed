"""Initial medoids other than BUILD's."""

import numpy as np


def random_medoids(clusters, random_state):
    """Draw different samples uniformly."""
    return random_state.choice(clusters.n, clusters.n_clusters, replace=False)


def plus_plus_medoids(clusters, random_state):
    """Draw samples one after the other, with probability as the present distance.

    k-means++ with the distance in place of its square, which is what k-medoids sums.
    """
    clusters.clear()
    clusters.add(random_state.choice(clusters.n, p=_shares(clusters.weights)))
    while len(clusters.medoids) < clusters.n_clusters:
        chances = clusters.weights * np.maximum(clusters.nearest, 0.0)
        chances[clusters.medoids] = 0.0
        if not chances.any():
            # Every sample left is a copy of a medoid.
            chances = clusters.weights.copy()
            chances[clusters.medoids] = 0.0
        clusters.add(random_state.choice(clusters.n, p=_shares(chances)))
    return list(clusters.medoids)


def _shares(chances):
    # Twice, because the first quotient may be off by more than `choice` accepts when
    # the chances span many orders of magnitude.
    shares = chances / chances.max()
    return shares / shares.sum()
