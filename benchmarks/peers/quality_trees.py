"""Are sampled trees as good as exact ones? Paired over seeds, with the price beside.

Every seed has data of its own (or a split of its own of real data), on which "mab" and
"exact" grow the same model. The synthetic sets are what a sample finds hard: weak
signals, a rare class, a signal in a tail, targets with heavy tails. They are so large
that by default samples decide nodes of most kinds; of the rarest class and the weakest
signal they leave all to exact histograms.
"""

import time
from functools import partial
from itertools import product

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from benchmarks.data import load
from benchmarks.harness import Table, benchmark
from sklearn_bandit import ensemble, tree
from sklearn_bandit.tree._policy import SamplingPolicy

N_TRAIN, N_TEST, N_FEATURES = 800_000, 100_000, 40
N_SEEDS = 20

# What a difference may be at most, and the level of the t-test.
LARGEST_DIFFERENCE, LEVEL = 1e-3, 0.01


def weak_signal(seed, share=0.005):
    """Five features, the best of which gains a share of the impurity at the root."""
    X, rng = normal_features(seed)
    # A threshold at the median of a linear effect b gains 2 b^2 / pi of the variance.
    effect = np.sqrt(share * np.pi / 2)
    index = effect * (X[:, :5] * [1.0, 0.95, 0.9, 0.8, 0.6]).sum(axis=1)
    y = rng.random(len(X)) < 0.5 + 0.5 * np.clip(index, -1, 1)
    return X, y.astype(np.uint8)


def rare_class(seed, share=0.01):
    """A small share of positives, more where two features are large."""
    X, rng = normal_features(seed)
    logit = 1.2 * X[:, 0] + 0.8 * X[:, 1] - 0.5 * X[:, 2]
    rate = np.exp(logit)
    y = rng.random(len(X)) < share * rate / rate.mean()
    return X, y.astype(np.uint8)


def tail_signal(seed):
    """A class of 3%, of which two thirds are in the upper percents of five features."""
    X, rng = normal_features(seed)
    rates = np.where(X[:, 3:8] > 2.33, [0.7, 0.5, 0.35, 0.25, 0.15], 0.01)
    rate = rates.max(axis=1) * np.exp(0.3 * X[:, 9])
    y = rng.random(len(X)) < np.minimum(rate, 1.0)
    return X, y.astype(np.uint8)


def heavy_tails(seed):
    """A real target whose noise has heavy tails."""
    X, rng = normal_features(seed)
    signal = X[:, 0] + 0.8 * np.abs(X[:, 1]) + 0.5 * X[:, 2] * (X[:, 3] > 0)
    return X, np.exp(0.5 * signal + 0.7 * rng.standard_normal(len(X)))


