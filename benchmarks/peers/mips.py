"""Maximum inner product search and matching pursuit, beside what people use."""

import time
from functools import cache, partial
from itertools import product
from math import log
from unittest.mock import patch

import numpy as np
import sklearn
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn_bandit.neighbors._answer import Answer
from sklearn_bandit.neighbors._description import describe_queries
from threadpoolctl import threadpool_limits

from sklearn_bandit.datasets import (
    make_correlated_normal_custom,
    make_normal_custom,
    make_simple_song,
    make_symmetric_normal,
)
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.neighbors import BanditMIPS, _dispatch, _index

from ..data import load
from ..harness import Comparison, Contender, Table, benchmark
from ._mips_baselines import PCAMIPS, BoundedME, GreedyMIPS
from ._mips_hashing import H2ALSH, LSHMIPS
from ._mips_indexes import NAPG, NEQMIPS
from ._timing import alternate

# Hash values of a table and tables of LSH-MIPS, within the thesis's 1 to 10.
HASHES_AND_TABLES = ((8, 10), (4, 10), (2, 4))

N_SINGLE = 100
N_BATCH = 200
DELTA = 0.01


@cache
def movielens():
    """MovieLens-1M as in the thesis: NMF with 15 factors; atoms are movies."""
    data = load("movielens_1m")
    places = data.user.astype(int) - 1, data.item.astype(int) - 1
    ratings = sparse.csr_matrix(
        (data.rating.astype(np.float32), places), shape=tuple(data.shape)
    )
    model = NMF(15, init="nndsvda", max_iter=200, random_state=0)
    movies = (model.fit_transform(ratings) @ model.components_).T.astype(np.float32)
    movies = movies[np.abs(movies).max(axis=1) > 0]
    return _hold_out(movies, N_BATCH)


@cache
def mnist():
    """MNIST digits, test digits as queries."""
    data = load("mnist")
    return data.X_train.astype(np.float32), data.X_test[:N_BATCH].astype(np.float32)


@cache
def mnist_transposed():
    """Pixels as atoms and queries: many queries are sparse."""
    pixels = load("mnist").X_train.T.astype(np.float32)
    return _hold_out(pixels[pixels.any(axis=1)], 300)


@cache
def newsgroups():
    """TF-IDF of 20 newsgroups, dense: atoms and queries are sparse vectors."""
    data = load("newsgroups20")
    text, ends = data.text.tobytes(), data.offsets
    posts = [text[ends[i] : ends[i + 1]].decode("latin-1") for i in range(1000)]
    vectors = TfidfVectorizer(min_df=3).fit_transform(posts).astype(np.float32)
    return _hold_out(vectors.toarray(), 500)


def low_rank(n_atoms=1000, n_features=4096, n_queries=500, rank=20):
    """Vectors of low rank plus noise."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((rank, n_features))

    def vectors(n):
        noise = 0.5 * rng.standard_normal((n, n_features))
        return (rng.standard_normal((n, rank)) @ factors + noise).astype(np.float32)

    return vectors(n_atoms), vectors(n_queries)


def pareto(n_atoms=1000, n_features=4096, n_queries=500):
    """Vectors with heavy tails: Pareto with exponent 1.5, random signs."""
    rng = np.random.default_rng(0)
    shape = n_atoms + n_queries, n_features
    vectors = rng.pareto(1.5, shape) * rng.choice([-1.0, 1.0], shape)
    vectors = vectors.astype(np.float32)
    return vectors[:n_atoms], vectors[n_atoms:]


def _hold_out(vectors, n_queries):
    order = np.random.default_rng(0).permutation(len(vectors))
    atoms, queries = vectors[order[n_queries:]], vectors[order[:n_queries]]
    return np.ascontiguousarray(atoms), np.ascontiguousarray(queries)


# -- contenders: a function of a block of queries that returns indices ----------------


def ours(atoms, k, **parameters):
    """Return a fitted search, as a function of the queries."""
    search = BanditMIPS(k, delta=DELTA, random_state=0).set_params(**parameters)
    search.fit(atoms)
    return lambda queries: search.kneighbors(queries)[1]


def blas(atoms, k):
    """Return the matrix product, the faster way round, and a partial sort."""

    def query(queries):
        if len(queries) == 1:
            scores = (atoms @ queries[0])[None]
        elif len(atoms) > 8 * atoms.shape[1]:
            scores = queries @ atoms.T
        else:
            scores = (atoms @ queries.T).T
        if k == 1:
            return scores.argmax(axis=1)[:, None]
        return np.argpartition(-scores, k, axis=1)[:, :k]

    return query


def faiss_flat(atoms, k):
    """Return faiss's exact index."""
    import faiss

    index = faiss.IndexFlatIP(atoms.shape[1])
    index.add(atoms)
    return lambda queries: index.search(queries, k)[1]


