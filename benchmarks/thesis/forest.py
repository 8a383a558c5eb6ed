"""Chapter 3 and appendix B: MABSplit, trained to completion. Budgets: `forest_budget`.

The thesis compares a forest with and without MABSplit, both in Python. Here "exact" is
our own forest without sampling, "mab-thesis" follows the thesis's rule (an arm for each
feature and threshold, batches of 1,000 rows), "mab" is what we ship. The thesis's rule
is for thresholds that are tried all, so extra trees have no "mab-thesis". The
insertions that the thesis reports are those of about one batch a node, whatever the
outcome (5 trees of depth 1, 8 features, 1,000 rows: 4.0E+04). "one batch" is that: the
leader of 1,000 rows is taken; nodes below 8,000 rows are searched exactly.

From its authors' published experiments we took that MNIST is 240,000 rows drawn with
replacement from the 60,000, that covertype is split 80:20 (the thesis says 90:10), and
that the target of Beijing air is ozone; the insertions and the variance that the thesis
reports agree with these, and with numbers of features that are rounded up. Features a
split are those that the thesis states: the square root of their number, all for extra
trees in regression. Errors with all features are nearer to the thesis's for random
forests too, so these are shown as well: a choice made after seeing them.
"""

from functools import cache, partial
from math import ceil, sqrt

import numpy as np
from sklearn import ensemble as sk_ensemble
from sklearn import tree as sk_tree
from sklearn.datasets import make_regression
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

from sklearn_bandit import ensemble, tree

from ..data import load
from ..harness import Comparison, Table, benchmark
from ..peers.forest import ALWAYS_MET, fits, scores, split
from ._quoted import TABLE_3_1, TABLE_3_2, TABLE_B_1, TABLE_B_2, of_model
from ._summary import mean_and_error

FAMILIES = {"RF": "RandomForest", "ExtraTrees": "ExtraTrees", "RP": "RandomPatches"}
BATCH_SIZE = 1000  # the thesis's
SOLVERS = {
    "exact": {"solver": "exact"},
    "mab-thesis": {"solver": "mab-thesis", "batch_size": BATCH_SIZE},
    "mab": {"solver": "mab"},
}
ONE_BATCH = {"solver": "mab", "batch_size": BATCH_SIZE, "tol": ALWAYS_MET}

APS_NOTE = (
    "Donors (KDD Cup 2014; 60,000 rows of 10 features, 6% positive) in place of APS "
    "Failure at Scania Trucks, which is not at hand: compare shares, not figures."
)


# -- data ----------------------------------------------------------------------------


@cache
def data(name):
    """Training and test part of one of the thesis's sets."""
    if name == "MNIST":
        X, X_test, y, y_test = split("mnist")
        drawn = np.random.default_rng(0).choice(len(X), 4 * len(X))
        return X[drawn], X_test, y[drawn], y_test
    if name == "Covertype":
        return split("covtype")
    if name == "APS":
        donors = load("donors")
        X, y = donors.X, donors.y
        chosen = np.random.default_rng(0).permutation(len(X))[:60_000]
        X, y = X[chosen], y[chosen]
    elif name == "Beijing air":
        X, y = ozone()
    elif name == "SGEMM":
        sgemm = load("sgemm")
        X, y = sgemm.X.astype(np.float32), sgemm.y.astype(np.float64)
    return train_test_split(X, y, test_size=0.1, random_state=0)


def ozone():
    """Ozone in Beijing; stations and wind speeds as numbers, missing values kept."""
    air = load("beijing_air")
    names = list(air.feature_names)
    target = air.X[:, names.index("O3")]
    used = [i for i, name in enumerate(names) if name not in ("O3", "CO")]
    X = np.column_stack([air.y, air.X[:, used], air.station]).astype(np.float32)
    known = ~np.isnan(target)
    return X[known], target[known]


SOURCES = {
    "MNIST": "mnist",
    "APS": "donors",
    "Covertype": "covtype",
    "Beijing air": "beijing_air",
    "SGEMM": "sgemm",
}


def wanted(names, options):
    """Return the sets that were asked for."""
    return [name for name in names if options.wants(SOURCES[name])]


# -- models --------------------------------------------------------------------------


