"""Tables of stored results that are joined or turned for the documentation."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "doc/performance.rst"
RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def tables(import_extension):
    return import_extension("result_tables")


def table(title, *rows, load=0.0, columns=("wrong", "excess")):
    return {
        "title": title,
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "measured": {"other_load": load},
    }


def test_tables_of_one_kind_are_joined(tables):
    race = {"title": "mnist: a race", "seconds": {}, "measured": {}}
    other = table("mnist: fitting", [1.0], columns=["seconds"])
    records = [
        table("mnist: 9 queries", [0, 0.0]),
        race,
        table("sift: 9 queries", [1, 0.5], [2, 0.7], load=0.4),
        other,
    ]
    found, *rest = tables.joined(records)
    assert found["title"] == "9 queries"
    assert found["columns"] == ["data", "wrong", "excess"]
    assert found["rows"] == [["MNIST", 0, 0.0], ["Sift", 1, 0.5], ["Sift", 2, 0.7]]
    assert found["measured"] == {"other_load": 0.4}
    assert rest == [race, other]


def test_titles_without_data_stay_alone(tables):
    records = [table("first", [0, 1]), table("second", [0, 1])]
    assert tables.joined(records) == records


def test_columns_become_rows(tables):
    turned = tables.transposed(table("scores", ["a", 1], ["b", 2], columns=["", "x"]))
    assert turned["columns"] == ["", "a", "b"]
    assert turned["rows"] == [["x", 1, 2]]


def test_every_table_with_other_libraries_is_on_the_page(import_extension):
    """Races come by themselves (``benchmark-peers``)."""
    package = import_extension("result_formats").package
    listed = PAGE.read_text().split()
    absent = [
        path.stem
        for path in sorted(RESULTS.glob("*.json"))
        if not path.stem.startswith("thesis.")
        and path.stem not in listed
        and any(map(package, texts_of_tables(json.loads(path.read_text()))))
    ]
    assert absent == []


def texts_of_tables(stored):
    """Yield the headings and texts in the tables of a benchmark."""
    for record in stored["records"]:
        if "columns" in record:
            yield from record["columns"]
            for row in record["rows"]:
                yield from (cell for cell in row if isinstance(cell, str))
