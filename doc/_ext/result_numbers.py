"""Roles for numbers within sentences, so that none of ours is typed.

``:result:`NAME | RECORD | ROWS | COLUMN | FORMAT```
    A number of ``benchmarks/results/NAME.json``. RECORD is a part of a title, and may
    be empty if there is but one record. ROWS has cells of the row, joined by ``&``
    (with ``column=`` before one that is not clear otherwise); ``*`` is any row, and
    ``A / B`` divides the numbers of the rows A by those of B. Of several numbers the
    least and the most are shown. COLUMN is a heading; a race has the names of its
    scores and ``speed-up``. FORMAT is Python's, and may be left out.
``:thesis:`0.83```
    A number that the thesis has: a quotation.

What is not found, or is not one number, is an error.
"""

import json
import re
from pathlib import Path
from statistics import mean

from docutils import nodes

from result_formats import digits, readable, speed_ups

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def number(text, folder=RESULTS):
    """Return what a role stands for."""
    parts = [" ".join(part.split()) for part in text.split("|")]
    if not 4 <= len(parts) <= 5:
        raise ValueError(f"{text!r} does not have four or five parts.")
    name, title, rows, column, *form = parts
    path = Path(folder) / f"{name}.json"
    if not path.exists():
        raise ValueError(f"There is no stored result {name!r}.")
    records = [
        record
        for record in json.loads(path.read_text())["records"]
        if title in record["title"] or title in readable(record["title"])
    ]
    if len(records) != 1:
        raise ValueError(f"{len(records)} records of {name!r} have {title!r}.")
    values = cells(as_table(records[0]), rows, column)
    texts = dict.fromkeys(written(value, *form) for value in (min(values), max(values)))
    return " to ".join(texts)


def as_table(record):
    """Return columns and rows; of a race a row for each side."""
    if "columns" in record:
        return record["columns"], record["rows"]
    ratios = speed_ups(record)
    metrics = list(next(iter(record["quality"].values()), {}))
    rows = []
    for side in record["seconds"]:
        scores = [known_mean(record["quality"][side][metric]) for metric in metrics]
        rows.append([side, *scores, getattr(ratios.get(side), "middle", None)])
    return ["side", *metrics, "speed-up"], rows


def known_mean(values):
    """Return the mean of those that are not null."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def cells(table, rows, column):
    """Return the numbers of a column in some rows."""
    columns, all_rows = table
    if columns.count(column) != 1:
        raise ValueError(f"{column!r} is not one of the columns {columns}.")
    place = columns.index(column)
    above, _, below = rows.partition(" / ")
    wanted = [{word.strip() for word in part.split("&")} for part in (above, below)]
    found = [
        [row[place] for row in all_rows if words <= names(columns, row)]
        for words in wanted
    ]
    found = [
        [parsed(cell) for cell in part if cell not in (None, "")] for part in found
    ]
    if not found[0]:
        raise ValueError(f"No row of {column!r} has {above!r}.")
    if not below:
        return found[0]
    return [a / b for a, b in zip(*found, strict=True)]


def names(columns, row):
    """Return the words that a row may be found by."""
    found = {"*"}
    for column, cell in zip(columns, row, strict=True):
        found |= {str(cell), digits(cell), f"{column}={cell}"}
    return found


def parsed(cell):
    """Return the number that a cell is or begins with."""
    if not isinstance(cell, str):
        return cell
    match = re.match(r"-?[\d,]*\.?\d+(?:[eE][-+]?\d+)?", cell)
    if match is None:
        raise ValueError(f"{cell!r} is no number.")
    return float(match[0].replace(",", ""))


def written(value, form=None):
    """Return the text of a number."""
    return digits(value) if form is None else format(value, form)


def result_role(role, rawtext, text, lineno, inliner, options=None, content=None):
    """Write a number that was measured."""
    name = text.partition("|")[0].strip()
    inliner.document.settings.env.note_dependency(str(RESULTS / f"{name}.json"))
    try:
        return [nodes.inline(rawtext, number(text), classes=["result"])], []
    except ValueError as error:
        message = inliner.reporter.error(str(error), line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]


def thesis_role(role, rawtext, text, lineno, inliner, options=None, content=None):
    """Write a number that the thesis has."""
    return [nodes.Text(text)], []


def setup(app):
    """Register with Sphinx."""
    app.add_role("result", result_role)
    app.add_role("thesis", thesis_role)
    return {"parallel_read_safe": True}
