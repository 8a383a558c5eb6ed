"""How two pieces of software are compared.

A benchmark is a generator registered under a name::

    @benchmark("forest.covertype", data=["covtype"])
    def covertype(options):
        \"\"\"RandomForestClassifier, full depth, 20 trees.\"\"\"
        train, test = ...
        yield Comparison(
            title="covertype, full depth, 20 trees",
            contenders={
                "sklearn-bandit": lambda seed: Ours(random_state=seed).fit(*train),
                "scikit-learn": lambda seed: Theirs(random_state=seed).fit(*train),
                "LightGBM": Contender(lambda seed: ..., needs="lightgbm"),
            },
            quality={"accuracy": lambda model: model.score(*test)},
            goals={"scikit-learn": 8.0},
        )

What a contender does is timed; what `quality` does with its result is not. The
contenders take turns within a round and change order from round to round, so that a
slow spell of the machine hits all of them; a speed-up is the median of the ratios
within the rounds. What is not a race (failure rates, growth, memory) yields a `Table`
instead.
"""

import gc
import importlib.util
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_bandit._show_versions import versions

from .data import DataMissing

REGISTRY = {}


# Seconds before each run. Threads of a BLAS or of OpenMP wait busily for a while after
# their work (OpenBLAS: 26 ms at 2.6 GHz), and would take a core from whoever is next.
PAUSE = 0.1


@dataclass(frozen=True)
class Options:
    """What the command line decides for every benchmark."""

    threads: int = 2
    rounds: int | None = None
    datasets: tuple[str, ...] = ()

    def wants(self, dataset):
        """Whether rows on this data set were asked for."""
        return not self.datasets or dataset in self.datasets


