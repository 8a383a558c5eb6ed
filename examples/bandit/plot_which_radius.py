"""
==========================
When rare costs decide all
==========================

A confidence radius from estimated variances believes what it has seen. Costs that are
huge on one reference in a hundred are not in most small batches, and the search drops
the wrong arm with great confidence. What helps, what does not, and what it costs.
"""

# %%
# Two arms. The first is cheaper on nearly all references, and dear on 1% of them, which
# makes it the worse one.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_bandit.bandit import best_arm

n_references, n_searches = 4000, 300


def population(rng):
    """Return the costs of both arms."""
    costs = rng.uniform(0, 1, (2, n_references))
    costs[1] += 0.2
    costs[0, rng.choice(n_references, n_references // 100, replace=False)] += 30
    return costs


settings = {
    "default": {},
    "delta=1e-6": {"delta": 1e-6},
    "batch_size=512": {"batch_size": 512},
    "cost_range=31": {"cost_range": 31.0},
}
wrong, share = dict.fromkeys(settings, 0), dict.fromkeys(settings, 0.0)
for seed in range(n_searches):
    costs = population(np.random.default_rng(seed))
    best = costs.mean(axis=1).argmin()
    for name, parameters in settings.items():
        found = best_arm(
            lambda arms, refs, costs=costs: costs[np.ix_(arms, refs)],
            *costs.shape,
            random_state=seed,
            **parameters,
        )
        wrong[name] += found.best[0] != best
        share[name] += found.n_pulls / costs.size / n_searches
for name in settings:
    print(
        f"{name:15} wrong {wrong[name] / n_searches:6.1%}, computed {share[name]:.0%}"
    )

# %%
# The default is wrong as often as its first 128 references miss all dear ones, which is
# more than one search in four. A smaller ``delta`` is no remedy: it takes longer, and
# still believes in a variance that it has not seen. A first batch of 512 hardly ever
# misses them. The range of the costs is what makes the answer safe, and here that takes
# all costs: no bound can rule out what nobody has looked at.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
rates = [100 * wrong[name] / n_searches for name in settings]
bars = axes[0].barh(list(settings), rates, color="tab:red")
axes[0].bar_label(bars, fmt="%.1f%%", padding=3)
bars = axes[1].barh(list(settings), [100 * share[name] for name in settings])
axes[1].bar_label(bars, fmt="%.0f%%", padding=3)
axes[0].set(title="wrong answers", xlabel="% of searches", xlim=(0, 40))
axes[1].set(title="costs computed", xlabel="% of all", xlim=(0, 115))
axes[0].invert_yaxis()
plt.show()
