"""k-medoids clustering by adaptive sampling (thesis ch. 2).

One way through the files, each with one subject:

- ``_kmedoids``: :class:`BanditKMedoids`, the estimator; ``_prediction``: its prediction
- ``_samples``: samples, weights, ``n_clusters`` and ``init`` of the caller, checked
- ``_weighted_samples``: equal ones merged (kernel: ``_equal_rows``), heavy ones first
- ``_silhouette``: :func:`medoid_silhouette`, and the choice of the number of clusters
- ``_distances``: a folder: where distances come from, by *position* in one random order
- ``_starts``: choice of the search, and its way from the first medoids to the last
- ``_pam``, ``_bandit_pam``, ``_eager``: what a BUILD and a SWAP step are
- ``_init``: first medoids other than BUILD's
- ``_medoid_state``: the medoids so far, and exact searches among a few arms
- ``_reference_sample``: the references that all searches share, and passes over them
- ``_sampled_swaps``: swaps for arms that are elsewhere (`dask`)
- ``_survivors``: the arms that are still in a search
- ``_distance_variate``: what squared distances say of all arms
- ``_sampled_passes``, ``_exact_passes``: the kernels of passes over distances
- ``_arm_bounds``: means and confidence bounds of the arms after a sampled pass

Confidence radii and control variates come from :mod:`sklearn_bandit.bandit`.
"""

from ._kmedoids import BanditKMedoids

# For `dask`; not part of the public interface.
from ._sampled_swaps import SampledSwaps as SampledSwaps
from ._silhouette import MedoidSilhouette, SilhouettesByK, medoid_silhouette

__all__ = [
    "BanditKMedoids",
    "MedoidSilhouette",
    "SilhouettesByK",
    "medoid_silhouette",
]
