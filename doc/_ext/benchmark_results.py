"""Tables and plots of the guide, made from ``benchmarks/results``.

``.. benchmark-table:: forest.covertype``
    One table for each record of a benchmark: seconds, scores, speed-ups.
    ``:records:`` keeps those whose title has one of some words (separated by ``|``),
    ``:joined:`` makes one table of those that say the same of several data sets, and
    ``:transposed:`` exchanges rows and columns.
``.. benchmark-overview:: mips.movielens mips.synthetic``
    One line for each race: our seconds and the speed-up over each other side.
``.. benchmark-plot:: forest.covertype forest.flights``
    Bars of seconds, one group for each race, with scores.
``.. benchmark-peers::``
    Every race against another library, those that we lose included.
``.. benchmark-missing::``
    Benchmarks that have no stored result.

A benchmark that was not measured yet is a sentence that says so; one that does not
exist is a warning. `benchmarks.report` writes the files.
"""

import json
import re
from pathlib import Path
from statistics import median

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from figure_style import save_both
from result_formats import (
    OURS,
    digits,
    duration,
    note_of,
    origin,
    package,
    score,
    shown,
    speed_ups,
    title_of,
)
from result_plots import draw_races, keep_sides
from result_tables import joined, transposed
from themed_figure import FOLDER, themed_images

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"


def known_names():
    """Names of all benchmarks, read from their source."""
    sources = [path.read_text() for path in BENCHMARKS.rglob("*.py")]
    found = re.findall(r'@benchmark\(\s*"([^"]+)"', "\n".join(sources))
    return sorted(set(found))


def table_node(columns, rows, classes=()):
    """Return a table of texts and nodes."""
    table = nodes.table(classes=["benchmark-table", *classes])
    group = nodes.tgroup(cols=len(columns))
    table += group
    group += [nodes.colspec(colwidth=1) for _ in columns]
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    head += _row(columns)
    for row in rows:
        body += _row(row)
    return table


def _row(cells):
    row = nodes.row()
    for cell in cells:
        if isinstance(cell, nodes.entry):
            row += cell
            continue
        entry = nodes.entry()
        entry += cell if isinstance(cell, nodes.Node) else nodes.paragraph(text=cell)
        row += entry
    return row


def speed_cell(speed, text=nodes.inline):
    """Return the median speed-up, and below it the least and the most."""
    paragraph = nodes.paragraph("", "", text(text=str(speed)))
    if speed.range:
        paragraph += nodes.inline(text=speed.range, classes=["range"])
    return paragraph