def model(family, kind, n_features, patch):
    """Return the class and the thesis's parameters of a forest.

    Histograms have as many bins as the square root of the number of features for
    classifiers, and as there are features for regressors.
    """
    parameters = {}
    if family == "RP":
        parameters["patch_samples"], parameters["patch_features"] = patch
        n_features = round(patch[1] * n_features)
    root = ceil(sqrt(n_features))
    n_bins = root if kind == "Classifier" else n_features
    takes_all = kind == "Regressor" and family == "ExtraTrees"
    parameters["max_features"] = 1.0 if takes_all else root
    if family == "ExtraTrees":
        parameters["n_thresholds"] = n_bins
    else:
        parameters["max_bins"] = n_bins
    return getattr(ensemble, FAMILIES[family] + kind), parameters


def solvers(family):
    """Return the parameters of every solver that a family has."""
    found = SOLVERS | {"one batch": ONE_BATCH}
    if family == "ExtraTrees":
        del found["mab-thesis"]
    return found


def error(parts):
    """Return the mean squared error on the test part."""
    _, X, _, y = parts
    return lambda model: mean_squared_error(y, model.predict(X))


def compare_solvers(parts, kind, quality, options, patch, rounds=3, **limits):
    """Yield family, solver, and what was measured of it."""
    for family in FAMILIES:
        Forest, parameters = model(family, kind, parts[0].shape[1], patch)
        parameters |= limits
        race = partial(fits, Forest, parts, n_jobs=options.threads, **parameters)
        comparison = Comparison(
            title="",
            contenders={
                name: race(**values) for name, values in solvers(family).items()
            },
            quality=quality,
            rounds=rounds,
            warm_up=False,
        )
        record = comparison.measure(options)
        for name, seconds in record["seconds"].items():
            yield family, name, float(np.median(seconds)), record["quality"][name]


COLUMNS = ["model", "solver", "seconds", "thesis"]
COLUMNS += ["insertions", "thesis", "accuracy", "thesis"]

# -- wall-clock tables ---------------------------------------------------------------


@benchmark("thesis.forest.classification", data=["mnist", "donors", "covtype"])
def classification(options):
    """Table 3.1: time, insertions and accuracy of classifiers."""
    for name in wanted(TABLE_3_1, options):
        parts = data(name)
        # Weighted by the share of a node, as here, 0.005 would stop MNIST's trees
        # early; unweighted, as it seems to be there, it stops none.
        limits = {"max_depth": 1, "min_impurity_decrease": 0.005}
        if name == "MNIST":
            limits = {"max_depth": 5}
        quality = {"accuracy": scores(parts), "insertions": lambda m: m.n_insertions_}
        rows = []
        for family, solver, seconds, found in compare_solvers(
            parts, "Classifier", quality, options, (0.7, 0.85), n_estimators=5, **limits
        ):
            quoted = of_model(TABLE_3_1[name], family, solver)
            cells = (
                f"{seconds:.3f}",
                f"{np.mean(found['insertions']):.2E}",
                mean_and_error(found["accuracy"]),
            )
            pairs = zip(cells, quoted, strict=True)
            rows.append([family, solver, *(cell for pair in pairs for cell in pair)])
        yield Table(
            f"Table 3.1: {name} ({len(parts[0]):,} x {parts[0].shape[1]}), 5 trees, "
            f"depth {limits['max_depth']}",
            COLUMNS,
            rows,
            note=APS_NOTE if name == "APS" else "",
        )


@benchmark("thesis.forest.regression", data=["beijing_air", "sgemm"])
def regression(options):
    """Table 3.2: time and error of regressors."""
    for name in wanted(TABLE_3_2, options):
        parts = data(name)
        stated = {"max_leaf_nodes": 5} if name == "SGEMM" else {"max_depth": 1}
        settings = [stated, {**stated, "max_features": 1.0}]
        if name == "Beijing air":
            settings += [{"max_depth": 5}, {"max_depth": 5, "max_features": 1.0}]
        for limits in settings:
            shown = ", ".join(f"{key}={value}" for key, value in limits.items())
            rows = []
            for family, solver, seconds, found in compare_solvers(
                parts,
                "Regressor",
                {"MSE": error(parts), "insertions": lambda m: m.n_insertions_},
                options,
                (0.7, 0.85),
                n_estimators=5,
                min_impurity_decrease=0.005,
                **limits,
            ):
                quoted = of_model(TABLE_3_2[name], family, solver)
                rows.append([family, solver, f"{seconds:.3f}", quoted[0]])
                rows[-1].append(f"{np.mean(found['insertions']):.2E}")
                rows[-1] += [mean_and_error(found["MSE"], 1), quoted[1]]
            yield Table(
                f"Table 3.2: {name} ({len(parts[0]):,} x {parts[0].shape[1]}), 5 trees,"
                f" {shown}",
                [*COLUMNS[:5], "MSE", "thesis"],
                rows,
                note="The thesis states depth 1 for Beijing air; its errors are those "
                "of deeper trees." * (name == "Beijing air"),
            )


