"""What a call asks for, and how a search answers it."""

from dataclasses import dataclass
from math import inf

import numpy as np


@dataclass(slots=True)
class Request:
    """What a call asks for, after validation."""

    k: int
    delta: float
    epsilon: float
    sampling: str
    beta: float
    radius: str
    buckets: int | None
    n_jobs: int | None  # as of the estimator
    n_threads: int  # for the queries of the call
    may_give_up: bool  # sampling, for BLAS or for the support of a sparse query
    with_products: bool = True  # whether the caller wants the inner products


@dataclass(slots=True)
class References:
    """What is sampled from the atoms for a query, and in which order.

    The kernels have a struct of the same name.

    Parameters
    ----------
    sampling : {"blocks", "weighted", "ordered"}
        Contiguous blocks of coordinates without replacement, single coordinates with
        replacement, or single coordinates by decreasing size of the query's entry.
    radius : {"paired", "bernstein", "hoeffding"}
        The confidence radius.
    starts : ndarray of intp
        First coordinate of each reference, in the order of sampling.
    n_first : int
        References in the first round; later rounds double.
    n_references : int
        References that may be sampled before the survivors are computed exactly.
    n_total : float
        References that exist; infinite with replacement.
    epsilon : float
        How much worse the mean of an answer may be.
    length : int, default=1
        Coordinates of a block.
    weights : ndarray of float64, default=None
        Weights of single coordinates, for "weighted".
    energy : float, default=0.0
        Mean square of a reference for atoms with entries of random signs: of the sum of
        the query's squares in a block, or of the weight of a coordinate.
    reach : float, default=0.0
        Largest sum of the query's absolute entries on a reference, for radii other than
        "paired".
    largest : ndarray of shape (n_slots,), default=None
        Largest absolute entry of each atom, for radii other than "paired".
    norms : ndarray of shape (n_slots,), default=None
        Norms of the atoms, for "ordered" and for the guard of "paired".
    arm_delta : float, default=0.0
        Error probability for one atom in one round.
    give_up_fraction : float, default=inf
        Give up when sampling is predicted to cost more than this fraction of BLAS.
    """

    sampling: str
    radius: str
    starts: np.ndarray
    n_first: int
    n_references: int
    n_total: float
    epsilon: float
    length: int = 1
    weights: np.ndarray | None = None
    energy: float = 0.0
    reach: float = 0.0
    largest: np.ndarray | None = None
    norms: np.ndarray | None = None
    arm_delta: float = 0.0
    give_up_fraction: float = inf


@dataclass(slots=True)
class Plan:
    """How to search in the coordinate sample.

    Parameters
    ----------
    k : int
        Number of atoms to find.
    samples : bool
        Whether to sample, or only to drop atoms by the components' bounds and to
        compute the others exactly.
    arm_delta : float
        Error probability for one atom in one round.
    epsilon : float
        How much worse an answer may be.
    give_up_fraction : float
        Give up when sampling is predicted to cost more than this fraction of BLAS.
    blocks : References, default=None
        Blocks of the atoms, to go on with where the sample does not decide.
    order : ndarray of intp, default=None
        Slots by decreasing norm, for a search in buckets.
    bucket_size : int, default=0
        Atoms of a bucket.
    """

    k: int
    samples: bool
    arm_delta: float
    epsilon: float
    give_up_fraction: float
    blocks: References | None = None
    order: np.ndarray | None = None
    bucket_size: int = 0


def check_products(products):
    """Raise unless all inner products are finite."""
    if not np.isfinite(products).all():
        raise ValueError(
            "The inner products are beyond the range of double precision: scale the "
            "atoms or the queries down."
        )
