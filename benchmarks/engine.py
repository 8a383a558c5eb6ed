"""The engine itself: what pairing, growth and the fall-back are worth; failures."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom
from sklearn.metrics import pairwise_distances

from sklearn_bandit.bandit import best_arm
from sklearn_bandit.neighbors import BanditMIPS

from .data import load
from .harness import Table, benchmark

N_POINTS = 10_000

# Failures are counted over this number of trials, for these error probabilities.
N_TRIALS = 2_000
DELTAS = (0.1, 0.01, 0.001)

# The one whose costs are shown.
COST_DELTA = 0.01


# Ways to tell arms apart, as parameters of `best_arm` by the range of the costs.
RADII = {
    "paired": lambda cost_range: {},
    "paired, range": lambda cost_range: {"cost_range": cost_range},
    "normal": lambda cost_range: {"radius": "normal"},
    "bernstein": lambda cost_range: {"radius": "bernstein", "cost_range": cost_range},
    "hoeffding": lambda cost_range: {"radius": "hoeffding", "cost_range": cost_range},
}
NEED_NO_RANGE = ("paired", "normal")


def medoid_problem(points):
    """The 1-medoid problem: arms are points, costs are distances."""

    def distances(arms, references):
        return pairwise_distances(points[arms], points[references])

    return distances


@benchmark("engine.radii", data=["mnist"])
def radii(options):
    """Pulls that each radius needs to find the medoid of MNIST digits."""
    points = load("mnist").X_train[:N_POINTS].astype(np.float32) / 255
    pull = medoid_problem(points)
    truth = best_arm(pull, N_POINTS, N_POINTS, delta=0).best[0]
    rows = []
    for name, parameters in RADII.items():
        results = [
            best_arm(
                pull,
                N_POINTS,
                N_POINTS,
                random_state=seed,
                **parameters(28.0),
            )
            for seed in range(options.rounds or 3)
        ]
        pulls = np.mean([result.n_pulls for result in results])
        right = np.mean([result.best[0] == truth for result in results])
        rows.append([name, pulls / N_POINTS**2, float(right)])
    yield Table(
        title=f"medoid of {N_POINTS:,} MNIST digits, delta = 0.01",
        columns=["radius", "share of all distances", "share of right answers"],
        rows=rows,
    )


# -- failures ------------------------------------------------------------------------


def one_best(rng, n_arms, gap):
    """Means of arms of which one is better than the others by a gap."""
    return gap * (rng.permutation(n_arms)[:, None] > 0)


def rare(n_arms, share, height, n_references=20_000):
    """One arm is best but on a few references, which make it the worst one."""

    def draw(rng):
        costs = 0.1 * rng.uniform(-1, 1, (n_arms, n_references))
        costs[0] -= 0.8 * share * height
        costs[0, rng.random(n_references) < share] += height
        return costs

    return draw, 0.2 + height


def additive(noise, gap, cost_range=None, n_arms=20, n_references=4096):
    """One arm is better by a gap; the others are equal."""

    def draw(rng):
        costs = noise(rng, (n_arms, n_references))
        return costs + one_best(rng, n_arms, gap)

    return draw, cost_range


def bernoulli(rate, gap, n_arms=20, n_references=4096):
    """Costs of 0 and 1."""

    def draw(rng):
        draws = rng.random((n_arms, n_references))
        return (draws < rate + one_best(rng, n_arms, gap)).astype(float)

    return draw, 1.0


def common(rng, shape):
    """Noise that is mostly common to all arms."""
    return 3 * rng.standard_normal(shape[1]) + 0.5 * rng.standard_normal(shape)


# Populations by name: a function that draws costs, and their range where there is one.
POPULATIONS = {
    "2 arms, 1% of the references +30": rare(2, 0.01, 30.0),
    "10 arms, 3% of the references +10": rare(10, 0.03, 10.0),
    "10 arms, 1% of the references +1000": rare(10, 0.01, 1000.0),
    "normal": additive(lambda rng, shape: rng.standard_normal(shape), 0.25),
    "common noise": additive(common, 0.25),
    "uniform": additive(lambda rng, shape: rng.uniform(0, 1, shape), 0.1, 1.1),
    "0 or 1, rate 40%": bernoulli(0.4, 0.15),
    "0 or 1, rate 2%": bernoulli(0.02, 0.05),
    "heavy tails (Student, 3 df)": additive(
        lambda rng, shape: rng.standard_t(3, shape), 0.4
    ),
    "skewed (exponential)": additive(
        lambda rng, shape: 1 - rng.exponential(1, shape), 0.25
    ),
}


@benchmark("engine.failures")
def failures(options):
    """Wrong answers of best_arm by radius, over populations with and without tails."""
    n_trials = options.rounds or N_TRIALS
    rows = []
    for name, (draw, cost_range) in POPULATIONS.items():
        if not options.wants(name):
            continue
        rows += failure_rows(name, draw, cost_range, n_trials)
        # After each population what was counted so far: the whole takes a while.
        yield Table(
            title=f"wrong answers of best_arm in {n_trials:,} trials, k = 1",
            columns=["population", "radius", *map(str, DELTAS), "test at 1%", "costs"],
            rows=rows,
            note="trial t draws its costs and its order with seed t; 'costs' is the "
            "mean share of all costs that is computed at delta = 0.01",
        )


def failure_rows(name, draw, cost_range, n_trials):
    """Count the failures of every radius on one population."""
    radii = [r for r in RADII if cost_range is not None or r in NEED_NO_RANGE]
    failed = {radius: np.zeros(len(DELTAS), dtype=int) for radius in radii}
    share = dict.fromkeys(radii, 0.0)
    for trial in range(n_trials):
        costs = draw(np.random.default_rng(trial))
        truth = costs.mean(axis=1).argmin()
        for radius in radii:
            for i, delta in enumerate(DELTAS):
                result = best_arm(
                    lambda arms, at, costs=costs: costs[np.ix_(arms, at)],
                    *costs.shape,
                    delta=delta,
                    random_state=trial,
                    **RADII[radius](cost_range),
                )
                failed[radius][i] += result.best[0] != truth
                if delta == COST_DELTA:
                    share[radius] += result.n_pulls / costs.size / n_trials
    rows = []
    for radius in radii:
        counts = failed[radius].tolist()
        met = verdict(counts, n_trials)
        rows.append([name, radius, *counts, met, round(share[radius], 3)])
    return rows


def verdict(failed, n_trials):
    """Whether counts are compatible with failure rates of at most delta."""
    tails = binom.sf(np.asarray(failed) - 1, n_trials, DELTAS)
    return "met" if tails.min() > 0.01 else "too many"


@dataclass(frozen=True)
class RareProducts:
    """Atoms and a query of which not they, but the products of the best are sparse.

    The best atom has its part of the product where the query is large, in a few
    coordinates, and noise where the query is small. The others are flat.

    Attributes
    ----------
    samplings : tuple of str
        Ways to sample coordinates.
    noise : float
        Standard deviation of the noise.
    share : float
        How many of the query's large entries, a third of all, the best atom meets.
    n_features, n_others : int
        Coordinates, and flat atoms.
    others : float
        Product of the flat atoms over that of the best one.
    gives_up : bool
        Whether a search may compute everything as soon as it expects no gain.
    """

    samplings: tuple[str, ...]
    noise: float
    share: float
    n_features: int = 8192
    n_others: int = 1
    others: float = 0.8
    gives_up: bool = True

    def draw(self, rng):
        """Draw the atoms, the best one last, and the query."""
        d = self.n_features
        signs = rng.choice([-1.0, 1.0], d)
        order = rng.permutation(d)
        large, small = order[: d // 3], order[d // 3 :]
        query, best = np.full(d, 0.03), np.zeros(d)
        query[large] = 1.0
        best[large[: int(self.share * len(large))]] = 1.0
        n_noise = int(0.4 * len(small))
        best[small[:n_noise]] = self.noise * rng.standard_normal(n_noise)
        flat = rng.uniform(0.5, 1.5, (self.n_others, d))
        flat *= self.others * (best @ query) / (flat @ query)[:, None]
        atoms = (np.vstack([flat, best]) * signs).astype(np.float32)
        return atoms, (query * signs).astype(np.float32)


ALL_SAMPLINGS = ("uniform", "weighted", "alpha")

# In the first three the guards have everything computed, in the others samples decide.
RARE_PRODUCTS = {
    "2 x 8,192, 6% rare, noise 0.3": RareProducts(ALL_SAMPLINGS, 0.3, 0.06),
    "2 x 8,192, 6% rare, noise 1": RareProducts(ALL_SAMPLINGS, 1.0, 0.06),
    "2 x 8,192, 1.5% rare, noise 1": RareProducts(ALL_SAMPLINGS, 1.0, 0.015),
    "10 x 100,000, 6% rare, noise 0.3": RareProducts(
        ("uniform", "weighted"), 0.3, 0.06, 100_000, 9, 0.2, gives_up=False
    ),
    "10 x 100,000, 10% rare, noise 0.3": RareProducts(
        ("uniform", "weighted"), 0.3, 0.1, 100_000, 9, 0.2, gives_up=False
    ),
    "10 x 100,000, 10% rare, noise 0.1, others 80%": RareProducts(
        ("uniform",), 0.1, 0.1, 100_000, 9, gives_up=False
    ),
    "10 x 300,000, 10% rare, noise 1": RareProducts(
        ("uniform",), 1.0, 0.1, 300_000, 9, 0.2, gives_up=False
    ),
}


@benchmark("engine.products")
def products(options):
    """Wrong answers of BanditMIPS over fits where the products' mass is rare."""
    n_fits = options.rounds or 1_000
    rows = []
    for name, population in RARE_PRODUCTS.items():
        if not options.wants(name):
            continue
        rows += products_rows(name, population, n_fits)
        # After each population what was counted so far: the wide ones take minutes.
        yield Table(
            title=f"wrong answers of BanditMIPS in {n_fits:,} fits",
            columns=[
                "atoms x dimension",
                "sampling",
                *map(str, DELTAS),
                "test at 1%",
                "multiplications / full",
            ],
            rows=rows,
            note="fit t draws its atoms and its coordinates with seed t. 'Rare' is the "
            "share of the query's large entries that make up the product of the best "
            "atom. 'Full' is an exact search; the mean at delta = 0.01. From 100,000 "
            "coordinates on giving up is disabled, and the products of the other atoms "
            "are 20% of the best one's unless another share is named; they are 80% "
            "below.",
        )


def products_rows(name, population, n_fits):
    """Count failures and multiplications of each way to sample one population."""
    failed = {sampling: np.zeros(len(DELTAS), int) for sampling in population.samplings}
    multiplied = dict.fromkeys(population.samplings, 0.0)
    for seed in range(n_fits):
        atoms, query = population.draw(np.random.default_rng(seed))
        for sampling in population.samplings:
            search = BanditMIPS(1, sampling=sampling, random_state=seed).fit(atoms)
            search._may_give_up = population.gives_up
            for i, delta in enumerate(DELTAS):
                search.set_params(delta=delta)
                found = search.kneighbors(query[None])[1][0, 0]
                failed[sampling][i] += found != population.n_others
                if delta == COST_DELTA:
                    n_multiplied = search.n_multiplications_[0]
                    multiplied[sampling] += n_multiplied / atoms.size / n_fits
    return [
        [name, sampling, *counts, verdict(counts, n_fits), multiplied[sampling]]
        for sampling, counts in ((s, each.tolist()) for s, each in failed.items())
    ]