def ask_counting(search, queries):
    """Ask one query at a time; return all answers and their multiplications."""
    answers = []
    for i in range(len(queries)):
        found = search.kneighbors(queries[i : i + 1])[1]
        answers.append((found[0], search.n_multiplications_[0]))
    found, counts = zip(*answers, strict=True)
    return np.array(found), np.array(counts)


def one_by_one(query, queries):
    """Return a contender that asks one query at a time."""
    return lambda seed: np.vstack(
        [query(queries[i : i + 1]) for i in range(len(queries))]
    )


def lazily(ask, make, atoms, k, queries):
    """Return a contender whose index is built in its first run, off the clock."""
    runs = []

    def run(seed):
        if not runs:
            runs.append(ask(make(atoms, k), queries))
        return runs[0](seed)

    return run


def at_once(query, queries):
    """Return a contender that asks all queries in one call."""
    return lambda seed: query(queries)


def hits(atoms, queries, k):
    """Return which of the atoms in an answer are among the true best k; ties are."""
    scores = queries @ atoms.T
    bars = np.partition(scores, -k, axis=1)[:, -k]
    slack = 1e-6 * np.linalg.norm(queries, axis=1) * np.linalg.norm(atoms, axis=1).max()

    def compare(indices):
        found = np.take_along_axis(scores, indices, axis=1)
        return found >= (bars - slack)[:, None]

    return compare


def precision(atoms, queries, k):
    """Return the share of the true best k that an answer holds, as a quality."""
    compare = hits(atoms, queries, k)
    return {f"precision@{k}": lambda indices: compare(indices).mean()}


def race(name, atoms, queries, k, goals, *, batch=False, with_faiss=True, **parameters):
    """Yield the comparison of one setting; one thread each for single queries."""
    ask = at_once if batch else one_by_one
    contenders = {
        "sklearn-bandit": ask(ours(atoms, k, **parameters), queries),
        "numpy": ask(blas(atoms, k), queries),
    }
    if with_faiss:
        contenders["faiss"] = Contender(
            lazily(ask, faiss_flat, atoms, k, queries), "faiss"
        )
    how = f"{len(queries)} queries at once" if batch else "single queries"
    n_atoms, n_features = atoms.shape
    yield Comparison(
        title=f"{name}, {n_atoms:,} x {n_features:,}, k = {k}, {how}",
        contenders=contenders,
        quality=precision(atoms, queries, k),
        goals=goals,
        rounds=5,
    )


def races_of_single_queries(*arguments, **parameters):
    """Yield `race` while BLAS is held to one thread, outside the clock."""
    with threadpool_limits(1):
        yield from race(*arguments, **parameters)


# -- races ---------------------------------------------------------------------------


@benchmark("mips.movielens", data=["movielens_1m"])
def movielens_races(options):
    """BanditMIPS on MovieLens: single queries and a batch."""
    atoms, queries = movielens()
    single = queries[:N_SINGLE]
    for k, goal in ((1, 12.0), (10, 5.0)):
        goals = {"numpy": goal, "faiss": goal}
        yield from races_of_single_queries("MovieLens", atoms, single, k, goals)
    goals = {"numpy": 1.5, "faiss": 1.5}
    yield from race("MovieLens", atoms, queries, 1, goals, batch=True)
    yield fit_times("MovieLens", atoms, single)


@benchmark("mips.synthetic")
def synthetic_races(options):
    """BanditMIPS on the thesis's synthetic data."""
    atoms, queries = make_correlated_normal_custom(
        4_000, 10_000, N_BATCH, random_state=0
    )
    name = "CORRELATED_NORMAL_CUSTOM"
    single = queries[:N_SINGLE]
    yield from races_of_single_queries(name, atoms, single, 1, {"numpy": 50.0})
    yield from race(name, atoms, queries, 1, {"numpy": 5.0}, batch=True)
    yield fit_times(name, atoms, single)

    atoms, queries = make_normal_custom(4_000, 10_000, N_SINGLE, random_state=0)
    yield from races_of_single_queries(
        "NORMAL_CUSTOM", atoms, queries, 1, {"numpy": 5.0}
    )
    with threadpool_limits(1):
        yield medians("NORMAL_CUSTOM", atoms, queries, 1, goal=30.0)


