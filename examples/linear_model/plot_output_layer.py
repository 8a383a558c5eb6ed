"""
================================
The output layer of a word model
================================

A model of words ends in a linear layer with one row of weights for each word that it
knows: tens of thousands of classes. The next word is the one whose weights have the
largest inner product with the context, and its probability takes a sum over all words.
"""

# %%
# The words are those of scikit-learn's and scipy's own sources. How much more often two
# words stand near each other than chance would have it (positive pointwise mutual
# information), factorised, is what skip-gram models learn: vectors of contexts, and
# weights of words. The logarithms of their frequencies are the intercepts.
import re
from collections import Counter
from pathlib import Path

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
    found = predictor.top_classes(context(text), 4)[0]
    print(f"{text:22} {', '.join(found)}")

# %%
# The probabilities come from a copy of the weights in bytes, which bounds all scores.
# Exact scores are computed only for words whose terms of the sum the bytes leave in
# doubt. ``proba_tol`` bounds the relative error; what it really is, is far smaller.
rng = np.random.default_rng(0)
starts = rng.integers(0, len(ids) - 2 * WINDOW, 60)
inputs = []
for start in starts:
    around = ids[start : start + 2 * WINDOW]
    inputs.append(contexts[around[around >= 0]].mean(axis=0, keepdims=True))
tolerances, errors = [0.02, 0.05, 0.1, 0.2], []
for tol in tolerances:
    predictor.set_params(proba_tol=tol)
    errors.append([])
    for x in inputs:
        expected = classifier.predict_proba(x)[0]
        best = np.argsort(-expected)[:5]
        ratio = predictor.predict_proba(x)[0, best] / expected[best]
        errors[-1].append(np.abs(ratio - 1.0).max() + 1e-7)

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.boxplot(errors, tick_labels=[str(tol) for tol in tolerances])
ax.plot(range(1, 5), tolerances, "k--", label="the bound")
ax.set(yscale="log", xlabel="proba_tol", ylabel="relative error, five best words")
ax.legend()
plt.show()
print("largest errors:", np.max(errors, axis=1))
