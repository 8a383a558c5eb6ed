"""
==================================
Recommending from a rating profile
==================================

"Which film is rated most like this one?" is a maximum inner product search: films are
vectors of the ratings that thousands of users gave or would give, and the answer is the
film whose vector has the largest inner product with that of the film at hand.
"""

# %%
# Ratings generated from ten tastes: users like some of them, films serve some.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.neighbors import BanditMIPS

rng = np.random.default_rng(0)
n_films, n_users, n_tastes = 1000, 6000, 10
users = rng.gamma(0.7, size=(n_users, n_tastes))
films = rng.gamma(0.5, size=(n_films, n_tastes))
ratings = films @ users.T + 0.3 * rng.standard_normal((n_films, n_users))
ratings = ratings.astype(np.float32)

# %%
# The last hundred films ask, the others answer.
atoms, queries = ratings[:-100], ratings[-100:]
search = BanditMIPS(n_neighbors=5, random_state=0).fit(atoms)
products, found = search.kneighbors(queries)
exact = np.argsort(-(queries @ atoms.T), axis=1)[:, :5]
print(f"right: {np.mean(found == exact):.1%} of the recommendations")
print(
    "multiplications saved: "
    f"{atoms.size / search.n_multiplications_.mean():.0f} times fewer"
)

# %%
# How many multiplications it takes depends on the question: a query whose best answers
# stand out is decided on a handful of users, near ties take longer. ``delta`` is what
# one pays with: how often an answer may be wrong.
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for delta in (0.1, 0.01, 0.001):
    search.set_params(delta=delta)
    search.kneighbors(queries)
    shares = 100 * np.sort(search.n_multiplications_ / atoms.size)
    ax.plot(shares, np.arange(1, 101) / 100, label=f"delta = {delta}")
ax.set(xlabel="multiplications, % of all", ylabel="share of queries")
ax.legend()

# %%
# A new film joins without a new fit, an old one leaves.
search.partial_fit(queries[:1])
search.remove([0])
print(f"{search.n_samples_fit_} films")
