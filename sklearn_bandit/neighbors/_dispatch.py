"""Which way a search goes.

Every route fills the same three arrays (slots of the neighbours, their inner products,
multiplications) for some of the queries of a call:

- sparse queries are computed exactly from their non-zero entries;
- with a head, `Searcher.search` drops atoms by exact bounds first, then by sampling;
- without one, or for other ways of sampling, `Searcher.search_units` samples from the
  atoms themselves;
- what is left, and dimensions too small to gain, goes to BLAS, all queries at once; a
  single one is computed by `scan`, which reads memory faster.
"""

from dataclasses import dataclass
from functools import partial
from math import ceil, inf, log2

import numpy as np
from sklearn.utils import assert_all_finite

from ..bandit import split_delta
from ._index import SAFE_RANGE

# With at most one entry in so many different from zero, a query is computed from these
# alone: a gathered product costs about 7 streamed ones.
SPARSE_SHARE = 16

# A single query is given up when sampling is predicted to take this share of what BLAS
# takes; in a batch BLAS multiplies about 8 times as fast, and sampling does not.
GIVE_UP_SHARE = 0.5
GIVE_UP_SHARE_BATCH = 0.05

# Batches need more coordinates than single queries before sampling pays (measured).
MIN_FEATURES_BATCH = 5_000

# So does sampling from the atoms themselves, which breaks even at 20,000 coordinates on
# the friendliest data (measured) and reads memory in no order.
MIN_FEATURES_ZERO_COPY = 20_000

# Scores from BLAS that are held at a time.
MAX_SCORES = 1 << 24

# Coordinates of a block when sampling from the atoms themselves: a cache line costs no
# more than one entry of it.
BLOCK = 16

# From this dimension on, what the head does not decide goes on in blocks of the atoms.
# Few atoms are left by then, and wide blocks take fewer rounds.
TAIL_FEATURES = 50_000
TAIL_BLOCK = 64

# Single coordinates in the first round, in batches: their products have heavier tails
# than sums over blocks, of which one batch is enough.
FIRST_BATCHES = 4


@dataclass
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
    with_products: bool = True  # or only the atoms are asked for


def search(index, queries, request):
    """Find the atoms with the largest inner products.

    Parameters
    ----------
    index : AtomIndex
        The atoms.
    queries : ndarray of shape (n_queries, n_features)
        The queries, in C order and of the atoms' type.
    request : Request
        What is asked for.

    Returns
    -------
    products : ndarray of shape (n_queries, k)
        Inner products, in descending order, in double precision.
    positions : ndarray of shape (n_queries, k)
        Positions of the atoms.
    counts : ndarray of shape (n_queries,)
        Multiplications of coordinates.
    """
    few = index.n_features // SPARSE_SHARE
    low, high = SAFE_RANGE[index.dtype]
    if len(queries) == 1 and _is_for_head(index, request):
        answer = Answer(1, request.k)
        stats = np.empty((1, 4))
        outcome = index.searcher.search_one(
            queries, low, high, few, *_plan(index, request, 1), stats, *answer.arrays
        )
        if outcome == "given up":
            _by_blas(index, queries, stats, request, answer)
        if outcome != "special":
            return answer.products, index.positions(answer.slots), answer.counts
    describe = partial(
        index.searcher.describe,
        n_threads=request.n_threads,
        low=low,
        high=high,
        few=few,
    )
    stats, coefs, n_bad, n_extreme, n_sparse = describe(queries)
    if n_bad:
        assert_all_finite(queries)
    if n_extreme:
        queries, exponents = _bring_into_range(index, queries, stats)
        stats, coefs, *_ = describe(queries)
    n_queries = len(queries)
    answer = Answer(n_queries, request.k)
    if n_sparse == 0 or not request.may_give_up:
        _dense(index, queries, stats, coefs, request, answer)
    elif n_sparse == n_queries:
        _by_support(index, queries, stats, request, answer)
    else:
        sparse = stats[:, 1] <= few
        found = Answer(n_sparse, request.k)
        _by_support(index, queries[sparse], stats[sparse], request, found)
        answer.put(sparse, found)
        dense = ~sparse
        found = Answer(n_queries - n_sparse, request.k)
        _dense(index, queries[dense], stats[dense], coefs[dense], request, found)
        answer.put(dense, found)
    products = answer.products
    if not index.is_safe:
        _check_products(products)
    if n_extreme:
        with np.errstate(over="ignore"):
            products = np.ldexp(products, exponents[:, None])
        if request.with_products:
            _check_products(products)
    return products, index.positions(answer.slots), answer.counts


