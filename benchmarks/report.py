"""``python -m benchmarks.report NAME ...``: measure, and store for the documentation.

Each benchmark has a file ``benchmarks/results/NAME.json`` under version control, from
which the guide makes its tables and plots (``doc/_ext/benchmark_results.py``). A record
says where and when it was measured: the machine, the versions of all sides, the date,
the commit, the seeds. What is measured anew replaces the records of the same title;
others stay as they are, so that a long benchmark can be measured in parts
(``--dataset``). So do the other rows of a table of which some were measured. A record
is written as soon as it is there, unless other processes took part of the machine
meanwhile. After a run that stored all that the benchmark makes, the others are dropped:
the code does not make them any more.
"""

import argparse
import json
import math
import os
import re
import subprocess
import time
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sklearn_bandit._show_versions import versions

from .__main__ import discover, expand
from .harness import REGISTRY, Options, measure, summary

RESULTS = Path(__file__).parent / "results"

# Share of the machine that other processes may have during a measurement: what an idle
# one was seen to use is below a hundredth.
MOST_OTHERS = 0.05

PEERS = [
    "scikit-learn",
    "scikit-learn-intelex",
    "lightgbm",
    "xgboost",
    "catboost",
    "ydf",
    "perpetual",
    "kmedoids",
    "onebatch",
    "faiss-cpu",
    "usearch",
    "hnswlib",
    "treelite",
    "numpy",
    "scipy",
]


class OtherLoad:
    """What other processes do meanwhile, as a share of the machine (Linux only)."""

    def __init__(self):
        self._start = self._now()

    @staticmethod
    def _now():
        if not Path("/proc/stat").exists():
            return None
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        idle = int(fields[3]) + int(fields[4])
        busy = (sum(map(int, fields)) - idle) / os.sysconf("SC_CLK_TCK")
        own = sum(os.times()[:4]) + _seconds_of_workers()
        return time.perf_counter(), busy - own

    def share(self):
        """Return the share since the last call, None where it is not known."""
        start, self._start = self._start, self._now()
        if start is None:
            return None
        elapsed, others = (b - a for a, b in zip(start, self._start, strict=True))
        return max(0.0, others / (elapsed * os.cpu_count()))


def _seconds_of_workers():
    """Processor time of live descendants: joblib's workers stay for the next call."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        process = int(path.parent.name)
        parents[process] = int(fields[1])
        ticks[process] = int(fields[11]) + int(fields[12])
    family = {os.getpid()}
    while grown := {p for p, parent in parents.items() if parent in family} - family:
        family |= grown
    total = sum(ticks.get(process, 0) for process in family - {os.getpid()})
    return total / os.sysconf("SC_CLK_TCK")


def provenance(options):
    """What a figure is worth nothing without."""
    header = versions()
    packages = {"sklearn-bandit": header["Packages"]["sklearn-bandit"]}
    for name in PEERS:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": date.today().isoformat(),
        "commit": _commit(),
        "processor": header["System"]["processor"],
        "cores": os.cpu_count(),
        "threads": options.threads,
        "python": header["System"]["python"].split()[0],
        "packages": packages,
    }


def _commit():
    """Return the commit, marked if other files than results differ from it."""

    def git(*arguments):
        command = ["git", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=RESULTS.parents[1]
        )

    commit = git("describe", "--always", "--exclude=*").stdout.strip()
    changes = git("diff", "--quiet", "HEAD", "--", ".", ":!benchmarks/results")
    return (commit + "-dirty" * (changes.returncode == 1)) or "unknown"


def store(name, record, origin, is_part=False):
    """Put a record into the file of its benchmark, in place of one so titled.

    If it is a part, a table keeps those rows that were not measured again.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = json.loads(path.read_text()) if path.exists() else {"records": []}
    document = {
        "benchmark": name,
        "summary": summary(REGISTRY[name]),
        # What was transcribed from a text makes room for what was measured.
        "records": [
            old
            for old in document["records"]
            if not old["measured"].get("transcribed", False)
        ],
    }
    if "seconds" in record:
        rounds = len(next(iter(record["seconds"].values())))
        record["seeds"] = list(range(rounds))
    record["measured"] = origin
    subjects = [_subject(old["title"]) for old in document["records"]]
    if _subject(record["title"]) in subjects:
        place = subjects.index(_subject(record["title"]))
        if is_part:
            record = _joined(document["records"][place], record)
        document["records"][place] = record
    else:
        document["records"].append(record)
    _write(path, document)


def drop_others(name, titles):
    """Drop the records of a benchmark of which none of these titles speaks."""
    path = RESULTS / f"{name}.json"
    document = json.loads(path.read_text())
    subjects = {_subject(title) for title in titles}
    document["records"] = [
        record
        for record in document["records"]
        if _subject(record["title"]) in subjects
    ]
    _write(path, document)


def _write(path, document):
    path.write_text(json.dumps(_plain(document), indent=1, ensure_ascii=False) + "\n")


def _joined(old, new):
    """Return a table with the rows of an older one where it has none so named."""
    if "columns" not in new or old.get("columns") != new["columns"]:
        return new
    named = {row[0]: [] for row in old["rows"] + new["rows"]}
    measured = {row[0] for row in new["rows"]}
    for row in [r for r in old["rows"] if r[0] not in measured] + new["rows"]:
        named[row[0]].append(row)
    return {**new, "rows": [row for rows in named.values() for row in rows]}


def _subject(title):
    """Return a title without what was measured (a loss to reach, who never did)."""
    return re.sub(r"\d*\.\d+", "#", title.partition("; never")[0])


def _plain(value):
    """Return what JSON has: no numpy scalars, seconds of six digits, null for NaN."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.6g}")
    return value


def run(name, options, *, force=False):
    """Measure a benchmark and store its records; `force` stores disturbed ones, too."""
    load = OtherLoad()
    stored, is_whole = [], not options.datasets
    for record in measure(name, options):
        others = load.share()
        if "missing_data" in record:
            is_whole = False
            continue
        if others is not None and others > MOST_OTHERS and not force:
            print(f"  not stored: others used {others:.0%} of the machine")
            is_whole = False
            continue
        origin = {**provenance(options), "other_load": others}
        store(name, record, origin, is_part=bool(options.datasets))
        stored.append(record["title"])
    if is_whole and stored:
        drop_others(name, stored)


def main(arguments=None):
    """Parse the command line; run and store what it names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report")
    parser.add_argument("names", nargs="+", help="names or patterns")
    parser.add_argument("--dataset", action="append", default=[], help="only this one")
    parser.add_argument("--rounds", type=int, help="runs of each contender")
    parser.add_argument("--threads", type=int, default=2, help="for both sides")
    parser.add_argument(
        "--force",
        action="store_true",
        help="store also what was disturbed: for counts, which do not mind",
    )
    parsed = parser.parse_args(arguments)

    discover()
    options = Options(parsed.threads, parsed.rounds, tuple(parsed.dataset))
    for name in expand(parsed.names, parser):
        run(name, options, force=parsed.force)


if __name__ == "__main__":
    main()