class ResultsDirective(SphinxDirective):
    """What the directives share: reading results, and saying where they are from."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "records": directives.unchanged,
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "name": directives.unchanged,
        "only": directives.unchanged,
        "without": directives.unchanged,
        "joined": directives.flag,
        "transposed": directives.flag,
    }

    def read(self, name):
        """Return the records of a benchmark that were asked for."""
        path = RESULTS / f"{name}.json"
        self.env.note_dependency(str(path))
        self.env.note_dependency(__file__)
        if not path.exists():
            if name not in known_names():
                raise self.error(f"There is no benchmark {name!r}.")
            return []
        records = json.loads(path.read_text())["records"]
        words = self.words("records")
        return [r for r in records if not words or any(w in r["title"] for w in words)]

    def words(self, option):
        """Return the parts of an option that are separated by bars."""
        parts = self.options.get(option, "").split("|")
        return [part.strip() for part in parts if part.strip()]

    def names(self):
        """Return the benchmarks that the argument lists."""
        return self.arguments[0].split() if self.arguments else []

    def not_measured(self, names):
        """Return a sentence for benchmarks without results, if there are any."""
        if not names:
            return []
        command = "make bench-report NAMES=" + (
            names[0] if len(names) == 1 else f"'{' '.join(names)}'"
        )
        paragraph = nodes.paragraph(classes=["benchmark-origin"])
        paragraph += nodes.Text("Not measured on this version yet: ")
        paragraph += nodes.literal(text=command)
        return [paragraph]

    def line(self, name, record):
        """Return the line under a table that says where it is from."""
        text, command = origin(name, record)
        paragraph = nodes.paragraph(classes=["benchmark-origin"])
        paragraph += [nodes.Text(f"{text} · "), nodes.literal(text=command)]
        return paragraph


class BenchmarkTable(ResultsDirective):
    """A table for each record of a benchmark."""

    def run(self):
        """Return the tables."""
        result, absent = [], []
        for name in self.names():
            records = self.read(name)
            absent += [] if records else [name]
            if "joined" in self.options:
                records = joined(records)
            for record in records:
                title = nodes.strong(text=title_of(record))
                result += [nodes.paragraph("", "", title), self._table(record)]
                if note := note_of(record):
                    result.append(nodes.paragraph(text=note))
                result.append(self.line(name, record))
        return [*result, *self.not_measured(absent)]

    def _table(self, record):
        if "columns" in record:
            if "transposed" in self.options:
                record = transposed(record)
            rows = [[digits(cell) for cell in row] for row in record["rows"]]
            return table_node(record["columns"], rows, ["wrap"])
        ratios = speed_ups(record)
        metrics = list(next(iter(record["quality"].values()), {}))
        rows = []
        for name, seconds in record["seconds"].items():
            scores = [score(record["quality"][name][metric]) for metric in metrics]
            ratio = speed_cell(ratios[name]) if name in ratios else ""
            rows.append([shown(name), duration(median(seconds)), *scores, ratio])
        return table_node(["", "time", *metrics, "our speed-up"], rows)


class BenchmarkOverview(ResultsDirective):
    """One line for each race of some benchmarks."""

    def run(self):
        """Return the table."""
        rows, rivals, last, absent = [], [], None, []
        for name in self.names():
            records = [record for record in self.read(name) if "seconds" in record]
            absent += [] if records else [name]
            for record in records:
                ratios = speed_ups(record)
                rivals += [rival for rival in ratios if rival not in rivals]
                rows.append((record, ratios))
                last = name, record
        if not rows:
            return self.not_measured(absent)
        cells = []
        for record, ratios in rows:
            ours = next(iter(record["seconds"]))
            line = [title_of(record), duration(median(record["seconds"][ours]))]
            line += [speed_cell(ratios[r]) if r in ratios else "" for r in rivals]
            cells.append([*line, scores_of(record, ours)])
        columns = ["", "our time", *(f"over {shown(r)}" for r in rivals), "our score"]
        if not any(line[-1] for line in cells):
            columns, cells = columns[:-1], [line[:-1] for line in cells]
        return [
            table_node(columns, cells),
            self.line(*last),
            *self.not_measured(absent),
        ]


def scores_of(record, side):
    """Return the scores of a side in one text, without those that it has not."""
    found = record["quality"].get(side, {})
    texts = [f"{metric} {score(values)}" for metric, values in found.items()]
    return "; ".join(text for text in texts if "–" not in text)


class BenchmarkPlot(ResultsDirective):
    """Bars of seconds."""

    has_content = True

    def run(self):
        """Return the plot."""
        races, last, absent = [], None, []
        for name in self.names():
            records = [record for record in self.read(name) if "seconds" in record]
            absent += [] if records else [name]
            races += records
            last = (name, records[-1]) if records else last
        if not races:
            return self.not_measured(absent)
        only, without = self.words("only"), self.words("without")
        captions = self.words("caption")
        races = [keep_sides(race, only, without) for race in races]
        stem = self.options.get("name") or "_".join(self.names()).replace(".", "_")
        files = save_both(
            lambda palette: draw_races(palette, races, captions),
            Path(self.env.srcdir) / FOLDER,
            f"results_{stem}",
        )
        alt = self.options.get("alt", "Seconds of each side; the text has the table.")
        return [
            *themed_images(files, alt),
            self.line(*last),
            *self.not_measured(absent),
        ]


# Headings of the page that has all comparisons, by the first part of a name.
FAMILIES = {
    "forest": "Trees and forests",
    "boosting": "Boosting",
    "quality": "Boosting on samples",
    "categories": "Categories",
    "predict": "Prediction",
    "kmedoids": "k-medoids",
    "neighbors": "Nearest neighbours",
    "mips": "Inner products and matching pursuit",
    "distributed": "On a cluster",
}


class BenchmarkPeers(ResultsDirective):
    """Every race against another library, those of a family in one table."""

    def run(self):
        """Return a table for each family, closed, with a line that sums it up."""
        found = {family: [] for family in FAMILIES}
        for path in sorted(RESULTS.glob("*.json")):
            family = path.stem.partition(".")[0]
            if family == "thesis":
                continue
            for record in self.read(path.stem):
                if "seconds" in record and (speeds := over_others(record)):
                    found.setdefault(family, []).append((path.stem, record, speeds))
        result = []
        for family, races in found.items():
            if races:
                rows = [row for race in races for row in peer_rows(*race)]
                columns = ["against", "our speed-up", "our score", "their score"]
                line = f"<summary>{summary_line(family, races)}</summary>"
                opening = f'<details class="benchmark-family">{line}'
                result += [
                    nodes.raw("", opening, format="html"),
                    table_node(columns, rows, ["benchmark-peers"]),
                    nodes.raw("", "</details>", format="html"),
                ]
        return result


def over_others(record):
    """Return the speed-ups of a race over other libraries."""
    found = speed_ups(record).items()
    return {side: speed for side, speed in found if package(side) is not None}


def summary_line(family, races):
    """Return a family's name, and how many comparisons it has and loses."""
    speeds = [speed.middle for *_, race in races for speed in race.values()]
    n_lost = sum(speed < 1 for speed in speeds)
    comparisons = "comparison" if len(speeds) == 1 else "comparisons"
    text = f"{len(speeds)} {comparisons}, median {digits(median(speeds))}×"
    lost = f", {n_lost} lost" if n_lost else ", none lost"
    return f"<strong>{FAMILIES.get(family, family)}</strong>: {text}{lost}"


def peer_rows(name, record, speeds):
    """Yield a line that names the task, and one for each other library."""
    ours = next(iter(record["seconds"]))
    task = nodes.paragraph("", "", nodes.strong(text=title_of(record)))
    if ours != OURS:
        task += nodes.Text(f" ({shown(ours)})")
    date = record["measured"]["date"]
    task += [nodes.Text(f", {date} "), nodes.literal(text=name)]
    yield [nodes.entry("", task, morecols=3, classes=["task"])]
    for rival, speed in speeds.items():
        text = nodes.strong if speed.middle < 1 else nodes.inline
        scores = [scores_of(record, side) for side in (ours, rival)]
        yield [shown(rival), speed_cell(speed, text), *scores]


class BenchmarkMissing(ResultsDirective):
    """Names of benchmarks without results."""

    def run(self):
        """Return a list."""
        stored = {path.stem for path in RESULTS.glob("*.json")}
        paragraph = nodes.paragraph()
        names = [name for name in known_names() if name not in stored]
        for i, name in enumerate(names):
            paragraph += nodes.Text(", " if i else "")
            paragraph += nodes.literal(text=name)
        return [paragraph]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("benchmark-table", BenchmarkTable)
    app.add_directive("benchmark-overview", BenchmarkOverview)
    app.add_directive("benchmark-plot", BenchmarkPlot)
    app.add_directive("benchmark-peers", BenchmarkPeers)
    app.add_directive("benchmark-missing", BenchmarkMissing)
    return {"parallel_read_safe": True}
