"""Maximum inner product search, beside what people use."""

import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_bandit.datasets import (
    make_correlated_normal_custom,
    make_normal_custom,
    make_symmetric_normal,
)
from sklearn_bandit.neighbors import BanditMIPS

from ..harness import Comparison, Contender, Table, benchmark
from ._asking import at_once, lazily, one_by_one
from ._mips_contenders import (
    blas,
    faiss_flat,
    ours,
    precision,
)
from ._mips_data import N_BATCH, N_SINGLE, mnist, movielens
from ._timing import alternate


def race(name, atoms, queries, k, goals, *, batch=False, **parameters):
    """Yield the comparison of one setting; one thread each for single queries."""
    ask = at_once if batch else one_by_one
    contenders = {
        "sklearn-bandit": ask(ours(atoms, k, **parameters), queries),
        "numpy": ask(blas(atoms, k), queries),
        "faiss": Contender(
            lazily(partial(faiss_flat, atoms, k), ask, queries), "faiss"
        ),
    }
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


@benchmark("mips.movielens", data=["movielens_1m"])
def movielens_races(options):
    """BanditMIPS on MovieLens: single queries, certain ones (delta=0) and a batch."""
    atoms, queries = movielens()
    single = queries[:N_SINGLE]
    for k, goal in ((1, 60.0), (10, 5.0)):
        goals = {"numpy": goal, "faiss": goal}
        yield from races_of_single_queries("MovieLens", atoms, single, k, goals)
    for k in (1, 10):
        yield from races_of_single_queries(
            "MovieLens, delta = 0", atoms, single, k, {"numpy": 3.0}, delta=0
        )
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


@benchmark("mips.cross_over")
def cross_over(options):
    """From which dimension on single queries gain, with and without preparation."""
    rows = []
    for n_features in (2_000, 3_000, 5_000, 10_000, 20_000, 50_000, 100_000):
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
