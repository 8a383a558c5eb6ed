"""The silhouettes of a fitted clustering by medoids, as a picture."""

from typing import Any, Self

import numpy as np

from .._compat import check_is_fitted
from .._core.typing import RandomState
from ..cluster import BanditKMedoids, medoid_silhouette
from ._displays import _Display

# Samples that are drawn: the picture has fewer pixels than that.
N_DRAWN = 5000

# Rows that are left free between two clusters, of all that are drawn.
GAP_SHARE = 0.02


class SilhouetteDisplay(_Display):
    """Silhouettes of the samples of each cluster, largest first.

    A cluster is a shape whose width shows how clear it is and whose height how large.
    The silhouettes are those of medoids, ``1 - d1 / d2`` with the distances to the
    nearest and second nearest medoid; see
    :func:`~sklearn_bandit.cluster.medoid_silhouette`.

    Parameters
    ----------
    silhouettes : ndarray of shape (n_samples,)
        Silhouettes of samples.
    labels : ndarray of shape (n_samples,)
        Their clusters, from 0 on.
    mean : float
        The mean that is marked.
    radius : float, default=0.0
        It is known to within this; drawn as a band.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The line at the mean.
    shapes_ : list of matplotlib PolyCollection
        The shapes, one a cluster that has samples.

    See Also
    --------
    sklearn_bandit.cluster.medoid_silhouette : The silhouettes, without a picture.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_bandit.cluster import BanditKMedoids
    >>> from sklearn_bandit.inspection import SilhouetteDisplay
    >>> X, _ = make_blobs(2000, centers=3, random_state=0)
    >>> kmedoids = BanditKMedoids(3, random_state=0).fit(X)
    >>> display = SilhouetteDisplay.from_estimator(kmedoids, X)  # doctest: +SKIP
    """

    def __init__(
        self,
        silhouettes: np.ndarray,
        labels: np.ndarray,
        mean: float,
        *,
        radius: float = 0.0,
    ) -> None:
        self.silhouettes = silhouettes
        self.labels = labels
        self.mean = mean
        self.radius = radius

    @classmethod
    def from_estimator(
        cls,
        estimator: BanditKMedoids,
        X: Any,
        *,
        tol: float = 0.0,
        delta: float = 0.01,
        random_state: RandomState = None,
        ax: Any = None,
    ) -> Self:
        """Draw the silhouettes of a fitted clustering.

        Parameters
        ----------
        estimator : BanditKMedoids
            Fitted, with two clusters at least.
        X : array-like, sparse matrix or sequence
            The samples that it was fitted on.
        tol : float, default=0.0
            Samples are drawn until the mean is known to within this. Zero looks at all.
        delta : float, default=0.01
            Probability that the mean is farther off than its radius.
        random_state : int, RandomState instance or None, default=None
            Determines which samples are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SilhouetteDisplay
            What was drawn.
        """
        if not isinstance(estimator, BanditKMedoids):
            raise TypeError("The estimator must be a BanditKMedoids of this package.")
        check_is_fitted(estimator)
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_samples != len(estimator.labels_):
            raise ValueError(
                f"X has {n_samples} samples, but the estimator was fitted on "
                f"{len(estimator.labels_)}."
            )
        found = medoid_silhouette(
            X,
            estimator.medoid_indices_,
            metric=estimator.metric,
            metric_params=estimator.metric_params,
            metric_batched=estimator.metric_batched,
            tol=tol,
            delta=delta,
            n_jobs=estimator.n_jobs,
            random_state=random_state,
        )
        display = cls(found.samples, found.labels, found.mean, radius=found.radius)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the shapes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SilhouetteDisplay
            This display.
        """
        ax = self._start(ax)
        self.shapes_ = []
        n, bottom = len(self.silhouettes), 0.0
        clusters = np.unique(self.labels)
        middles = []
        for number, cluster in enumerate(clusters):
            values = np.sort(self.silhouettes[self.labels == cluster])[::-1]
            share = len(values) / n
            # The curve through some of them looks the same.
            n_shown = min(len(values), max(int(N_DRAWN * share), 2))
            places = np.linspace(0, len(values) - 1, n_shown).astype(int)
            heights = bottom + share * np.linspace(0, 1, n_shown)
            shape = ax.fill_betweenx(
                heights, 0, values[places], color=f"C{number % 10}", alpha=0.8, lw=1
            )
            self.shapes_.append(shape)
            middles.append(bottom + share / 2)
            bottom += share + GAP_SHARE
        if self.radius > 0:
            low, high = self.mean - self.radius, self.mean + self.radius
            ax.axvspan(max(low, 0.0), min(high, 1.0), color="k", alpha=0.15, lw=0)
        line = ax.axvline(
            self.mean, color="k", ls="--", lw=1, label=f"mean {self.mean:.3f}"
        )
        self.lines_.append(line)
        ax.set(xlabel="silhouette", ylabel="cluster", xlim=(0, 1))
        ax.set_yticks(middles, [str(cluster) for cluster in clusters])
        ax.invert_yaxis()
        ax.legend(loc="lower right")
        return self
