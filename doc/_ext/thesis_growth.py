"""``.. thesis-growth:: NAME ...``: exponents of growth beside the thesis's, in a table.

The benchmarks of chapter 2 (``growth`` in ``benchmarks/thesis/kmedoids.py``) end their
tables with a row of exponents, and quote the thesis's in the note.
"""

import re

from benchmark_results import ResultsDirective, table_node
from result_formats import digits, title_of

COLUMNS = [
    "experiment",
    "n",
    "thesis",
    "processor time",
    "distances",
    "all distances of a fit",
    "share of all pairs at the largest n",
]


class ThesisGrowth(ResultsDirective):
    """A line for each table of growth."""

    def run(self):
        """Return the table, and where its last line is from."""
        rows, last, absent = [], None, []
        for name in self.names():
            records = self.read(name)
            absent += [] if records else [name]
            for record in records:
                rows.append(growth_row(record))
                last = name, record
        if not rows:
            return self.not_measured(absent)
        return [
            table_node(COLUMNS, rows, ["wrap"]),
            self.line(*last),
            *self.not_measured(absent),
        ]


def growth_row(record):
    """Return the line of one record."""
    *sizes, exponents = record["rows"]
    experiment = re.sub(r", \d+ subsets of each size.*", "", title_of(record))
    quoted = re.search(r"Exponent in the thesis: ([\d.]+ \([^)]*\))", record["note"])
    return [
        experiment,
        f"{digits(sizes[0][0])} to {digits(sizes[-1][0])}",
        quoted[1] if quoted else "",
        *(f"{exponent:.2f}" for exponent in exponents[2:5]),
        f"{sizes[-1][5]:.1%}",
    ]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("thesis-growth", ThesisGrowth)
    return {"parallel_read_safe": True}
