"""Output layers of words: the best classes and their probabilities, by search.

The layer is that of a skip-gram model of 20 newsgroups: positive pointwise mutual
information of words within five of each other, factorised, with the logarithms of
frequencies as intercepts. Inputs are the mean vectors of ten words around a gap.
"""

import re
from collections import Counter
from functools import cache
from itertools import chain, pairwise

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from sklearn_bandit.linear_model import MIPSPredictor

from ..data import load
from ..harness import Comparison, Table, benchmark

WINDOW = 5
N_FEATURES = 512
N_INPUTS = 30
N_BEST = 5


@cache
def words():
    """Return weights, vectors of contexts, intercepts and the text as numbers."""
    data = load("newsgroups20")
    text, ends = data.text.tobytes().decode("latin-1").lower(), data.offsets
    posts = [
        re.findall(r"[a-z]{2,}", text[start:end])
        for start, end in pairwise(ends.tolist())
    ]
    counts = Counter(word for post in posts for word in post)
    known = sorted(word for word, count in counts.items() if count > 1)
    place = {word: k for k, word in enumerate(known)}
    ids = [place.get(word, -1) for post in posts for word in post + [""] * WINDOW]
    ids, shape = np.array(ids), (len(known), len(known))
    near = sparse.csr_matrix(shape)
    for lag in range(1, WINDOW + 1):
        both = (ids[:-lag] >= 0) & (ids[lag:] >= 0)
        pairs = ids[:-lag][both], ids[lag:][both]
        near += sparse.csr_matrix((np.full(both.sum(), 1.0 / lag), pairs), shape=shape)
    near = (near + near.T).tocoo()
    totals = np.bincount(near.row, near.data, minlength=len(known))
    sizes = near.data * totals.sum() / (totals[near.row] * totals[near.col])
    sizes = np.maximum(np.log(sizes), 0.0).astype(np.float32)
    sizes = sparse.csr_matrix((sizes, (near.row, near.col)), shape=shape)
    left, values, right = randomized_svd(sizes, N_FEATURES, n_iter=2, random_state=0)
    roots = np.sqrt(values).astype(np.float32)
    shares = np.maximum(totals, 1e-3) / totals.sum()
    return left * roots, right.T * roots, np.log(shares).astype(np.float32), ids


def classifier(weights, intercepts):
    """Return a classifier with these weights."""
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.ascontiguousarray(weights), intercepts
    model.classes_ = np.arange(len(weights))
    model.n_features_in_ = weights.shape[1]
    return model


def word_layers():
    """Yield titles, classifiers of words and 30 inputs for each."""
    weights, contexts, intercepts, ids = words()
    starts = np.random.default_rng(0).integers(0, len(ids) - 11, 4 * N_INPUTS)
    around = [
        np.r_[ids[start : start + 5], ids[start + 6 : start + 11]] for start in starts
    ]
    means = [
        contexts[some[some >= 0]].mean(axis=0) for some in around if some.max() >= 0
    ]
    for n_classes, n_features in (
        (10_000, 512),
        (len(weights), 256),
        (len(weights), 512),
    ):
        frequent = np.sort(np.argsort(-intercepts)[:n_classes])
        own = classifier(weights[frequent, :n_features], intercepts[frequent])
        yield f"{len(frequent):,} words x {n_features}", own, single(means, n_features)


def single(vectors, n_features):
    """Return some vectors as inputs of their own."""
    inputs = [vector[None, :n_features] for vector in vectors[:N_INPUTS]]
    return [np.ascontiguousarray(x, dtype=np.float32) for x in inputs]


def gene_layer():
    """Return a title, a classifier of genes and 30 cells, made like that of words."""
    counts = load("pbmc3k_counts").X.T.tocoo().astype(np.float64)
    genes = np.bincount(counts.row, counts.data, minlength=counts.shape[0])
    cells = np.bincount(counts.col, counts.data, minlength=counts.shape[1])
    sizes = counts.data * genes.sum() / (genes[counts.row] * cells[counts.col])
    sizes = np.maximum(np.log(sizes), 0.0)
    sizes = sparse.csr_matrix((sizes, (counts.row, counts.col)), counts.shape)
    left, values, right = randomized_svd(sizes, N_FEATURES, n_iter=2, random_state=0)
    roots = np.sqrt(values)
    weights = (left * roots).astype(np.float32)
    intercepts = np.log(np.maximum(genes, 0.5) / genes.sum()).astype(np.float32)
    own = classifier(weights, intercepts)
    return f"{len(weights):,} genes x 512", own, single(right.T * roots, N_FEATURES)