@dataclass(frozen=True)
class Contender:
    """One side of a comparison.

    Attributes
    ----------
    run : callable
        ``run(seed)`` does the work that is timed and returns its result.
    needs : str, default=""
        Module that must be installed; without it the contender is left out, visibly.
    rounds : int or None, default=None
        In how many rounds it takes part, the first ones; None for all. A slow one need
        not be repeated as often as the others.
    """

    run: Callable
    needs: str = ""
    rounds: int | None = None

    @property
    def is_installed(self):
        """Whether the contender can run here."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    def takes_part(self, i_round):
        """Whether the contender runs in a round."""
        return self.rounds is None or i_round < self.rounds


@dataclass
class Comparison:
    """A race. The first contender is ours; speed-ups are over the others.

    Attributes
    ----------
    title : str
        What is measured, with everything needed to repeat it.
    contenders : dict of str to Contender or callable
        By name, ours first.
    quality : dict of str to callable
        ``quality(result)``, by name: a score, a loss, a counter; outside the clock.
    goals : dict of str to float
        Speed-up over a contender that is aimed at.
    rounds : int, default=5
        How often each contender runs.
    warm_up : bool, default=True
        Let each run once before the clock counts (caches, thread pools, imports).
    note : str, default=""
        What a reader has to know, such as who was left out and why.
    """

    title: str
    contenders: dict
    quality: dict = field(default_factory=dict)
    goals: dict = field(default_factory=dict)
    rounds: int = 5
    warm_up: bool = True
    note: str = ""

    def measure(self, options):
        """Run the race and return its record."""
        contenders = {
            name: side if isinstance(side, Contender) else Contender(side)
            for name, side in self.contenders.items()
        }
        present = {name: c for name, c in contenders.items() if c.is_installed}
        seconds = {name: [] for name in present}
        scores = {name: {metric: [] for metric in self.quality} for name in present}

        if self.warm_up:
            for contender in present.values():
                contender.run(0)
        for i_round in range(options.rounds or self.rounds):
            order = [name for name in present if present[name].takes_part(i_round)]
            if i_round % 2:
                order.reverse()
            for name in order:
                gc.collect()
                time.sleep(PAUSE)
                start = time.perf_counter()
                result = present[name].run(i_round)
                seconds[name].append(time.perf_counter() - start)
                for metric, score in self.quality.items():
                    scores[name][metric].append(float(score(result)))
                del result
        return {
            "title": self.title,
            "seconds": seconds,
            "quality": scores,
            "goals": self.goals,
            "missing": sorted(set(contenders) - set(present)),
            "note": self.note,
        }


@dataclass
class Table:
    """Anything that is not a race: the function that yields it did the measuring."""

    title: str
    columns: list
    rows: list
    note: str = ""

    def measure(self, options):
        """Return the record."""
        return {
            "title": self.title,
            "columns": self.columns,
            "rows": self.rows,
            "note": self.note,
        }


def benchmark(name, data=()):
    """Register a generator of `Comparison` and `Table` objects under a name."""

    def register(function):
        if name in REGISTRY:
            raise ValueError(f"There are two benchmarks named {name!r}.")
        function.data = tuple(data)
        REGISTRY[name] = function
        return function

    return register


def run(names, options, json_file=None):
    """Run benchmarks, print their tables, store their records."""
    header = versions()
    print_header(header, options)
    records = {name: list(measure(name, options)) for name in names}
    if json_file is not None:
        path = Path(json_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"versions": header, "threads": options.threads, "records": records}
        path.write_text(json.dumps(document, indent=1, default=str))
    return records


def measure(name, options):
    """Run one benchmark; print and yield its records one by one."""
    print(f"\n== {name}: {summary(REGISTRY[name])}", flush=True)
    try:
        with threadpool_limits(options.threads):
            for item in REGISTRY[name](options):
                record = item.measure(options)
                print_record(record)
                yield record
    except DataMissing as missing:
        print(f"   left out: {missing}")
        yield {"missing_data": str(missing)}


def speed_ups(record):
    """Speed-up of the first contender over each other one: median, least, most."""
    (_, mine), *others = record["seconds"].items()
    ratios = {
        name: np.array(seconds) / mine[: len(seconds)] for name, seconds in others
    }
    return {name: (np.median(r), r.min(), r.max()) for name, r in ratios.items()}


def print_header(header, options):
    """Print what a figure is worth nothing without."""
    packages = header["Packages"]
    shown = ", ".join(f"{name} {packages[name]}" for name in packages if name != "dask")
    print(f"{header['System']['processor']}, {options.threads} threads; {shown}")


def print_record(record):
    """Print one record as a table."""
    print(f"\n{record['title']}")
    if "columns" in record:
        print_table(record["columns"], record["rows"])
    else:
        print_race(record)
    if record["note"]:
        print(f"  {record['note']}")


def print_race(record):
    """Print the sides of a race."""
    ratios = speed_ups(record)
    metrics = list(next(iter(record["quality"].values())))
    rows = []
    for name, seconds in record["seconds"].items():
        row = [name, f"{np.median(seconds):.4g} s"]
        row += [_mean_and_spread(record["quality"][name][metric]) for metric in metrics]
        row += ["", ""]
        if name in ratios:
            middle, least, most = ratios[name]
            row[-2] = f"{middle:.2f}x [{least:.2f}, {most:.2f}]"
            goal = record["goals"].get(name)
            if goal is not None:
                row[-1] = f"{goal:g}x " + ("met" if middle >= goal else "MISSED")
        rows.append(row)
    print_table(["", "time", *metrics, "our speed-up", "goal"], rows)
    if record["missing"]:
        print(f"  not installed: {', '.join(record['missing'])}")


def print_table(columns, rows):
    """Print aligned columns."""
    cells = [list(map(str, columns))]
    cells += [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for i, row in enumerate(cells):
        line = "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        )
        print("  " + line.rstrip())
        if i == 0:
            print("  " + "  ".join("-" * width for width in widths))


def _cell(value):
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _mean_and_spread(values):
    if len(values) == 1 or np.std(values) == 0:
        return f"{np.mean(values):.5g}"
    return f"{np.mean(values):.5g} ± {np.std(values, ddof=1):.1g}"


def summary(function):
    """First line of what a benchmark says of itself."""
    return (function.__doc__ or "").strip().splitlines()[0]
