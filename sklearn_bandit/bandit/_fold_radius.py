"""Radii of means over folds, whose references come in groups.

After s of K folds, what is unknown of the mean difference of two arms is its mean over
the other K - s folds: a finite population, sampled fold by fold. A fold's difference
varies for two reasons: other samples, and something that all samples of the fold share
(in cross-validation, the fitted model). The samples tell the first part at once; the
second needs several folds.

References
----------
- G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential
  expression in microarray experiments", Statistical Applications in Genetics and
  Molecular Biology 3 (2004).
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ._quantiles import student_quantile
from ._radii import finite_population

# Variance of a fold's difference over what its samples alone explain, before any two
# folds could be compared, and the folds that this is worth. In 48 full searches (trees,
# neighbours, linear models, kernels; 442 to 800 samples in 10 shuffled folds) the ratio
# was .3 to 2.1, .9 on average. benchmarks/peers/racing.py counts what follows.
FOLD_EFFECT = 1.25
FOLD_EFFECT_SIZE = 8

# What the other arms add to an arm's own variance from fold to fold, as a multiple of
# its degrees of freedom: costs of arms are too much alike for more than this.
POOLED_SIZE = 2

# Blocks of consecutive samples within a fold, and the samples that each needs.
N_BLOCKS = 10
MIN_BLOCK = 4

# A variance within folds says nothing if it comes from fewer effective observations.
# Fewer than `LEAST_EFFECTIVE_SIZE`: what is unseen has a term of its own here.
MIN_EFFECTIVE_WITHIN = 4

# Folds that are needed where nothing is known of their samples.
MIN_FOLDS = 3


@dataclass
class FoldDifferences:
    """Moments of the differences of arms to the leader.

    Attributes
    ----------
    means : ndarray of shape (n_arms,)
        Mean over the folds done of the leader's score less the arm's.
    between : ndarray of shape (n_arms,)
        Variance of the differences from fold to fold; 0 for one fold.
    within : ndarray of shape (n_arms,)
        Variance of a fold's difference that its samples explain; NaN if not known.
    by_blocks : ndarray of shape (n_arms,)
        The same from blocks of consecutive samples. It is larger where neighbours are
        alike, as in the order of time.
    n_effective : ndarray of shape (n_arms,)
        Effective number of observations behind `within`.
    n_seen : ndarray of shape (n_arms,)
        References seen: samples, or folds where there is nothing of the samples.
    largest : ndarray of shape (n_arms,)
        The largest difference that one reference may have.
    """

    means: np.ndarray
    between: np.ndarray
    within: np.ndarray
    by_blocks: np.ndarray
    n_effective: np.ndarray
    n_seen: np.ndarray
    largest: np.ndarray


def fold_radius(differences, n_done, n_folds, delta):
    """Radii of the mean differences after `n_done` of `n_folds` folds.

    ``t sqrt((V / s + (L / n)^2) (1 - s / K))``. The variance V of a fold's difference
    is a moderated one (Smyth, 2004): the observed variance between the folds, with
    s - 1 degrees of freedom, is averaged with what the variance within the folds
    predicts, times a ratio for the effect of folds. The ratio starts at `FOLD_EFFECT`
    and follows what all arms show, upwards at once: between folds, and between
    neighbours within a fold. So there is a radius after one fold already. Where nothing
    is known of the samples, the arms' mean variance takes the place of the prediction,
    and no variance is below the observed one.

    ``L / n`` is the shift by one more observation of the largest size. Without it
    losses that are rare and huge are taken for impossible as long as none was seen.

    Parameters
    ----------
    differences : FoldDifferences
        Of the surviving arms, the leader among them.
    n_done, n_folds : int
        Folds done, and all folds.
    delta : float
        Error probability of one comparison.

    Returns
    -------
    ndarray of shape (n_arms,)
        The radii; infinite where nothing can be said yet.
    """
    df = n_done - 1
    between, within = differences.between, differences.within
    n_effective = differences.n_effective
    by_samples = (within > 0) & (n_effective >= MIN_EFFECTIVE_WITHIN)
    by_folds = np.isnan(within) & (n_done >= MIN_FOLDS)

    ratio, ratio_df = FOLD_EFFECT, FOLD_EFFECT_SIZE
    if by_samples.any():
        # Where neighbours within a fold are alike, so are the samples of a fold.
        serial = np.mean(differences.by_blocks[by_samples] / within[by_samples])
        ratio = max(ratio, serial)
    if df and by_samples.any():
        seen = np.mean(between[by_samples] / within[by_samples])
        seen_df = min(POOLED_SIZE, np.count_nonzero(by_samples) - 1) * df
        ratio_df = FOLD_EFFECT_SIZE + seen_df
        ratio = (FOLD_EFFECT_SIZE * ratio + seen_df * seen) / ratio_df
        # Few data sets have large effects of folds. Where they show, they are believed.
        ratio = max(ratio, seen)
    varied = by_folds & (between > 0)
    common = np.mean(between[varied]) if varied.any() else 0.0
    common_df = min(POOLED_SIZE, max(np.count_nonzero(varied) - 1, 0)) * df

    radii = np.full(len(between), inf)
    share = finite_population(n_done, n_folds)
    for i in np.flatnonzero(by_samples | by_folds):
        if by_samples[i]:
            # Two sources of error in one factor: their relative variances add.
            prior_df = 1 / (1 / ratio_df + 1 / (n_effective[i] - 1))
            variance = prior_df * ratio * within[i] + df * between[i]
            variance /= prior_df + df
        else:
            prior_df = common_df
            variance = (prior_df * common + df * between[i]) / (prior_df + df)
            variance = max(variance, between[i])
        unseen = differences.largest[i] / differences.n_seen[i]
        quantile = student_quantile(delta, prior_df + df)
        radii[i] = quantile * sqrt(variance / n_done + unseen**2) * share
    return radii


@dataclass
class SampleMoments:
    """Moments of the differences of two arms on the samples of one fold.

    Attributes
    ----------
    variance : float
        Of the mean difference; NaN if nothing is known of the samples.
    by_blocks : float
        The same from blocks of consecutive samples.
    sum_2, sum_4 : float
        Sums of the second and fourth powers of the centred differences.
    n_samples : int
        Their number.
    """

    variance: float = np.nan
    by_blocks: float = np.nan
    sum_2: float = 0.0
    sum_4: float = 0.0
    n_samples: int = 0


def sample_moments(differences):
    """Return the `SampleMoments` of differences, at least two."""
    size = len(differences)
    squares = (differences - differences.mean()) ** 2
    total = squares.sum()
    variance = by_blocks = total / (size - 1) / size
    if size >= N_BLOCKS * MIN_BLOCK:
        length = size // N_BLOCKS
        blocks = differences[: N_BLOCKS * length].reshape(N_BLOCKS, length)
        by_blocks = blocks.mean(axis=1).var(ddof=1) / N_BLOCKS
    return SampleMoments(variance, by_blocks, total, (squares**2).sum(), size)
