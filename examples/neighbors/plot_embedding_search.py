"""
====================================
Search among vectors like embeddings
====================================

Exact neighbours by cosine, one query at a time. The rows are drawn like embeddings of
text: clusters, a spectrum that decays slowly, a common mean. The time of a query is
compared with a matrix product and a partial sort.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.pipeline import make_pipeline

from sklearn_bandit.neighbors import BanditNearestNeighbors, KNeighborsTransformer

rng = np.random.default_rng(0)


def draw(n_rows, n_features, n_queries=20):
    """Return rows and queries of norm one."""
    spread = np.arange(1, n_features + 1) ** -0.4
    centres = rng.standard_normal((50, n_features)) * spread
    own = rng.standard_normal((n_rows + n_queries, n_features)) * spread
    vectors = centres[rng.integers(50, size=len(own))] + own + 0.1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors.astype(np.float32)
    return vectors[:n_rows], vectors[n_rows:]


def milliseconds(ask, queries):
    """Return the median time of a query."""
    times = []
    for i in range(len(queries)):
        start = time.perf_counter()
        ask(queries[i : i + 1])
        times.append(1000 * (time.perf_counter() - start))
    return np.median(times)


# %%
# Dimensions of common models
# ---------------------------
dimensions = [64, 128, 256, 384, 768]
ours, brute = [], []
for n_features in dimensions:
    rows, queries = draw(20_000, n_features)
    search = BanditNearestNeighbors(10, metric="cosine", random_state=0).fit(rows)
    ours.append(milliseconds(search.kneighbors, queries))
    brute.append(
        milliseconds(lambda q, X=rows: np.argpartition(-(X @ q[0]), 10)[:10], queries)
    )

figure, axes = plt.subplots()
axes.plot(dimensions, ours, "o-", label="BanditNearestNeighbors")
axes.plot(dimensions, brute, "o-", label="numpy")
axes.set(xlabel="features", ylabel="milliseconds a query", ylim=(0, None))
axes.set_title("20,000 rows, 10 exact neighbours")
axes.legend()
plt.show()

# %%
# The graph of neighbours in a pipeline
# -------------------------------------
# Estimators that take a precomputed graph need not compute distances themselves. The
# rows were drawn around fifty centres, which DBSCAN finds.
rows, _ = draw(3_000, 768)
pipeline = make_pipeline(
    KNeighborsTransformer(n_neighbors=30, metric="cosine"),
    DBSCAN(metric="precomputed", eps=0.46, min_samples=10),
)
labels = pipeline.fit_predict(rows)
print(f"{labels.max() + 1} clusters, {(labels < 0).mean():.0%} of the rows in none")
