"""Stored results: what the documentation is made from."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are not part of a release", allow_module_level=True)
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.fixture
def report(monkeypatch, tmp_path):
    """Return the module that stores results, with a folder of its own."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import report

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setitem(report.REGISTRY, "some.benchmark", test_stored_files)
    return report


def stored(report):
    return json.loads((report.RESULTS / "some.benchmark.json").read_text())["records"]


def race(title, seconds):
    return {"title": title, "seconds": {"ours": seconds}, "quality": {}}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_files(path):
    """Every record says what it is and where it comes from."""
    document = json.loads(path.read_text())
    assert document["benchmark"] == path.stem
    assert document["records"]
    for record in document["records"]:
        measured = record["measured"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
        assert measured["processor"]
        assert measured["threads"] >= 1
        if "seconds" in record:
            # Slow sides may take part in the first rounds only.
            n_rounds = [len(times) for times in record["seconds"].values()]
            assert n_rounds[0] == max(n_rounds) == len(record["seeds"])
            assert min(n_rounds) >= 1
            assert "scikit-learn" in measured["packages"]
        else:
            width = len(record["columns"])
            assert all(len(row) == width for row in record["rows"])


def test_what_is_measured_again_replaces(report):
    report.store("some.benchmark", race("a", [1.0, 2.0]), {"date": "first"})
    report.store("some.benchmark", race("b", [1.0]), {"date": "first"})
    report.store("some.benchmark", race("a", [3.0]), {"date": "second"})
    first, second = stored(report)
    assert (first["title"], first["measured"]["date"]) == ("a", "second")
    assert first["seeds"] == [0]
    assert (second["title"], second["measured"]["date"]) == ("b", "first")


def test_measured_figures_in_a_title_do_not_count(report):
    report.store("some.benchmark", race("time to 0.45", [1.0]), {"date": "first"})
    report.store(
        "some.benchmark", race("time to 0.46; never: x", [1.0]), {"date": "second"}
    )
    assert [record["measured"]["date"] for record in stored(report)] == ["second"]


def test_what_was_transcribed_makes_room(report):
    table = {"title": "old", "columns": [], "rows": []}
    report.store("some.benchmark", table, {"date": "first", "transcribed": True})
    report.store("some.benchmark", race("new", [1.0]), {"date": "second"})
    assert [record["title"] for record in stored(report)] == ["new"]


def test_rows_measured_again_join_the_others(report):
    def table(*rows):
        return {"title": "all", "columns": ["data", "x"], "rows": list(rows)}

    origin = {"date": "first"}
    report.store("some.benchmark", table(["a", 1], ["a", 2], ["b", 3]), origin)
    report.store("some.benchmark", table(["a", 4], ["c", 5]), origin, is_part=True)
    (record,) = stored(report)
    assert record["rows"] == [["a", 4], ["b", 3], ["c", 5]]
    report.store("some.benchmark", table(["b", 6]), origin)
    assert stored(report)[0]["rows"] == [["b", 6]]


@pytest.fixture
def run_benchmark(report, monkeypatch):
    """Return a function that runs a benchmark which makes tables of these titles."""
    from benchmarks.data import DataMissing
    from benchmarks.harness import Options, Table

    def run(*titles, datasets=(), others=0.0, is_missing=False):
        def makes_tables(options):
            """Tables."""
            for title in titles:
                yield Table(title, ["x"], [[1]])
            if is_missing:
                raise DataMissing("none")

        monkeypatch.setitem(report.REGISTRY, "some.benchmark", makes_tables)
        monkeypatch.setattr(report.OtherLoad, "share", lambda self: others)
        report.run("some.benchmark", Options(datasets=datasets))
        return [record["title"] for record in stored(report)]

    return run


def test_what_a_whole_run_does_not_make_is_dropped(run_benchmark):
    assert run_benchmark("a to 0.1", "b", "c") == ["a to 0.1", "b", "c"]
    assert run_benchmark("c", "a to 0.2") == ["a to 0.2", "c"]


@pytest.mark.parametrize(
    "part",
    [{"datasets": ("some",)}, {"others": 0.5}, {"is_missing": True}],
    ids=["one data set", "busy machine", "missing data"],
)
def test_a_part_of_a_run_drops_nothing(run_benchmark, part):
    run_benchmark("a", "b")
    assert run_benchmark("b", **part) == ["a", "b"]


def test_nan_is_null(report):
    record = {"title": "a", "columns": ["x"], "rows": [[float("nan")]]}
    report.store("some.benchmark", record, {"date": "first"})
    assert stored(report)[0]["rows"] == [[None]]


def test_history_reports_what_got_worse(report):
    from benchmarks.history import compare

    def entry(count, ratio, processor="a"):
        return {
            "measured": {"processor": processor},
            "tasks": {"task": {"count": count, "ratio": ratio}},
        }

    assert compare(entry(100, 5.0), entry(100, 5.0)) == []
    assert compare(entry(120, 5.0), entry(100, 5.0)) == ["task: 100 became 120"]
    assert compare(entry(100, 2.0), entry(100, 5.0)) == ["task: 5.0x became 2.0x"]
    assert compare(entry(100, 2.0, "b"), entry(100, 5.0)) == []
    busy = entry(100, 2.0)
    busy["measured"]["other_load"] = 0.5
    assert compare(busy, entry(100, 5.0)) == []
