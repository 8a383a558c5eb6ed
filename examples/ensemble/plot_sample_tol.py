"""
===============================
How soon samples of rows double
===============================

With ``solver="mab"`` boosted trees are grown on samples. ``sample_tol`` says which
share of the gain that a sample promises may be missing on other rows before samples are
doubled: 0 takes all rows at once, infinity keeps the first size for good.
"""

# %%
# 300,000 rows of ten features, sixty trees.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from sklearn_bandit.ensemble import HistGradientBoostingClassifier

rng = np.random.default_rng(0)
n_train, n_test = 300_000, 50_000
X = rng.standard_normal((n_train + n_test, 10), dtype=np.float32)
signal = X[:, :8].sum(axis=1) / 3 + X[:, 0] * X[:, 1] + np.abs(X[:, 2])
y = signal + rng.logistic(size=len(X)) > 0.8

tolerances = [0.0, 0.1, 0.2, 0.4, 0.7, 1.0, np.inf]
cost, loss, sizes = [], [], {}
for tolerance in tolerances:
    model = HistGradientBoostingClassifier(
        solver="mab",
        batch_size=8192,
        sample_tol=tolerance,
        max_iter=60,
        early_stopping=False,
        random_state=0,
    ).fit(X[:n_train], y[:n_train])
    cost.append(model.n_insertions_ / 1e6)
    loss.append(log_loss(y[n_train:], model.predict_proba(X[n_train:])))
    sizes[tolerance] = model.sample_sizes_
    print(
        f"sample_tol={tolerance:4}: {cost[-1]:5.0f} million insertions, "
        f"loss {loss[-1]:.4f}"
    )

# %%
# The cost falls fortyfold from all rows to the first size for good, and the losses are
# within .005 of each other. The least is in between: values of leaves on samples are a
# little too large, which acts like a larger learning rate, until samples are too small
# to choose splits by. What a larger ``sample_tol`` risks shows more clearly after many
# trees, when what is left to gain is small.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(cost, loss, "o-")
for tolerance, x, value in zip(tolerances, cost, loss, strict=True):
    left.annotate(f"{tolerance:g}", (x, value), (5, 5), textcoords="offset points")
left.set(xscale="log", xlabel="million insertions", ylabel="test log-loss")
left.margins(x=0.1, y=0.1)
left.set_title("numbers: sample_tol")
for tolerance in (0.1, 0.4, 1.0):
    right.plot(np.arange(1, 61), sizes[tolerance], label=f"sample_tol={tolerance}")
right.set(yscale="log", xlabel="iteration", ylabel="rows that its tree saw")
right.set_ylim(top=4e6)
right.legend(loc="upper left")
plt.show()
