"""What a search found."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Round:
    """The state of a search after one of its rounds.

    Attributes
    ----------
    survivors : ndarray of shape (n_survivors,)
        Arms that may still be among the best, in increasing order.
    n_references : int
        References that these arms have been pulled on.
    n_pulls : int
        Costs computed so far, of all arms.
    """

    survivors: np.ndarray
    n_references: int
    n_pulls: int


@dataclass(frozen=True)
class BestArmResult:
    """What a search found and what it cost.

    Attributes
    ----------
    best : ndarray of shape (k,)
        The best arms, best first; ties by index.
    means : ndarray of shape (n_arms,)
        Mean of every arm over the references that it was pulled on, as `pull` returned
        them; NaN if there are none, as where all arms are asked for.
    radii : ndarray of shape (n_arms,)
        Confidence radius of every arm when it was last looked at: of its mean
        difference to the leader for ``radius="paired"``, of its mean otherwise. Zero
        where the mean is exact, infinite where nothing is claimed, as by sequential
        halving.
    survivors : ndarray of shape (n_survivors,)
        Arms that had not been told from the best k when the search ended, in increasing
        order; the best k themselves if they were found by elimination alone.
    n_pulls : int
        Costs computed, those of the exact fall-back included.
    n_rounds : int
        Batches sampled.
    exact : bool
        Whether the survivors' means were computed over all references.
    method : str
        How the arms were searched.
    history : tuple of Round or None
        The state after every round, if it was asked for.
    """

    best: np.ndarray
    means: np.ndarray
    radii: np.ndarray
    survivors: np.ndarray
    n_pulls: int
    n_rounds: int
    exact: bool
    method: str = "elimination"
    history: tuple[Round, ...] | None = None

    @property
    def n_survivors(self) -> int:
        """Number of arms that had not been told from the best k."""
        return len(self.survivors)

    def __repr__(self):
        n_arms, k = len(self.means), len(self.best)
        shown = ", ".join(map(str, self.best[:5])) + (", ..." if k > 5 else "")
        how = "exactly" if self.exact else f"by {self.method.replace('-', ' ')}"
        if not self.exact and self.n_survivors > k:
            how = f"{self.n_survivors} not told apart"
        return (
            f"BestArmResult(best=[{shown}] of {n_arms} arms, {how}; "
            f"n_pulls={self.n_pulls}, n_rounds={self.n_rounds})"
        )
