"""Clusterings by k-medoids, and the loss of their medoids."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids

from ..harness import Contender

K = 10


def ours(X, algorithm, options, k=K, **parameters):
    """Fit our estimator; return its medoids."""

    def run(seed):
        model = BanditKMedoids(
            k,
            algorithm=algorithm,
            random_state=seed,
            n_jobs=options.threads,
            **parameters,
        )
        return model.fit(X).medoid_indices_

    return run


def matrix_method(X, name, k=K, metric="euclidean", n_cpu=-1):
    """A method of the kmedoids package on scikit-learn's distances."""

    def run(seed):
        import kmedoids

        D = pairwise_distances(X, metric=metric, n_jobs=2 if metric == "l1" else None)
        if name == "fasterpam":
            found = kmedoids.fasterpam(D, k, random_state=seed, n_cpu=n_cpu)
            return found.medoids.astype(int)
        return kmedoids.fastpam1(D, k, init="build").medoids.astype(int)

    return Contender(run, needs="kmedoids")


def one_batch_pam(X, options, k=K):
    """OneBatchPAM, from the package of its authors."""

    def run(seed):
        from onebatch import OneBatchPAM

        model = OneBatchPAM(n_medoids=k, random_state=seed, n_jobs=options.threads)
        return np.asarray(model.fit(X).medoid_indices_)

    return Contender(run, needs="onebatch")


def kmeans(X, k=K):
    """Scikit-learn's KMeans; the samples nearest to its means stand for medoids."""

    def run(seed):
        centers = KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_
        return pairwise_distances(centers, X).argmin(axis=1)

    return run


def loss(X, metric="euclidean"):
    """Mean distance to the nearest medoid."""

    def mean_distance(medoids):
        return pairwise_distances(X, X[medoids], metric=metric).min(axis=1).mean()

    return {"loss": mean_distance}