def _check_products(products):
    """Raise unless all are finite; those of atoms and queries in range always are."""
    if not np.isfinite(products).all():
        raise ValueError(
            "The inner products are beyond the range of double precision: scale the "
            "atoms or the queries down."
        )


class Answer:
    """Slots, products and counts for some queries."""

    def __init__(self, n_queries, k):
        self.slots = np.empty((n_queries, k), dtype=np.intp)
        self.products = np.empty((n_queries, k))
        self.counts = np.zeros(n_queries, dtype=np.intp)

    @property
    def arrays(self):
        """The three arrays, for kernels to write."""
        return self.slots, self.products, self.counts

    def put(self, where, other):
        """Take the rows of another answer."""
        self.slots[where] = other.slots
        self.products[where] = other.products
        self.counts[where] = other.counts


def _bring_into_range(index, queries, stats):
    """Scale queries by powers of two where their squares would over- or underflow."""
    low, high = SAFE_RANGE[index.dtype]
    largest = stats[:, 2]
    extreme = ((largest < low) & (largest > 0)) | (largest > high)
    exponents = np.where(extreme, np.frexp(largest)[1], 0)
    return np.ldexp(queries, -exponents[:, None]), exponents


def _dense(index, queries, stats, coefs, request, answer):
    """Search for queries that are not sparse."""
    n_queries = len(queries)
    given_up = None
    if request.delta > 0 and (
        request.sampling != "uniform" or request.radius != "paired"
    ):
        given_up, n_given_up = _by_units(index, queries, stats, request, answer)
    elif not index.with_norms:
        n_given_up = n_queries
        enough = index.n_features >= MIN_FEATURES_ZERO_COPY or not request.may_give_up
        if request.delta > 0 and enough:
            given_up, n_given_up = _by_units(index, queries, stats, request, answer)
    elif request.buckets is not None and index.is_safe:
        _by_buckets(index, queries, stats, coefs, request, answer)
        n_given_up = 0
    elif not index.is_safe or (
        n_queries > 1 and request.may_give_up and index.n_features < MIN_FEATURES_BATCH
    ):
        n_given_up = n_queries
    else:
        given_up, n_given_up = _by_head(index, queries, stats, coefs, request, answer)
    if n_given_up == n_queries:
        _by_blas(index, queries, stats, request, answer)
    elif n_given_up:
        chosen = given_up.view(bool)
        found = Answer(n_given_up, request.k)
        found.counts[:] = answer.counts[chosen]
        _by_blas(index, queries[chosen], stats[chosen], request, found)
        answer.put(chosen, found)


def _is_for_head(index, request):
    """Whether a single query is searched for in the head, unless it is sparse."""
    return (
        index.with_norms
        and index.is_safe
        and request.may_give_up
        and request.buckets is None
        and (
            request.delta == 0
            or (request.sampling == "uniform" and request.radius == "paired")
        )
    )


def _by_head(index, queries, stats, coefs, request, answer):
    """Search by the components' bounds and in the head; return what was given up."""
    return index.searcher.search(
        queries,
        stats,
        coefs,
        *_plan(index, request, len(queries)),
        request.n_threads,
        *answer.arrays,
    )


def _plan(index, request, n_queries):
    """What to do in the head: see `Searcher.search`, from `samples` on."""
    tail = None
    if request.delta > 0 and index.n_features >= TAIL_FEATURES:
        tail = index.block_starts(TAIL_BLOCK)
    give_up_share = inf
    if request.may_give_up:
        give_up_share = GIVE_UP_SHARE if n_queries == 1 else GIVE_UP_SHARE_BATCH
    return (
        request.delta > 0,
        request.k,
        _share(index, request, index.n_atoms),
        request.epsilon,
        give_up_share,
        tail,
        TAIL_BLOCK,
    )


def _by_support(index, queries, stats, request, answer):
    """Compute sparse queries from their non-zero entries."""
    index.searcher.search_support(
        queries, stats, request.k, request.n_threads, *answer.arrays
    )


