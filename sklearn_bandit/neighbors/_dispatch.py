"""Which way a search goes.

Every route fills an `Answer` (slots of the atoms, inner products, multiplications) for
some of the queries of a call:

- sparse queries are computed exactly from their non-zero entries;
- with a coordinate sample, `Searcher.search` drops atoms by exact bounds first, then by
  sampling;
- without one, or for other ways of sampling, `Searcher.search_references` samples from
  the atoms themselves;
- queries that are given up, and dimensions too small to gain, go to BLAS, all
  at once; a single one is computed by `scan`, which reads memory faster.
"""

from math import ceil, inf, log2

import numpy as np
from sklearn.utils import assert_all_finite

from ..bandit import split_delta
from ._all_scores import query_parts
from ._answer import Answer
from ._description import describe_queries
from ._index import SAFE_RANGE
from ._request import Plan, References, check_products

# A query is sparse if at most one entry in this number is not zero. It is computed from
# these entries alone: a gathered product costs about as much as 7 streamed ones.
SPARSE_RATIO = 16

# A single query is given up when sampling is predicted to take this fraction of the
# work of BLAS. In a batch BLAS multiplies about 8 times as fast, and sampling does not.
GIVE_UP_FRACTION = 0.5
GIVE_UP_FRACTION_BATCH = 0.05

# Batches need more coordinates than single queries before sampling pays (measured).
MIN_FEATURES_BATCH = 5_000

# Sampling from the atoms themselves reads memory in no order. It breaks even at 20,000
# coordinates on the most favourable data (measured).
MIN_FEATURES_ZERO_COPY = 20_000

# Coordinates of a block when sampling from the atoms themselves: a cache line costs no
# more than one of its entries.
BLOCK = 16

# From this dimension on, a search that the coordinate sample does not decide goes on in
# blocks of the atoms. Few atoms are left by then, and wide blocks take fewer rounds.
TAIL_FEATURES = 50_000
TAIL_BLOCK = 64

