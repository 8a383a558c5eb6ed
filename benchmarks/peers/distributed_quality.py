"""What models of dask collections are worth beside those of the local classes.

Scores alone: workers are threads of this process, which gives the models of any other
cluster. Data and splits are those of the benchmarks of quality.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from sklearn_bandit import ensemble, tree

from ..harness import Table, benchmark
from .distributed import two_threads
from .quality import BOOSTING, MARKS, boost, differences, raw_predictions

N_PARTITIONS = 12
N_SEEDS = 3

LOSS_DATA = "flights2001_3m", "1M x 28"


def partitioned(client, *arrays):
    """Return dask arrays in the memory of the workers, cut into partitions."""
    import dask.array as da

    size = -(-len(arrays[0]) // N_PARTITIONS)
    cut = [da.from_array(a, chunks=(size, *a.shape[1:])) for a in arrays]
    return client.persist(cut)


# -- boosting -------------------------------------------------------------------------

# Both sides of what may be had on a cluster, beside the exact model, of which all rows
# travel: three samples of the first size are the first working set. Less `sample_tol`
# makes samples grow earlier, but not beyond the set: of 0.1, losses on the flights were
# about half way between these two.
CHOICES = {
    "cluster, default": {},
    "cluster, batch_size=262144": {"batch_size": 262_144},
}
EXACT = "exact, in memory or on a cluster"


@dataclass
class Losses:
    """Test losses on one data set.

    Attributes
    ----------
    by_way : dict of (str, int) to list
        Losses for each way to fit and number of iterations, one for each seed.
    moved : dict of str to list
        Share of the training rows that left the workers, in percent.
    """

    by_way: dict = field(default_factory=lambda: defaultdict(list))
    moved: dict = field(default_factory=lambda: defaultdict(list))

    def count(self, task, seed, client):
        """Fit all ways with one more seed."""
        from sklearn_bandit import dask as bandit_dask

        X, X_test, y, y_test = data = task.make(seed)
        X_, y_ = partitioned(client, X, y)

        def add(way, model):
            for mark, raw in raw_predictions(model, X_test, MARKS).items():
                loss = task.mean_loss(model, X_test, y_test, raw)
                self.by_way[way, mark].append(loss)

        for way, solver in ((EXACT, "exact"), ("in memory, default", "auto")):
            add(way, boost(data, solver, max(MARKS), seed, {}))
        for way, parameters in CHOICES.items():
            model = bandit_dask.HistGradientBoostingClassifier(
                max_iter=max(MARKS),
                early_stopping=False,
                random_state=seed,
                **parameters,
            ).fit(X_, y_)
            add(way, model.to_local())
            self.moved[way].append(100.0 * model.n_rows_moved_ / len(X))

    def rows(self, name):
        """Return the lines of the table."""
        lines = []
        for way in dict.fromkeys(way for way, _ in self.by_way):
            losses = [self.by_way[way, mark] for mark in MARKS]
            exact = [self.by_way[EXACT, mark] for mark in MARKS]
            over = [
                "" if way == EXACT else differences(some, those)
                for some, those in zip(losses, exact, strict=True)
            ]
            moved = float(np.mean(self.moved[way])) if way in self.moved else ""
            means = [float(np.mean(some)) for some in losses]
            lines.append([name, way, len(losses[0]), *means, *over, moved])
        return lines


@benchmark("distributed.boosting_losses", data=["flights2001_3m"])
def boosting_losses(options):
    """Losses at equal iterations: a cluster's models, local ones, exact ones."""
    rows = []
    for name in filter(options.wants, LOSS_DATA):
        losses = Losses()
        with two_threads() as client:
            for seed in range(options.rounds or N_SEEDS):
                losses.count(BOOSTING[name], seed, client)
                for row in losses.rows(name):
                    print(*row, flush=True)
        rows += losses.rows(name)
    yield Table(
        "test loss of boosting on a cluster and in memory, after equal iterations",
        [
            "data",
            "",
            "seeds",
            *(f"loss, {mark} trees" for mark in MARKS),
            *(f"over exact, {mark} trees" for mark in MARKS),
            "rows moved, %",
        ],
        rows,
        note="Log-losses, means over seeds, which also split or draw the data; "
        "mean of paired differences from the exact model, with its standard error. "
        f"{N_PARTITIONS} partitions. Rows that bins are found from and rows that "
        "join the working set are counted apart where these are not the same.",
    )


# -- trees and forests ----------------------------------------------------------------

# Memory of a worker. Values of all rows, as a fit takes them, are about four times and
# eight times as much.
LIMITS = "64MB", "32MB"


@dataclass(frozen=True)
class Grown:
    """A tree or a forest.

    Attributes
    ----------
    local : module
        Where the local class is.
    name : str
        Of the class.
    parameters : dict
        Its parameters.
    """

    local: object
    name: str
    parameters: dict

    def make(self, module, seed):
        """Return the estimator of a module."""
        return getattr(module, self.name)(**self.parameters, random_state=seed)


N_TREES = 10
GROWN = {
    "tree, depth 8": Grown(tree, "DecisionTreeClassifier", {"max_depth": 8}),
    "tree": Grown(tree, "DecisionTreeClassifier", {}),
    "forest": Grown(ensemble, "RandomForestClassifier", {"n_estimators": N_TREES}),
}


def points(ours, local):
    """Mean of paired differences in percentage points; standard error if there is."""
    apart = 100.0 * np.subtract(ours, local)
    if len(apart) == 1:
        return f"{apart[0]:+.2f}"
    return f"{apart.mean():+.2f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.2f}"


@benchmark("distributed.tree_accuracy", data=["covtype"])
def tree_accuracy(options):
    """Trees and forests of more rows than fit a worker, beside the local ones."""
    from sklearn_bandit import dask as bandit_dask

    scores: dict[tuple, list] = defaultdict(list)
    for name in filter(options.wants, ("covtype", "1M x 28")):
        for seed in range(options.rounds or N_SEEDS):
            X, X_test, y, y_test = BOOSTING[name].make(seed)
            for kind, grown in GROWN.items():
                model = grown.make(grown.local, seed)
                scores[name, kind, "local"].append(
                    model.fit(X, y).score(X_test, y_test)
                )
            for limit in LIMITS:
                with two_threads(limit) as client:
                    X_, y_ = partitioned(client, X, y)
                    for kind, grown in GROWN.items():
                        model = grown.make(bandit_dask, seed).fit(X_, y_)
                        score = model.to_local().score(X_test, y_test)
                        scores[name, kind, limit].append(score)
    rows = []
    for name, kind in dict.fromkeys(key[:2] for key in scores):
        local = scores[name, kind, "local"]
        cells = [points(scores[name, kind, limit], local) for limit in LIMITS]
        rows.append([name, kind, len(local), float(np.mean(local)), *cells])
    yield Table(
        "accuracy of trees and forests of more rows than fit a worker",
        [
            "data",
            "",
            "seeds",
            "local",
            *(f"{limit} a worker, points" for limit in LIMITS),
        ],
        rows,
        note="Where a worker has less memory: differences in percentage points from "
        "the local model with the same parameters, their mean and standard error over "
        f"seeds. {N_TREES} trees in a forest.",
    )