def normal_features(seed):
    """Independent normal features, and the random numbers to go on with."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_TRAIN + N_TEST, N_FEATURES), dtype=np.float32)
    return X, rng


def flights(seed):
    """A delay of more than 15 minutes, of a million flights."""
    data = load("flights2001_3m")
    rows = np.random.default_rng(seed).permutation(len(data.X))[: 1_000_000 + N_TEST]
    X, y = data.X[rows].astype(np.float32), data.delay[rows] > 15
    return X, y.astype(np.uint8)


def covertype(seed):
    """All seven cover types."""
    data = load("covtype")
    rows = np.random.default_rng(seed).permutation(len(data.X))
    return data.X[rows].astype(np.float32), data.y[rows]


SETS = {
    "weak signal (.5%)": weak_signal,
    "very weak (.25%)": partial(weak_signal, share=0.0025),
    "very weak (.1%)": partial(weak_signal, share=0.001),
    "1% positives": rare_class,
    ".1% positives": partial(rare_class, share=0.001),
    "signal in a tail": tail_signal,
    "heavy tails": heavy_tails,
    "flights": flights,
    "covertype": covertype,
}


def models(y, n_jobs):
    """The models that are compared, by name."""
    is_real = y.dtype.kind == "f"
    kind = "Regressor" if is_real else "Classifier"
    one = getattr(tree, f"DecisionTree{kind}")
    many = getattr(ensemble, f"RandomForest{kind}")
    return {
        "depth 5": one(max_depth=5),
        "depth 8": one(max_depth=8),
        "10 trees": many(10, max_depth=8, n_jobs=n_jobs),
    }


def score(model, X, y):
    """AUC of two classes, accuracy of more, R2 of a real target."""
    if y.dtype.kind == "f":
        # Of the logarithm: in R2 of the target itself a few rows would decide.
        return r2_score(np.log(y), np.log(np.maximum(model.predict(X), 1e-9)))
    if len(model.classes_) == 2:
        return roc_auc_score(y, model.predict_proba(X)[:, 1])
    return accuracy_score(y, model.predict(X))


def compare(make, n_seeds, n_jobs):
    """Return score, processor time, insertions and sampled nodes of each model."""
    found = {}
    for seed in range(n_seeds):
        X, y = make(seed)
        train, test = (X[:-N_TEST], y[:-N_TEST]), (X[-N_TEST:], y[-N_TEST:])
        for name, model in models(y, n_jobs).items():
            model.set_params(random_state=seed)
            for solver in ("mab", "exact"):
                model.set_params(solver=solver)
                start = time.process_time()
                model.fit(*train)
                seconds = time.process_time() - start
                counts = model.n_insertions_ / 1e6, model.n_sampled_nodes_
                row = score(model, *test), seconds, *counts
                found.setdefault(name, {}).setdefault(solver, []).append(row)
    return {
        name: {solver: np.array(rows) for solver, rows in of_model.items()}
        for name, of_model in found.items()
    }


def summarise(name, model, found):
    """Return a row of the table: the difference of scores, its t-test, the price."""
    mab, exact = found["mab"], found["exact"]
    differences = mab[:, 0] - exact[:, 0]
    mean, error, p = differences.mean(), 0.0, 1.0
    if differences.any():
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        p = ttest_1samp(differences, 0.0).pvalue
    verdict = "MISSED" if p < LEVEL else "met"
    if p >= LEVEL and abs(mean) > LARGEST_DIFFERENCE:
        # Below one node that is split otherwise all is noise, and may be large.
        verdict = "not told from 0"
    if not mab[:, 3].any():
        verdict = "nothing sampled"
    return [
        name,
        model,
        f"{exact[:, 0].mean():.4f}",
        f"{mean:+.5f} ± {error:.5f}",
        f"{p:.3f}",
        verdict,
        f"{np.median(exact[:, 1] / mab[:, 1]):.2f}",
        f"{mab[:, 2].mean() / exact[:, 2].mean():.2f}",
        f"{mab[:, 3].mean():.1f}",
    ]


COLUMNS = [
    "data",
    "model",
    "exact",
    "mab - exact",
    "p",
    "goal",
    "exact / mab, CPU time",
    "insertions, mab / exact",
    "nodes sampled",
]


@benchmark("quality.trees", data=["flights2001_3m", "covtype"])
def quality(options):
    """Trees and forests with "mab" against "exact": score and price over 20 seeds."""
    n_seeds = options.rounds or N_SEEDS
    rows = []
    for name, make in SETS.items():
        if not options.wants(name):
            continue
        found = compare(make, n_seeds, options.threads)
        rows += [summarise(name, model, counts) for model, counts in found.items()]
        # After each data set what was counted so far: the whole takes a while.
        yield Table(
            title=f"Sampled and exact trees, {n_seeds} seeds, paired",
            columns=COLUMNS,
            rows=rows,
            note="AUC of two classes, accuracy of more, R2 of the logarithm of real "
            "targets; mean of the differences and its standard error, p by a t-test. "
            "Every seed draws or splits the data anew; what is drawn has "
            f"{N_TRAIN:,} rows and {N_FEATURES} features. Goal: within 0.001, none "
            "significant at 1%. Time of the processor, bins included.",
        )


def clear_root(seed):
    """One feature that gains 2% of the impurity, and nothing else."""
    X, rng = normal_features(seed)
    effect = np.sqrt(0.02 * np.pi / 2) * X[:, 0]
    y = rng.random(len(X)) < 0.5 + 0.5 * np.clip(effect, -1, 1)
    return X, y.astype(np.uint8)


def tied_root(seed):
    """Two features whose gains differ by about twice the tolerance."""
    X, rng = normal_features(seed)
    index = 0.6 * X[:, 0] + 0.52 * X[:, 1] + rng.standard_normal(len(X))
    return X, (index > 0).astype(np.uint8)


ROOTS = {"one feature (2%)": clear_root, "near tie": tied_root, **SETS}

# Rows of these that a root has: as many as it takes to sample it on the flights, which
# have eight features.
N_ROOT_ROWS = 600_000


def gain_of(stump):
    """Decrease in impurity by the root's split, on all rows."""
    nodes = stump.tree_
    weights = nodes.weighted_n_node_samples / nodes.weighted_n_node_samples[0]
    return nodes.impurity[0] - weights[1:] @ nodes.impurity[1:]


def is_outside(stump, exact, X, y):
    """Whether the root's feature gains less than the rule allows.

    At its best threshold: which bins there are to choose from is a matter of chance,
    with exact trees as well.
    """
    feature = stump.tree_.feature[0]
    if feature == exact.tree_.feature[0]:
        return False
    if feature < 0:
        return True
    alone = clone(exact).fit(X[:, [feature]], y)
    return gain_of(alone) < (1 - stump.tol) * gain_of(exact)


