"""Searches for inner products: speed against precision, as in the thesis's figures."""

from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_bandit.datasets import make_normal_custom
from sklearn_bandit.neighbors import BanditMIPS

from ..harness import Contender, Table, benchmark
from ._asking import one_by_one
from ._mips_baselines import PCAMIPS, BoundedME, GreedyMIPS
from ._mips_contenders import ask_counting, blas, hits
from ._mips_data import movielens
from ._mips_hashing import H2ALSH, LSHMIPS
from ._mips_indexes import NAPG, NEQMIPS
from ._timing import alternate

# Hash values of a table and tables of LSH-MIPS, within the thesis's 1 to 10.
HASHES_AND_TABLES = ((8, 10), (4, 10), (2, 4))

NOT_COUNTED = "HNSW and IVF are libraries, which do not count; others are written here."


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