@benchmark("thesis.forest.tree", data=["mnist"])
def single_tree(options):
    """Table B.2: one tree of depth 8 beside scikit-learn's, MNIST."""
    parts = split("mnist")
    ours = partial(fits, tree.DecisionTreeClassifier, parts, max_depth=8, max_bins=28)
    comparison = Comparison(
        title="",
        contenders={
            "mab": ours(),
            "mab-thesis": ours(solver="mab-thesis", batch_size=BATCH_SIZE),
            "exact": ours(solver="exact"),
            "scikit-learn": fits(sk_tree.DecisionTreeClassifier, parts, max_depth=8),
        },
        quality={"accuracy": scores(parts)},
        rounds=3,
        warm_up=False,
    )
    record = comparison.measure(options)
    rows = []
    for name, seconds in record["seconds"].items():
        found = 100 * np.array(record["quality"][name]["accuracy"])
        quoted = TABLE_B_2[name.removesuffix("-thesis")]
        rows.append([name, f"{np.median(seconds):.3f}", quoted[0]])
        rows[-1] += [mean_and_error(found, 2), quoted[1]]
    yield Table(
        "Table B.2: one tree, depth 8, all features, MNIST (60,000 x 784)",
        ["", "seconds", "thesis", "accuracy, %", "thesis"],
        rows,
        note="Thesis: MABSplit, compiled, 4 times as fast as scikit-learn. Its "
        "accuracies are above what scikit-learn's tree of depth 8 reaches here.",
    )


# -- growth --------------------------------------------------------------------------


def insertions_of_a_split(X, y, Tree, options, **parameters):
    """Return the mean number of insertions of one split."""
    found = [
        Tree(max_depth=1, random_state=seed, **parameters).fit(X, y).n_insertions_
        for seed in range(options.rounds or 3)
    ]
    return float(np.mean(found))


@benchmark("thesis.forest.growth", data=["mnist"])
def growth(options):
    """Appendix B.2: insertions of one split do not grow with n."""
    X, _, y, _ = split("mnist")
    linear = make_regression(2_000_000, 50, n_informative=5, random_state=0)
    linear = linear[0].astype(np.float32), linear[1]
    problems = {
        "MNIST": (X, y, 1, tree.DecisionTreeClassifier, 28),
        "10 x MNIST": (X, y, 10, tree.DecisionTreeClassifier, 28),
        "linear model, 200,000": (
            linear[0][:200_000],
            linear[1][:200_000],
            1,
            tree.DecisionTreeRegressor,
            50,
        ),
        "linear model, 2,000,000": (*linear, 1, tree.DecisionTreeRegressor, 50),
    }
    rows = []
    for name, (X, y, n_copies, Tree, n_bins) in problems.items():
        if n_copies > 1:
            X, y = np.repeat(X, n_copies, axis=0), np.repeat(y, n_copies)
        counts = [
            insertions_of_a_split(X, y, Tree, options, max_bins=n_bins, **parameters)
            for parameters in SOLVERS.values()
        ]
        rows.append([name, *(f"{count:.3g}" for count in counts)])
    yield Table(
        "Appendix B.2: insertions of one split, all features",
        ["data", *SOLVERS],
        rows,
        note="Thesis: not statistically different on MNIST and 10 copies of it, and "
        "from 200,000 to 2,000,000 rows of a linear model (here make_regression, 5 of "
        "50 features informative).",
    )