@benchmark("mips.wide")
def wide_races(options):
    """BanditMIPS in 100,000 dimensions, with and without preparation."""
    name = "CORRELATED_NORMAL_CUSTOM"
    atoms, queries = make_correlated_normal_custom(1_000, 100_000, 30, random_state=0)
    yield from races_of_single_queries(
        name, atoms, queries, 1, {"numpy": 100.0}, with_faiss=False
    )
    yield from races_of_single_queries(
        f"{name}, zero-copy",
        atoms,
        queries,
        1,
        {"numpy": 5.0},
        with_faiss=False,
        layout="zero-copy",
    )


@benchmark("mips.cross_over")
def cross_over(options):
    """From which dimension on single queries gain, with and without preparation."""
    rows = []
    for n_features in (2_000, 3_000, 5_000, 10_000, 20_000, 50_000):
        atoms, queries = make_correlated_normal_custom(
            1_000, n_features, 20, random_state=0
        )
        runs = {
            "numpy": one_by_one(blas(atoms, 1), queries),
            "auto": one_by_one(ours(atoms, 1), queries),
            "zero-copy": one_by_one(ours(atoms, 1, layout="zero-copy"), queries),
        }
        with threadpool_limits(1):
            seconds = alternate({c: partial(f, 0) for c, f in runs.items()}, n_rounds=5)
        exact = np.array(seconds["numpy"])
        gains = [np.median(exact / seconds[layout]) for layout in ("auto", "zero-copy")]
        rows.append([n_features, *map(float, gains)])
    yield Table(
        title="CORRELATED_NORMAL_CUSTOM, n = 1,000, single queries: gain over numpy",
        columns=["d", "auto", "zero-copy"],
        rows=rows,
    )


@benchmark("mips.worst")
def worst_cases(options):
    """What BanditMIPS costs where it cannot win: ratios below one, by a little."""
    for n_features in (3_000, 10_000):
        atoms, queries = make_symmetric_normal(
            4_000, n_features, N_BATCH, random_state=0
        )
        for k in (1, 10):
            yield from races_of_single_queries(
                "SymmetricNormal", atoms, queries[:30], k, {"numpy": 1 / 1.25}
            )
        yield from race(
            "SymmetricNormal", atoms, queries, 1, {"numpy": 1 / 1.25}, batch=True
        )


@benchmark("mips.moderate", data=["mnist"])
def moderate_dimensions(options):
    """MNIST, 784 dimensions: sampling does not pay, routing must."""
    atoms, queries = mnist()
    goal = {"numpy": 1 / 1.1}
    yield from races_of_single_queries("MNIST", atoms, queries[:30], 1, goal)
    yield from races_of_single_queries("MNIST", atoms, queries[:30], 10, goal)
    yield from race("MNIST", atoms, queries, 10, goal, batch=True)


@benchmark("mips.exact", data=["movielens_1m"])
def exact_mode(options):
    """delta=0: bounds that hold with certainty, against BLAS."""
    atoms, queries = movielens()
    for k in (1, 10):
        yield from races_of_single_queries(
            "MovieLens, delta = 0",
            atoms,
            queries[:N_SINGLE],
            k,
            {"numpy": 3.0},
            delta=0,
        )


@benchmark("mips.song")
def song(options):
    """Matching pursuit on SimpleSong of one, two and eight minutes (0.5 to 4 GB)."""
    for minutes in (1, 2, 8):
        if options.wants(f"{minutes} min"):
            yield from song_race(minutes)