def _by_buckets(index, queries, stats, coefs, request, answer):
    """Search in buckets of atoms by decreasing norm."""
    # The best so far compete anew in every bucket.
    bucket_size = min(request.buckets, index.n_atoms)
    n_buckets = -(-index.n_atoms // bucket_size)
    index.searcher.search_buckets(
        queries,
        stats,
        coefs,
        request.delta > 0,
        index.by_norm(),
        bucket_size,
        request.k,
        _share(index, request, index.n_atoms + request.k * n_buckets),
        request.epsilon,
        request.n_threads,
        *answer.arrays,
    )


def _share(index, request, n_arms):
    """Error probability for one atom in one round."""
    if request.delta == 0:
        return 0.0
    n_rounds = max(len(index.tile_widths), 1)
    if index.n_features >= TAIL_FEATURES:
        # Where the head does not decide, rounds of doubling go on in the atoms.
        n_blocks = index.n_features / TAIL_BLOCK
        n_rounds += ceil(log2(max(n_blocks / index.batch_size, 1)))
    return split_delta(request.delta, n_arms, 1, n_rounds)


def _by_blas(index, queries, stats, request, answer):
    """Compute all inner products."""
    n_chunk = max(MAX_SCORES // index.n_slots, 1)
    for first in range(0, len(queries), n_chunk):
        part = slice(first, first + n_chunk)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = index.scores(queries[part], request.n_jobs)
        index.searcher.pick(
            queries[part],
            stats[part],
            scores,
            request.k,
            request.n_threads,
            *(array[part] for array in answer.arrays),
        )


def _by_units(index, queries, stats, request, answer):
    """Sample from the atoms themselves; return what was given up."""
    given_up = np.empty(len(queries), dtype=np.uint8)
    for i, query in enumerate(queries):
        units = _units(index, query, stats[i], request)
        n_rounds = 1 + ceil(log2(max(units["n_units"] / units["n_first"], 1)))
        given_up[i] = index.searcher.search_units(
            queries,
            i,
            radius=request.radius,
            k=request.k,
            share=split_delta(request.delta, index.n_atoms, 1, n_rounds),
            give_up_share=GIVE_UP_SHARE if request.may_give_up else inf,
            largest=None if request.radius == "paired" else index.largest(),
            norms=index.all_norms() if request.sampling == "alpha" else None,
            indices=answer.slots,
            products=answer.products,
            counts=answer.counts,
            **units,
        )
    return given_up, int(given_up.sum())


def _units(index, query, stats, request):
    """Say what is sampled for one query, and in which order."""
    d = index.n_features
    units = {"weights": None, "length": 1, "energy": 0.0, "reach": 0.0}
    if request.sampling == "weighted":
        # With replacement; the sum over all coordinates is the mean of the rewards.
        sizes = np.abs(query, dtype=np.float64)
        probabilities = (sizes / stats[2]) ** (2 * request.beta)
        probabilities /= probabilities.sum()
        starts = np.searchsorted(probabilities.cumsum(), index.uniforms(d // 2))
        np.minimum(starts, d - 1, out=starts)
        weights = query[starts] / probabilities[starts]
        seen = probabilities > 0
        return units | {
            "sampling": "weighted",
            "starts": starts,
            "weights": weights,
            "n_first": FIRST_BATCHES * index.batch_size,
            "n_units": len(starts),
            "n_total": inf,
            "epsilon": request.epsilon,
            "reach": float((sizes[seen] / probabilities[seen]).max()),
        }
    if request.sampling == "alpha":
        return units | {
            "sampling": "ordered",
            "starts": np.argsort(-np.abs(query), kind="stable"),
            "n_first": FIRST_BATCHES * index.batch_size,
            "n_units": d // 2,
            "n_total": float(d),
            "epsilon": request.epsilon,
        }
    starts = index.block_starts(BLOCK)
    if request.radius != "paired":
        blocks = np.add.reduceat(np.abs(query), np.arange(0, d, BLOCK))
        units["reach"] = float(blocks.max())
    return units | {
        "sampling": "blocks",
        "starts": starts,
        "length": BLOCK,
        "n_first": index.batch_size,
        "n_units": len(starts) // 2,
        "n_total": float(len(starts)),
        "epsilon": request.epsilon / len(starts),
        "energy": stats[3] ** 2 / len(starts),
    }