@benchmark("quality.trees.roots", data=["flights2001_3m", "covtype"])
def roots(options):
    """Roots outside the (tol, delta) rule and their insertions, by radius."""
    rows = []
    n_trials = options.rounds or 100
    rules = list(product(("paired", "bernstein"), (0.1, 0.001)))
    for name, make in ROOTS.items():
        if not options.wants(name):
            continue
        # Roots outside the rule, roots sampled, insertions.
        counts = np.zeros((len(rules), 3))
        for seed in range(n_trials):
            X, y = (part[:N_ROOT_ROWS] for part in make(seed))
            kind = "Regressor" if y.dtype.kind == "f" else "Classifier"
            stump = getattr(tree, f"DecisionTree{kind}")(max_depth=1, random_state=seed)
            exact = clone(stump).set_params(solver="exact").fit(X, y)
            for count, (radius, delta) in zip(counts, rules, strict=True):
                stump.set_params(radius=radius, delta=delta).fit(X, y)
                count[0] += is_outside(stump, exact, X, y)
                count[1] += stump.n_sampled_nodes_
                count[2] += stump.n_insertions_ / X.size / n_trials
        for (n_wrong, n_sampled, insertions), rule in zip(counts, rules, strict=True):
            row = [name, *rule, int(n_wrong)]
            rows.append([*row, int(n_sampled), f"{insertions:.3f}"])
        yield Table(
            title=f"Root splits, tol = 0.1, of {n_trials} data sets each",
            columns=["data", "radius", "delta", "outside", "sampled", "insertions"],
            rows=rows,
            note="outside: features that gain less than 0.9 of the best; sampled: "
            "roots that a sample decided, or left fewer features to compare; "
            "insertions: share of those of an exact search.",
        )


def some_columns(n_features):
    """Covertype's rows with some of its columns, those with many values first."""
    X, y = covertype(0)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(10), 10 + rng.permutation(44)])
    return np.ascontiguousarray(X[:, order[:n_features]]), y


def made_rows(n_features, is_real):
    """A million rows of which five features tell, by thresholds and a product."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((1_000_000, n_features), dtype=np.float32)
    index = X[:, 0] + 0.7 * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * (X[:, 4] > 0)
    index += rng.standard_normal(len(X))
    return X, index if is_real else (index > 0).astype(np.uint8)


def cost_of_fit(model, seed, X, y, policy):
    """Return processor time and insertions."""
    model.set_params(random_state=seed)
    model._sampling_policy = policy
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, model.n_insertions_


def prices(model, X, y, n_seeds, policies):
    """Return, by policy, median costs of "mab" over those of "exact"."""
    exact = clone(model).set_params(solver="exact")
    ratios = np.empty((n_seeds, len(policies), 2))
    for seed in range(n_seeds):
        least = cost_of_fit(exact, seed, X, y, SamplingPolicy())
        for ratio, policy in zip(ratios[seed], policies, strict=True):
            ratio[:] = np.divide(cost_of_fit(model, seed, X, y, policy), least)
    return np.median(ratios, axis=0).tolist()


def sampled_from(n_rows):
    """Return the policy that samples nodes from so many rows on, whatever else."""
    if n_rows is None:
        return SamplingPolicy()
    return SamplingPolicy(
        min_rows=n_rows,
        min_rows_real=n_rows,
        min_rows_by_square=1,
        min_rows_by_square_real=1,
        min_rows_by_square_drawn=1,
        min_rows_by_square_drawn_real=1,
        min_drawn=1,
    )


# Rows from which on nodes are sampled; None for the default.
SAMPLED_FROM = (8_000, 32_000, 64_000, 128_000, 512_000, None)

# Features, how many are drawn in each node, and whether targets are real.
SEARCHES = (
    *((n, None, is_real) for n in (8, 16, 28, 54) for is_real in (False, True)),
    *((28, 9, is_real) for is_real in (False, True)),
    (30, 5, False),
    (8, 2, False),
)


@benchmark("quality.trees.cut_over", data=["covtype", "flights2001_3m"])
def cut_over(options):
    """From how many features and rows on samples pay."""
    n_seeds = options.rounds or 3
    columns = ["CPU time, mab / exact", "insertions, mab / exact"]
    note = (
        "Median ratios over seeds, processor time with bins included. Sampled nodes "
        "have no histograms for their descendants to subtract from."
    )
    sets = {
        f"covertype, {n} columns": partial(some_columns, n)
        for n in (4, 8, 12, 16, 28, 54)
    }
    rows = []
    for name, make in {**sets, "flights": partial(flights, 0)}.items():
        X, y = make()
        for depth in (5, 8):
            model = tree.DecisionTreeClassifier(max_depth=depth)
            (price,) = prices(model, X, y, n_seeds, [SamplingPolicy()])
            rows.append([name, depth, *price])
    yield Table(
        title="one tree, all features searched",
        columns=["data", "depth", *columns],
        rows=rows,
        note=note,
    )
    rows = []
    policies = [sampled_from(n_rows) for n_rows in SAMPLED_FROM]
    for n_features, n_drawn, is_real in SEARCHES:
        X, y = made_rows(n_features, is_real)
        kind = "Regressor" if is_real else "Classifier"
        model = getattr(tree, f"DecisionTree{kind}")(max_depth=8, max_features=n_drawn)
        found = prices(model, X, y, n_seeds, policies)
        for n_rows, price in zip(SAMPLED_FROM, found, strict=True):
            case = [f"{n_drawn or 'all'} of {n_features}", kind.lower()]
            rows.append([*case, n_rows or "default", *price])
    yield Table(
        title="one tree of depth 8, 1,000,000 rows",
        columns=["features", "tree", "sampled from", *columns],
        rows=rows,
        note=note,
    )
