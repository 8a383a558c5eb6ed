"""k-medoids clustering by adaptive sampling (thesis ch. 2).

One way through the files, each with one subject:

- ``_kmedoids``: :class:`BanditKMedoids`, the estimator: validation, restarts, hand-over
- ``_metrics``: where distances come from, by *position* in one random order
- ``_distances``: the fast ones, kernels over matrix products and l1
- ``_cache``: distances that are kept, within a number of bytes
- ``_control_variate``: what is known of all candidates without their distances
- ``_reference_sample``: the references that all searches share, and the survivors of
  passes over them
- ``_medoid_state``: the medoids so far, and exact searches among a few arms
- ``_pam``, ``_bandit_pam``, ``_eager``: what a BUILD and a SWAP step are
- ``_sampled_passes``, ``_exact_passes``: the kernels of passes over distances
- ``_init``: first medoids other than BUILD's

Confidence radii come from :mod:`sklearn_bandit.bandit`.
"""

from ._kmedoids import BanditKMedoids

__all__ = ["BanditKMedoids"]