@benchmark("mips.output_layer", data=["newsgroups20"])
def output_layer(options):
    """Predict the words of 30 single inputs, with certainty."""
    for title, own, inputs in word_layers():
        ours = predictor_of(own, options.threads)
        best = np.array([own.predict(x)[0] for x in inputs])

        def ask(model, inputs=inputs):
            return lambda seed: [model.predict(x)[0] for x in inputs]

        yield Comparison(
            title=title,
            contenders={"sklearn-bandit": ask(ours), "scikit-learn": ask(own)},
            quality={"equal": lambda found, best=best: np.mean(found == best)},
            rounds=5,
        )


def predictor_of(own, threads, seed=0):
    """Return the search over the weights of a classifier."""
    return MIPSPredictor(own, prefit=True, n_jobs=threads, random_state=seed).fit()


def five_best(model):
    """Return what computes all probabilities, and takes the five largest."""

    def answer(x):
        probabilities = model.predict_proba(x)[0]
        best = np.argpartition(-probabilities, N_BEST - 1)[:N_BEST]
        best = best[np.argsort(-probabilities[best])]
        return model.classes_[best], probabilities[best]

    return answer


@benchmark("mips.top_proba", data=["newsgroups20", "pbmc3k_counts"])
def top_proba(options):
    """The five best classes and their probabilities, within 5%; 30 single inputs.

    The constants of the sample were chosen on the layers of 69,598 words, its largest
    share of the classes on that of genes.
    """
    for title, own, inputs in chain(word_layers(), [gene_layer()]):
        ours = predictor_of(own, options.threads)
        answer = five_best(own)
        expected = [answer(x) for x in inputs]

        def largest_error(found, expected=expected):
            return max(
                np.abs(probabilities / exact - 1.0).max()
                for (_, probabilities), (_, exact) in zip(found, expected, strict=True)
            )

        def by_sample(seed, ours=ours, inputs=inputs):
            answers = [ours.predict_top_proba(x, N_BEST) for x in inputs]
            return [(classes[0], proba[0]) for classes, proba, _ in answers]

        def by_all(seed, answer=answer, inputs=inputs):
            return [answer(x) for x in inputs]

        yield Comparison(
            title=title,
            contenders={"sklearn-bandit": by_sample, "scikit-learn": by_all},
            quality={"largest error": largest_error},
            rounds=5,
        )


@benchmark("mips.top_proba_failures", data=["newsgroups20", "pbmc3k_counts"])
def top_proba_failures(options):
    """How often an error is larger than its bound; delta is .01."""
    rows, n_draws = [], options.rounds or 20
    for title, own, inputs in chain(word_layers(), [gene_layer()]):
        exact = [own.predict_proba(x)[0] for x in inputs]
        bounds, errors = [], []
        for seed in range(n_draws):
            ours = predictor_of(own, options.threads, seed)
            for x, probabilities in zip(inputs, exact, strict=True):
                classes, found, bound = ours.predict_top_proba(x, N_BEST)
                bounds.append(bound[0])
                error = np.abs(found[0] / probabilities[classes[0]] - 1.0).max()
                errors.append(error)
        bounds, errors = np.array(bounds), np.array(errors)
        is_drawn = bounds > 0.0
        rows.append([title, len(bounds), int(is_drawn.sum())])
        rows[-1] += [int(np.sum(errors > bounds + 1e-5))]
        rows[-1] += [np.median(bounds[is_drawn]) if is_drawn.any() else None]
        rows[-1] += [errors[is_drawn].max() if is_drawn.any() else None]
    yield Table(
        "bounds of the errors of probabilities",
        ["layer", "inputs", "by sample", "failures", "median bound", "largest error"],
        rows,
    )
