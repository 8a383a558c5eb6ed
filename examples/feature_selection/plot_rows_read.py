"""
=====================================
How many rows it takes to select from
=====================================

``SelectKBest`` scores every feature on all rows.
:class:`~sklearn_bandit.feature_selection.BanditSelectKBest` reads rows until the k best
features are told from the others. How soon that is depends on the gap between the last
feature that is selected and the first that is not.
"""

# %%
# A hundred features, five of which matter, by more and more.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.feature_selection import BanditSelectKBest

rng = np.random.default_rng(0)
n_rows, n_features = 60_000, 100
X = rng.standard_normal((n_rows, n_features))
noise = rng.standard_normal(n_rows)
strengths = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.5])

shares, rows_read = [], []
for strength in strengths:
    y = (strength * X[:, :5].sum(axis=1) + noise > 0).astype(int)
    selector = BanditSelectKBest(k=5, random_state=0).fit(X, y)
    exact = BanditSelectKBest(k=5, delta=0, random_state=0).fit(X, y)
    assert (selector.get_support() == exact.get_support()).all()
    shares.append(selector.n_values_read_ / X.size)
    print(
        f"strength {strength:.2f}: {shares[-1]:5.1%} of the values read, "
        f"features {selector.get_support(indices=True)}"
    )

# %%
# The selection is that of all rows each time. Weak features take everything: on a
# sample their intervals still meet those of noise. Strong ones are found in a few
# thousand rows.
fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.plot(strengths, 100 * np.array(shares), "o-")
ax.axhline(100, color="grey", ls="--", lw=1)
ax.text(strengths[-1], 97, "SelectKBest", ha="right", va="top", color="grey")
ax.set(
    xlabel="effect of each of the five features, in units of the noise",
    ylabel="values read, %",
    ylim=(0, 105),
)
plt.show()