@benchmark("thesis.forest.small", data=["mnist"])
def small(options):
    """Figure B.4: random forests on small subsets of MNIST."""
    X, X_test, y, y_test = split("mnist")
    rows = []
    for n in (500, 1000, 2000, 4000, 8000, 16_000, 32_000):
        part = X[:n], X_test, y[:n], y_test
        Forest, parameters = model("RF", "Classifier", 784, None)
        parameters |= {"n_estimators": 5, "max_depth": 5, "n_jobs": options.threads}
        record = Comparison(
            title="",
            contenders={
                name: fits(Forest, part, **parameters, **values)
                for name, values in SOLVERS.items()
            },
            quality={"insertions": lambda m: m.n_insertions_, "score": scores(part)},
            rounds=3,
        ).measure(options)
        row = [n]
        for metric in ("insertions", "score"):
            row += [float(np.mean(q[metric])) for q in record["quality"].values()]
        row += [float(1000 * np.median(s)) for s in record["seconds"].values()]
        rows.append(row)
    names = list(SOLVERS)
    yield Table(
        "Figure B.4: random forest, 5 trees, depth 5, first n digits of MNIST",
        ["n", *(f"insertions, {name}" for name in names)]
        + [f"accuracy, {name}" for name in names]
        + [f"ms, {name}" for name in names],
        rows,
        note="Thesis: MABSplit takes fewer insertions and less time from about 1,100 "
        "rows on. Here both bandits search small nodes exactly: mab-thesis below two "
        "batches, mab below some 8,000 rows.",
    )


# -- beside scikit-learn -------------------------------------------------------------


def newsgroups():
    """Posts on atheism and space: TF-IDF, first 100 principal components."""
    news = load("newsgroups20")
    wanted = [list(news.target_names).index(n) for n in ("alt.atheism", "sci.space")]
    text, ends = news.text.tobytes(), news.offsets
    chosen = np.flatnonzero(np.isin(news.y, wanted))
    posts = [text[ends[i] : ends[i + 1]].decode("latin-1") for i in chosen]
    y, is_train = news.y[chosen], news.is_train[chosen]
    vectors = TfidfVectorizer().fit([posts[i] for i in np.flatnonzero(is_train)])
    X = vectors.transform(posts).toarray()
    X = PCA(100, random_state=0).fit(X[is_train]).transform(X).astype(np.float32)
    return X[is_train], X[~is_train], y[is_train], y[~is_train]


def california():
    """California housing, 1,000 of the rows for training."""
    housing = load("california_housing")
    X, X_test, y, y_test = train_test_split(
        housing.X, housing.y, test_size=0.2, random_state=0
    )
    return X[:1000], X_test, y[:1000], y_test


@benchmark("thesis.forest.scikit_learn", data=["newsgroups20", "california_housing"])
def scikit_learn(options):
    """Table B.1: scores of our exact forests beside scikit-learn's."""
    rows = []
    for name, make, kind, score, digits in (
        ("20 newsgroups", newsgroups, "Classifier", scores, 1),
        ("California housing", california, "Regressor", error, 3),
    ):
        if not options.wants(make.__name__):
            continue
        parts = make()
        scale = 100 if kind == "Classifier" else 1
        for family in ("RF", "ExtraTrees"):
            found = {}
            for library in (ensemble, sk_ensemble):
                Forest = getattr(library, FAMILIES[family] + kind)
                exact = {"solver": "exact"} if library is ensemble else {}
                fit = fits(Forest, parts, n_estimators=5, max_depth=5, **exact)
                seeds = range(options.rounds or 20)
                results = [scale * score(parts)(fit(seed)) for seed in seeds]
                found[library] = (
                    f"{np.mean(results):.{digits}f} ± {np.std(results):.{digits}f}"
                )
            quoted = TABLE_B_1[family, name]
            rows.append([name, family, found[ensemble], quoted[0]])
            rows[-1] += [found[sk_ensemble], quoted[1]]
    yield Table(
        "Table B.1: exact forests, 5 trees, depth 5: accuracy (%) or MSE",
        ["data", "model", "ours", "thesis's own", "scikit-learn", "thesis"],
        rows,
        note="Standard deviations over seeds, as in the thesis. Posts here have their "
        "headers, which give the group away.",
    )
