"""The best class of an output layer of words: bytes against the classifier's own.

The layer is that of a skip-gram model of 20 newsgroups: positive pointwise mutual
information of words within five of each other, factorised, with the logarithms of
frequencies as intercepts. Inputs are the mean vectors of ten words around a gap.
"""

import re
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from sklearn_bandit.linear_model import MIPSPredictor

from ..data import load
from ..harness import Comparison, benchmark

WINDOW = 5
N_FEATURES = 512
N_INPUTS = 30


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


@benchmark("mips.output_layer", data=["newsgroups20"])
def output_layer(options):
    """Predict the words of 30 single inputs, with certainty."""
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
        ours = MIPSPredictor(
            own, prefit=True, n_jobs=options.threads, random_state=0
        ).fit()
        inputs = [mean[None, :n_features] for mean in means[:N_INPUTS]]
        inputs = [np.ascontiguousarray(x, dtype=np.float32) for x in inputs]

        best = np.array([own.predict(x)[0] for x in inputs])

        def ask(model, inputs=inputs):
            return lambda seed: [model.predict(x)[0] for x in inputs]

        yield Comparison(
            title=f"{len(frequent):,} words x {n_features}",
            contenders={"sklearn-bandit": ask(ours), "scikit-learn": ask(own)},
            quality={"equal": lambda found, best=best: np.mean(found == best)},
            rounds=5,
        )