def song_race(minutes):
    """Yield the comparison for one length of the song."""
    X, y, _ = make_simple_song(interval=30.0 * minutes)

    def exact(seed):
        residual, support = y.copy(), []
        for _ in range(5):
            products = X.T @ residual
            best = int(np.abs(products).argmax())
            atom = X[:, best]
            residual -= products[best] / (atom @ atom) * atom
            support.append(best)
        return support

    truth = exact(0)

    def pursue(**parameters):
        def run(seed):
            pursuit = BanditMatchingPursuit(
                n_nonzero_coefs=5,
                fit_intercept=False,
                random_state=seed,
                **parameters,
            )
            return list(pursuit.fit(X, y).support_)

        return run

    def scikit_learn(seed):
        pursuit = OrthogonalMatchingPursuit(n_nonzero_coefs=5, fit_intercept=False)
        strengths = -np.abs(pursuit.fit(X, y).coef_)
        return list(np.argsort(strengths, kind="stable")[:5])

    settings = {
        "matching pursuit": ({"orthogonal": False}, {"exact matching pursuit": 5.0}),
        "orthogonal matching pursuit": ({}, {"scikit-learn's OMP": 50.0}),
        "matching pursuit, sampled coefficients": (
            {"orthogonal": False, "coef": "sampled"},
            {"exact matching pursuit": 50.0},
        ),
    }
    for name, (parameters, goals) in settings.items():
        ours_by_default = pursue(**parameters)
        contenders = {
            f"sklearn-bandit, {name}": ours_by_default,
            "the same, assume_finite": finite_assumed(ours_by_default),
            "exact matching pursuit": exact,
        }
        # Eight minutes would take scikit-learn most of a minute and 4 GB more.
        if "scikit-learn's OMP" in goals and minutes == 1:
            contenders["scikit-learn's OMP"] = scikit_learn
        yield Comparison(
            title=f"SimpleSong, {minutes} min, 48 notes: {name}",
            contenders=contenders,
            quality={"same notes in the same order": lambda found: found == truth},
            goals=goals,
            rounds=3,
        )


def finite_assumed(run):
    """Return a contender that need not look for NaN and infinity."""

    def run_so(seed):
        with sklearn.config_context(assume_finite=True):
            return run(seed)

    return run_so


# -- tables --------------------------------------------------------------------------


def fit_times(name, atoms, queries):
    """Return the cost of fitting, in exact queries."""
    with threadpool_limits(1):
        seconds = alternate(
            {
                "auto": lambda: BanditMIPS(random_state=0).fit(atoms),
                "zero-copy": lambda: BanditMIPS(layout="zero-copy").fit(atoms),
                "one exact query": lambda: atoms @ queries[0],
            },
            n_rounds=3,
        )
    exact = seconds["one exact query"]
    rows = [
        [layout, float(np.median(seconds[layout])), float(np.median(taken / exact))]
        for layout in ("auto", "zero-copy")
        for taken in [np.array(seconds[layout])]
    ]
    return Table(
        title=f"{name}: fitting, one thread",
        columns=["layout", "seconds", "in exact queries"],
        rows=rows,
    )


def medians(name, atoms, queries, k, goal):
    """Return the median over queries, where a few hard ones make the mean.

    As in the races, all queries are asked by one contender and then by the other: a
    call that follows one of the other's would find the caches full of its atoms.
    """
    ask = {"sklearn-bandit": ours(atoms, k), "numpy": blas(atoms, k)}
    rounds = {contender: [] for contender in ask}

    def time_all(contender):
        times = []
        for i in range(len(queries)):
            start = time.perf_counter()
            ask[contender](queries[i : i + 1])
            times.append(time.perf_counter() - start)
        rounds[contender].append(times)

    alternate({contender: partial(time_all, contender) for contender in ask}, 5)
    seconds = {
        contender: np.median(times[1:], axis=0) for contender, times in rounds.items()
    }
    ratio = np.median(seconds["numpy"]) / np.median(seconds["sklearn-bandit"])
    return Table(
        title=f"{name}, {atoms.shape[0]:,} x {atoms.shape[1]:,}, k = {k}: medians",
        columns=["contender", "median seconds", "mean seconds"],
        rows=[
            [contender, float(np.median(times)), float(np.mean(times))]
            for contender, times in seconds.items()
        ],
        note=f"ratio of medians {ratio:.1f}x, goal {goal:g}x",
    )


