"""
================================
The output layer of a word model
================================

A model of words ends in a linear layer with one row of weights for each word that it
knows: tens of thousands of classes. The next word is the one whose weights have the
largest inner product with the context. Most words are ruled out without computing it.
"""

# %%
# The words are those of scikit-learn's and scipy's own sources. How much more often two
# words stand near each other than chance would have it (positive pointwise mutual
# information), factorised, is what skip-gram models learn: vectors of contexts, and
# weights of words. The logarithms of their frequencies are the intercepts.
import re
from collections import Counter
from copy import copy
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from sklearn_bandit.linear_model import MIPSPredictor

WINDOW, N_FEATURES = 4, 256
texts = []
for package in (sklearn, scipy):
    for path in sorted(Path(package.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore").lower()
        texts.append(re.findall(r"[a-z]{2,}", text))
counts = Counter(word for text in texts for word in text)
words = np.array(sorted(word for word, count in counts.items() if count >= 3))
place = {word: k for k, word in enumerate(words)}
ids = np.array([place.get(word, -1) for text in texts for word in text])

near = sparse.csr_matrix((len(words), len(words)))
for lag in range(1, WINDOW + 1):
    first, second = ids[:-lag], ids[lag:]
    known = (first >= 0) & (second >= 0)
    pairs = (np.full(known.sum(), 1.0 / lag), (first[known], second[known]))
    near += sparse.csr_matrix(pairs, shape=near.shape)
near = (near + near.T).tocoo()
totals = np.bincount(near.row, near.data, minlength=len(words))
information = near.data * near.data.sum() / (totals[near.row] * totals[near.col])
information = np.maximum(np.log(information), 0).astype(np.float32)
information = sparse.csr_matrix((information, (near.row, near.col)), shape=near.shape)
left, sizes, right = randomized_svd(information, N_FEATURES, n_iter=1, random_state=0)
weights, contexts = left * np.sqrt(sizes), (right.T * np.sqrt(sizes))
print(f"{len(ids):,} words, {len(words):,} of them different: {weights.shape}")

# %%
# Any fitted classifier with ``coef_`` and ``intercept_`` is an output layer.
classifier = LogisticRegression()
classifier.coef_ = weights
classifier.intercept_ = np.log(totals / totals.sum()).astype(np.float32)
classifier.classes_ = words
classifier.n_features_in_ = N_FEATURES
predictor = MIPSPredictor(classifier, prefit=True, random_state=0).fit()


def context(text):
    """Return the sum of the vectors of the words around a gap."""
    known = [place[word] for word in text.split() if word in place]
    return contexts[known].sum(axis=0, keepdims=True)


for text in ("number of ... in the", "fit the ... to data", "sparse ... product"):
    found, probabilities, _ = predictor.predict_top_proba(context(text), 4)
    pairs = zip(found[0], probabilities[0], strict=True)
    print(f"{text:22} {', '.join(f'{word} {p:.2f}' for word, p in pairs)}")

# %%
# The probabilities of so small a layer are the classifier's own. With tens of thousands
# of words, those of a single input come from a sample of the words, and the third
# answer, a bound of their relative error, is not zero.
#
# For a single input the time goes into reading the weights. The search reads a copy in
# bytes, which bounds all products with certainty, and computes few of them in full. The
# answers are the classifier's. The gain grows with the layer: of few words the products
# take no longer than the checks of a call.
rng = np.random.default_rng(0)
inputs = []
for start in rng.integers(0, len(ids) - 2 * WINDOW, 100):
    around = ids[start : start + 2 * WINDOW]
    inputs.append(contexts[around[around >= 0]].mean(axis=0, keepdims=True))


def seconds(model):
    """Return the least time for all inputs, one after the other, and the answers."""
    times = []
    for _ in range(5):
        begin = perf_counter()
        answers = [model.predict(x)[0] for x in inputs]
        times.append(perf_counter() - begin)
    return min(times), answers


sizes, times = [1_000, 2_000, 4_000, 8_000, len(words)], []
for size in sizes:
    frequent = np.sort(np.argsort(-totals)[:size])
    part = copy(classifier)
    part.coef_ = np.ascontiguousarray(weights[frequent])
    part.intercept_, part.classes_ = classifier.intercept_[frequent], words[frequent]
    own, expected = seconds(part)
    ours, found = seconds(MIPSPredictor(part, prefit=True, random_state=0).fit())
    times.append((own, ours))
    print(f"{size:6} words: {own / ours:.1f} times as fast, equal: {found == expected}")

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
milliseconds = 1e3 * np.array(times) / len(inputs)
ax.plot(sizes, milliseconds[:, 1], "o-", label="MIPSPredictor.predict")
ax.plot(sizes, milliseconds[:, 0], "o-", label="LogisticRegression.predict")
ax.set(xlabel="words", ylabel="milliseconds for an input", ylim=(0, None))
ax.legend()
plt.show()