# Batches of single coordinates in the first round. One batch of blocks is enough; the
# products of single coordinates have heavier tails than sums over blocks.
FIRST_BATCHES = 4


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
    ids : ndarray of shape (n_queries, k)
        Ids of the atoms.
    counts : ndarray of shape (n_queries,)
        Multiplications of coordinates.
    """
    few = index.n_features // SPARSE_RATIO
    low, high = SAFE_RANGE[index.dtype]
    if len(queries) == 1 and _is_for_sample(index, request):
        answer = Answer(1, request.k)
        stats = np.empty((1, 4))
        plan = _plan(index, request, 1)
        outcome = index.searcher.search_one(
            queries, low, high, few, plan, stats, answer
        )
        if outcome == "given up":
            _by_blas(index, queries, stats, request, answer)
        if outcome != "special":
            return answer.products, index.to_ids(answer.slots), answer.counts
    limits = index.components, low, high, few, request.n_threads
    stats, coefs, n_bad, n_extreme, n_sparse = describe_queries(queries, *limits)
    if n_bad:
        assert_all_finite(queries)
    if n_extreme:
        queries, exponents = _bring_into_range(index, queries, stats)
        stats, coefs, *_ = describe_queries(queries, *limits)
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
        check_products(products)
    if n_extreme:
        with np.errstate(over="ignore"):
            products = np.ldexp(products, exponents[:, None])
        if request.with_products:
            check_products(products)
    return products, index.to_ids(answer.slots), answer.counts


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
    given_up, n_given_up = None, n_queries
    if request.delta > 0 and not _is_default(request):
        given_up, n_given_up = _by_references(index, queries, stats, request, answer)
    elif not index.with_norms:
        enough = index.n_features >= MIN_FEATURES_ZERO_COPY or not request.may_give_up
        if request.delta > 0 and enough:
            given_up, n_given_up = _by_references(
                index, queries, stats, request, answer
            )
    elif request.buckets is not None and index.is_safe:
        _by_buckets(index, queries, stats, coefs, request, answer)
        n_given_up = 0
    elif index.is_safe and (
        n_queries == 1
        or not request.may_give_up
        or index.n_features >= MIN_FEATURES_BATCH
    ):
        plan = _plan(index, request, n_queries)
        given_up, n_given_up = index.searcher.search(
            queries, stats, coefs, plan, request.n_threads, answer
        )
    if n_given_up == n_queries:
        _by_blas(index, queries, stats, request, answer)
    elif n_given_up:
        chosen = given_up.view(bool)
        found = Answer(n_given_up, request.k)
        found.counts[:] = answer.counts[chosen]
        _by_blas(index, queries[chosen], stats[chosen], request, found)
        answer.put(chosen, found)


def _is_default(request):
    """Whether the coordinate sample has what the request asks for."""
    return request.sampling == "uniform" and request.radius == "paired"


def _is_for_sample(index, request):
    """Whether a single query is searched in the coordinate sample, unless sparse."""
    return (
        index.with_norms
        and index.is_safe
        and request.may_give_up
        and request.buckets is None
        and (request.delta == 0 or _is_default(request))
    )


def _plan(index, request, n_queries):
    """Say how to search in the coordinate sample."""
    give_up_fraction = inf
    if request.may_give_up:
        is_single = n_queries == 1
        give_up_fraction = GIVE_UP_FRACTION if is_single else GIVE_UP_FRACTION_BATCH
    samples = request.delta > 0
    arm_delta = _arm_delta(index, request, index.n_atoms)
    blocks = None
    if samples and index.tile_widths and index.n_features >= TAIL_FEATURES:
        starts = index.block_starts(TAIL_BLOCK)
        # At least twice as many coordinates as the sample has.
        n_first = 2 * sum(index.tile_widths) // TAIL_BLOCK
        blocks = References(
            sampling="blocks",
            radius="paired",
            starts=starts,
            n_first=max(index.tile_widths[0], n_first),
            n_references=len(starts) // 2,
            n_total=float(len(starts)),
            epsilon=request.epsilon / len(starts),
            length=TAIL_BLOCK,
            norms=index.all_norms(),
            arm_delta=arm_delta,
        )
    return Plan(
        request.k, samples, arm_delta, request.epsilon, give_up_fraction, blocks
    )


def _by_support(index, queries, stats, request, answer):
    """Compute sparse queries from their non-zero entries."""
    index.searcher.search_support(queries, stats, request.n_threads, answer)


def _by_buckets(index, queries, stats, coefs, request, answer):
    """Search in buckets of atoms by decreasing norm."""
    bucket_size = min(request.buckets, index.n_atoms)
    n_buckets = -(-index.n_atoms // bucket_size)
    # The best so far compete anew in every bucket.
    n_arms = index.n_atoms + request.k * n_buckets
    plan = Plan(
        k=request.k,
        samples=request.delta > 0,
        arm_delta=_arm_delta(index, request, n_arms),
        epsilon=request.epsilon,
        # Survivors are computed when sampling is predicted to cost more than that.
        give_up_fraction=1.0,
        order=index.by_norm(),
        bucket_size=bucket_size,
    )
    index.searcher.search_buckets(
        queries, stats, coefs, plan, request.n_threads, answer
    )


def _arm_delta(index, request, n_arms):
    """Error probability for one atom in one round."""
    if request.delta == 0:
        return 0.0
    n_rounds = max(len(index.tile_widths), 1)
    if index.n_features >= TAIL_FEATURES:
        # Where the sample does not decide, rounds of doubling go on in the atoms.
        n_blocks = index.n_features / TAIL_BLOCK
        n_rounds += ceil(log2(max(n_blocks / index.batch_size, 1)))
    return split_delta(request.delta, n_arms, 1, n_rounds)


def _by_blas(index, queries, stats, request, answer):
    """Compute all inner products."""
    for part in query_parts(len(queries), index.n_slots):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = index.scores(queries[part], request.n_jobs)
        index.searcher.pick(
            queries[part],
            stats[part],
            scores,
            request.n_threads,
            answer.part(part.start, part.stop),
        )


def _by_references(index, queries, stats, request, answer):
    """Sample from the atoms themselves; return flags and number of those given up."""
    given_up = np.empty(len(queries), dtype=np.uint8)
    for i in range(len(queries)):
        references = _references(index, queries[i], stats[i], request)
        n_doublings = log2(max(references.n_references / references.n_first, 1))
        references.arm_delta = split_delta(
            request.delta, index.n_atoms, 1, 1 + ceil(n_doublings)
        )
        if request.may_give_up:
            references.give_up_fraction = GIVE_UP_FRACTION
        if request.radius != "paired":
            references.largest = index.largest()
        given_up[i] = index.searcher.search_references(
            queries[i : i + 1], references, answer.part(i, i + 1)
        )
    return given_up, int(given_up.sum())


def _references(index, query, stats, request):
    """Say what is sampled for one query, and in which order."""
    d = index.n_features
    if request.sampling == "weighted":
        # With replacement; the sum over all coordinates is the mean of the products.
        sizes = np.abs(query, dtype=np.float64)
        probabilities = (sizes / stats[2]) ** (2 * request.beta)
        probabilities /= probabilities.sum()
        starts = np.searchsorted(probabilities.cumsum(), index.uniforms(d // 2))
        np.minimum(starts, d - 1, out=starts)
        seen = probabilities > 0
        return References(
            sampling="weighted",
            radius=request.radius,
            starts=starts,
            n_first=FIRST_BATCHES * index.batch_size,
            n_references=len(starts),
            n_total=inf,
            epsilon=request.epsilon,
            weights=query[starts] / probabilities[starts],
            energy=float((sizes[seen] ** 2 / probabilities[seen]).sum()),
            norms=index.all_norms(),
            reach=float((sizes[seen] / probabilities[seen]).max()),
        )
    if request.sampling == "alpha":
        return References(
            sampling="ordered",
            radius=request.radius,
            starts=np.argsort(-np.abs(query), kind="stable"),
            n_first=FIRST_BATCHES * index.batch_size,
            n_references=d // 2,
            n_total=float(d),
            epsilon=request.epsilon,
            norms=index.all_norms(),
        )
    starts = index.block_starts(BLOCK)
    reach = 0.0
    if request.radius != "paired":
        blocks = np.add.reduceat(np.abs(query), np.arange(0, d, BLOCK))
        reach = float(blocks.max())
    return References(
        sampling="blocks",
        radius=request.radius,
        starts=starts,
        n_first=index.batch_size,
        n_references=len(starts) // 2,
        n_total=float(len(starts)),
        epsilon=request.epsilon / len(starts),
        length=BLOCK,
        energy=stats[3] ** 2 / len(starts),
        reach=reach,
        norms=index.all_norms(),
    )