@benchmark("mips.flat")
def flat(options):
    """Time and multiplications of a query as the dimension grows."""
    sizes = (10_000, 100_000, 1_000_000)
    costs = {n_features: [] for n_features in sizes}
    for seed in range(7):
        # The same problem cut to its first coordinates, which are independent: how far
        # the best atom is ahead differs by more from draw to draw than anything else.
        atoms, queries = make_correlated_normal_custom(
            100, max(sizes), 20, random_state=seed
        )
        for n_features in sizes:
            part = [np.ascontiguousarray(x[:, :n_features]) for x in (atoms, queries)]
            with threadpool_limits(1):
                costs[n_features].append(cost_of_a_query(*part))
    rows = [[d, *np.median(draws, axis=0).tolist()] for d, draws in costs.items()]
    yield Table(
        title="CORRELATED_NORMAL_CUSTOM, n = 100: cost of a query, medians of 7 draws",
        columns=[
            "d",
            "microseconds",
            "without passes over q",
            "the same, caches cold",
            "multiplications",
        ],
        rows=rows,
        note="goal: time without passes and multiplications grow at most 1.5x. A pass "
        "over a long q evicts what the rest of the call needs; 'caches cold' has every "
        "call, long or short, follow a pass over a million entries.",
    )


def cost_of_a_query(atoms, queries):
    """Return microseconds, those beside the passes over q (twice), multiplications."""
    n_queries, n_features = queries.shape
    search = BanditMIPS(1, delta=DELTA, random_state=0).fit(atoms)
    few = n_features // _dispatch.SPARSE_RATIO
    blocks = [queries[i : i + 1] for i in range(n_queries)]
    other = np.ones(1_000_000, dtype=np.float32)
    scores = np.zeros((1, len(atoms)), dtype=np.float32)
    scores[0, 0] = 1e30
    answer = Answer(1, 1)
    limits = search._index.components, 0.0, np.inf, few, 1

    def read(block):
        # What reads all of q: norm and component, and the product of one atom.
        stats = describe_queries(block, *limits)[0]
        search._index.searcher.pick(block, stats, scores, 1, answer)

    def for_all(call, before=lambda: None):
        for block in blocks:
            before()
            call(block)

    seconds = alternate(
        {
            "query": lambda: for_all(search.kneighbors),
            "pass": lambda: for_all(read),
            "cold query": lambda: for_all(search.kneighbors, other.sum),
            "cold pass": lambda: for_all(read, other.sum),
        },
        n_rounds=5,
    )
    micros = {name: 1e6 * np.median(t) / n_queries for name, t in seconds.items()}
    counts = ask_counting(search, queries)[1]
    return (
        micros["query"],
        micros["query"] - micros["pass"],
        micros["cold query"] - micros["cold pass"],
        float(np.median(counts)) - 2 * n_features,
    )


@benchmark("mips.failures", data=["movielens_1m", "mnist", "newsgroups20"])
def failures(options):
    """Failure rates where sampling must decide, over 2,000 queries each."""
    problems = {
        "MovieLens": movielens,
        "MovieLens, constant component only": movielens,
        "NORMAL_CUSTOM": lambda: make_normal_custom(1000, 4096, 500, random_state=1),
        "low rank": low_rank,
        "MNIST": lambda: (mnist()[0][:5000], mnist()[1]),
        "MNIST transposed (sparse queries)": mnist_transposed,
        "TF-IDF of 20 newsgroups": newsgroups,
        "Pareto, exponent 1.5": pareto,
    }
    rows = []
    for name, make in problems.items():
        if not options.wants(name):
            continue
        n_components = 0 if "constant" in name else _index.MAX_COMPONENTS
        # Sampled in any dimension, however little that gains.
        with (
            patch.object(_index, "MIN_FEATURES", 256),
            patch.object(_index, "MAX_COMPONENTS", n_components),
        ):
            rows.append(failure_row(name, *make()))
    yield Table(
        "Queries whose best k atoms were not found, k = 1, 5 and 10 together; "
        f"multiplications saved at delta = {SAVED_DELTA}",
        [
            "data",
            "atoms x dimension",
            *(f"wrong, delta = {delta}" for delta in DELTAS),
            *(f"saved, k = {k}" for k in NUMBERS),
        ],
        rows,
        note="Giving up is disabled, and sampling is forced in any dimension and for "
        "sparse queries. Where nothing is saved, everything was computed, and the "
        "count says nothing about the radii.",
    )


NUMBERS = (1, 5, 10)
DELTAS = (0.1, 0.01, 0.001)
SAVED_DELTA = 0.01


def failure_row(name, atoms, queries, n_asked=2_000):
    """Count queries whose answer is not the true one, for every delta."""
    wrong = dict.fromkeys(DELTAS, 0)
    multiplied = dict.fromkeys(NUMBERS, 0)
    compare = {k: hits(atoms, queries, k) for k in NUMBERS}
    n_seeds = -(-n_asked // len(queries))
    for seed in range(n_seeds):
        search = BanditMIPS(random_state=seed).fit(atoms)
        search._may_give_up = False
        for k, delta in product(NUMBERS, DELTAS):
            found = search.set_params(delta=delta).kneighbors(queries, k)[1]
            wrong[delta] += int((~compare[k](found).all(axis=1)).sum())
            if delta == SAVED_DELTA:
                multiplied[k] += int(search.n_multiplications_.sum())
    n_asked = n_seeds * len(queries)
    row = [name, f"{atoms.shape[0]:,} x {atoms.shape[1]:,}"]
    row += [f"{n:,} of {n_asked * len(NUMBERS):,}" for n in wrong.values()]
    return row + [n_asked * atoms.size / n for n in multiplied.values()]


@benchmark("mips.multiplications", data=["movielens_1m"])
def multiplications(options):
    """Multiplications on MovieLens beside the thesis's 20x (alpha: 27x)."""
    atoms, queries = movielens()
    rows = []
    for name, parameters in {
        "uniform": {},
        "weighted, beta = 1": {"sampling": "weighted"},
        "weighted, beta = 0.5": {"sampling": "weighted", "beta": 0.5},
        "alpha": {"sampling": "alpha"},
        "zero-copy": {"layout": "zero-copy"},
        "buckets of 30": {"buckets": 30},
        "delta = 0": {"delta": 0},
        "bernstein": {"radius": "bernstein"},
        "hoeffding": {"radius": "hoeffding"},
    }.items():
        for k in (1, 10):
            search = BanditMIPS(k, delta=DELTA, random_state=0).set_params(**parameters)
            search.fit(atoms)
            found, counts = ask_counting(search, queries[:N_SINGLE])
            score = hits(atoms, queries[:N_SINGLE], k)(found).mean()
            rows.append([name, k, float(atoms.size / counts.mean()), float(score)])
    yield Table(
        title=f"MovieLens, delta = {DELTA}: multiplications saved over an exact search",
        columns=["sampling", "k", "saved", "precision"],
        rows=rows,
    )


@benchmark("mips.buckets")
def buckets(options):
    """Growth of the multiplications with the number of atoms."""
    sizes = (1_000, 4_000, 16_000, 50_000)
    rows = []
    for name, parameters in {"none": {}, "buckets of 30": {"buckets": 30}}.items():
        counts = []
        for n_atoms in sizes:
            atoms, queries = make_correlated_normal_custom(
                n_atoms, 3_000, 10, random_state=0
            )
            search = BanditMIPS(1, delta=DELTA, random_state=0).set_params(**parameters)
            search.fit(atoms)
            counts.append(float(ask_counting(search, queries)[1].mean()))
        exponent = np.polyfit([log(n) for n in sizes], np.log(counts), 1)[0]
        rows.append([name, *counts, float(exponent)])
    yield Table(
        title="CORRELATED_NORMAL_CUSTOM, d = 3,000: multiplications by number of atoms",
        columns=["buckets", *(f"{n:,}" for n in sizes), "exponent"],
        rows=rows,
        note="goal: exponent at most 0.8",
    )


@benchmark("mips.tradeoff", data=["movielens_1m"])
def tradeoff(options):
    """Multiplications saved against precision, as in the thesis's figures."""
    problems = {
        "MovieLens": movielens,
        "NORMAL_CUSTOM": lambda: make_normal_custom(1_000, 5_000, 50, random_state=0),
    }
    for name, make in problems.items():
        if not options.wants(name):
            continue
        atoms, queries = make()
        with threadpool_limits(1):
            yield tradeoff_table(name, atoms[:1000], queries[:50])


NOT_COUNTED = "HNSW and IVF are libraries, which do not count; others are written here."


def tradeoff_table(name, atoms, queries, k=1, timed=True):
    """Return speed-up and precision of every algorithm over its own parameter.

    Without times only multiplications are shown, and algorithms that count them.
    """
    compare = hits(atoms, queries, k)
    exact = blas(atoms, k)
    rows = []

    def add(algorithm, setting, found, counts=None, query=None):
        saved = "not counted" if counts is None else float(atoms.size / np.mean(counts))
        precise = float(compare(np.array(found).reshape(len(queries), k)).mean())
        faster = "not timed"
        if timed and query is not None:
            runs = {"ours": one_by_one(query, queries)}
            runs["exact"] = one_by_one(exact, queries)
            seconds = alternate({c: partial(f, 0) for c, f in runs.items()}, n_rounds=3)
            faster = float(np.median(seconds["exact"]) / np.median(seconds["ours"]))
        times = [faster] if timed else []
        rows.append([algorithm, setting, saved, *times, precise])

    for sampling in ("uniform", "alpha"):
        for delta in (0.5, 0.01, 1e-6):
            search = BanditMIPS(k, delta=delta, sampling=sampling, random_state=0)
            search.fit(atoms)
            found, counts = ask_counting(search, queries)
            query = partial(search.kneighbors, return_distance=False)
            add(f"BanditMIPS, {sampling}", f"delta={delta:g}", found, counts, query)
    baselines = {
        "BoundedME": [(BoundedME, {"epsilon": e}) for e in (0.03, 0.1, 0.3)],
        "Greedy-MIPS": [(GreedyMIPS, {"budget": b}) for b in (5, 20, 100)],
        "PCA-MIPS": [(PCAMIPS, {"depth": depth}) for depth in (1, 3, 5)],
        "LSH-MIPS": [
            (LSHMIPS, {"n_hashes": h, "n_tables": t}) for h, t in HASHES_AND_TABLES
        ],
        "H2-ALSH": [(H2ALSH, {"ratio": ratio}) for ratio in (1.5, 2.0, 4.0)],
        "NEQ-MIPS": [
            (NEQMIPS, {"n_codebooks": 8, "n_codewords": 16, "n_candidates": n})
            for n in (5, 20, 100)
        ],
        "NAPG": [(NAPG, {"n_links": 16, "n_open": n}) for n in (5, 20, 100)],
    }
    for algorithm, settings in baselines.items():
        for make, parameters in settings:
            index = make(atoms, **parameters)
            answers = [pad(index.query(query, k), k) for query in queries]
            setting = ", ".join(f"{key}={value}" for key, value in parameters.items())
            add(algorithm, setting, *zip(*answers, strict=True))
    for algorithm, setting, query in graph_indexes(atoms, k) if timed else ():
        add(algorithm, setting, query(queries), query=query)
    return Table(
        title=f"{name}, {atoms.shape[0]:,} x {atoms.shape[1]:,}, k = {k}, one thread",
        columns=[
            "algorithm",
            "setting",
            "multiplications saved",
            *(["times as fast as numpy"] if timed else []),
            f"precision@{k}",
        ],
        rows=rows,
        note="Preprocessing is left out. " + timed * NOT_COUNTED,
    )


def pad(answer, k):
    """Fill an answer that is too short with an atom (a leaf may be empty)."""
    found, n_products = answer
    return np.resize(found if len(found) else [0], k), n_products


def graph_indexes(atoms, k):
    """Yield HNSW and an inverted file as functions, where they are installed."""
    if Contender(None, needs="hnswlib").is_installed:
        import hnswlib

        graph = hnswlib.Index(space="ip", dim=atoms.shape[1])
        graph.init_index(max_elements=len(atoms), M=16, ef_construction=100)
        graph.add_items(atoms)
        graph.set_num_threads(1)
        for ef in (10, 50, 200):
            graph.set_ef(ef)
            yield "HNSW (hnswlib)", f"ef={ef}", lambda q: graph.knn_query(q, k)[0]
    if Contender(None, needs="faiss").is_installed:
        import faiss

        quantizer = faiss.IndexFlatIP(atoms.shape[1])
        lists = faiss.IndexIVFFlat(
            quantizer, atoms.shape[1], 32, faiss.METRIC_INNER_PRODUCT
        )
        lists.train(atoms)
        lists.add(atoms)
        for n_probe in (1, 4, 16):
            lists.nprobe = n_probe
            yield (
                "IVF (faiss)",
                f"nprobe={n_probe}",
                lambda q: np.maximum(lists.search(q, k)[1], 0),
            )
