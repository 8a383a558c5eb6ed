"""Tables and plots of the guide, made from ``benchmarks/results``.

``.. benchmark-table:: forest.covertype``
    One table for each record of a benchmark: seconds, scores, speed-ups.
    ``:records:`` keeps those whose title has one of some words (separated by ``|``).
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
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import mean, median, stdev
from textwrap import fill

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from figure_style import save_both
from themed_figure import FOLDER, themed_images

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
OURS = "sklearn-bandit"

# Share of the machine taken by others from which on times are said to be disturbed.
DISTURBED = 0.05

# Other libraries: how contenders are called that come from them, and their packages.
PEERS = {
    "scikit-learn-intelex": "scikit-learn-intelex",
    "scikit-learn": "scikit-learn",
    "sklearn": "scikit-learn",
    "KMeans": "scikit-learn",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
    "YDF": "ydf",
    "Perpetual": "perpetual",
    "kmedoids": "kmedoids",
    "OneBatchPAM": "onebatch",
    "faiss": "faiss-cpu",
    "usearch": "usearch",
    "hnsw": "hnswlib",
    "treelite": "treelite",
    "numpy": "numpy",
    "BLAS": "numpy",
}


@dataclass(frozen=True)
class Speed:
    """A speed-up over the rounds of a race."""

    middle: float
    least: float
    most: float

    def __str__(self):
        if self.least == self.most:
            return f"{digits(self.middle)}×"
        return f"{digits(self.middle)}× [{digits(self.least)}, {digits(self.most)}]"


def digits(value):
    """Format a number with as many digits as it deserves."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2g}"


def duration(seconds):
    """Format a time."""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    unit = next((unit for unit, size in units.items() if seconds >= size), "µs")
    return f"{seconds / units[unit]:.3g} {unit}"


def score(values):
    """Format the scores of all rounds: mean and standard deviation."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    if len(known) == 1 or len(set(known)) == 1:
        return f"{known[0]:.4g}"
    return f"{mean(known):.4g} ± {stdev(known):.1g}"


def speed_ups(record):
    """Speed-ups of the first contender over each other one."""
    (_, mine), *others = record["seconds"].items()
    found = {}
    for name, seconds in others:
        ratios = [theirs / ours for theirs, ours in zip(seconds, mine, strict=True)]
        found[name] = Speed(median(ratios), min(ratios), max(ratios))
    return found


def package(contender):
    """Return the package that a contender comes from; None if it is ours."""
    if contender.startswith(OURS):
        return None
    for pattern, name in PEERS.items():
        if re.search(rf"\b{re.escape(pattern)}", contender):
            return name
    return None


def shown(contender):
    """Return the name of a contender, ours marked."""
    if contender.startswith(OURS) or package(contender):
        return contender
    return f"{OURS}, {contender}"


def day(text):
    """Format a date for reading."""
    then = date.fromisoformat(text)
    return f"{then.day} {then:%B %Y}"


def origin(name, record):
    """Return what a table is worth nothing without, in a line."""
    measured = record["measured"]
    parts = [f"{measured['processor']}, {measured['cores']} cores"]
    parts.append(f"{measured['threads']} threads")
    if "seconds" in record:
        used = {package(side) for side in record["seconds"]} - {None}
        versions = measured["packages"]
        parts += [f"{side} {versions[side]}" for side in sorted(used & set(versions))]
        n_rounds = len(record["seeds"])
        seeds = "seed 0" if n_rounds == 1 else f"seeds 0 to {n_rounds - 1}"
        parts.append(
            f"{n_rounds} rounds, {seeds}" if n_rounds > 1 else f"1 run, {seeds}"
        )
    parts.append(day(measured["date"]))
    if (measured.get("other_load") or 0) > DISTURBED:
        parts.append("on a busy machine: counts and scores hold, times do not")
    if measured.get("transcribed"):
        parts.append("transcribed from a run of which no record was kept")
    return " · ".join(parts), f"make bench-report NAMES={name}"


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
        entry = nodes.entry()
        entry += cell if isinstance(cell, nodes.Node) else nodes.paragraph(text=cell)
        row += entry
    return row


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

    def not_measured(self, name):
        """Return a sentence for a benchmark without results."""
        paragraph = nodes.paragraph(classes=["benchmark-origin"])
        paragraph += nodes.Text("Not measured on this version yet: ")
        paragraph += nodes.literal(text=f"make bench-report NAMES={name}")
        return paragraph

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
        result = []
        for name in self.names():
            records = self.read(name)
            if not records:
                result.append(self.not_measured(name))
            for record in records:
                result += [
                    nodes.paragraph(
                        "",
                        "",
                        nodes.strong(text=record["title"].partition("; never")[0]),
                    ),
                    self._table(record),
                ]
                if record.get("note"):
                    result.append(nodes.paragraph(text=record["note"]))
                result.append(self.line(name, record))
        return result

    def _table(self, record):
        if "columns" in record:
            rows = [[digits(cell) for cell in row] for row in record["rows"]]
            return table_node(record["columns"], rows, ["wrap"])
        ratios = speed_ups(record)
        metrics = list(next(iter(record["quality"].values()), {}))
        rows = []
        for name, seconds in record["seconds"].items():
            scores = [score(record["quality"][name][metric]) for metric in metrics]
            ratio = str(ratios[name]) if name in ratios else ""
            rows.append([shown(name), duration(median(seconds)), *scores, ratio])
        return table_node(["", "time", *metrics, "our speed-up"], rows)


class BenchmarkOverview(ResultsDirective):
    """One line for each race of some benchmarks."""

    def run(self):
        """Return the table."""
        rows, rivals, last, absent = [], [], None, []
        for name in self.names():
            records = [record for record in self.read(name) if "seconds" in record]
            absent += [] if records else [self.not_measured(name)]
            for record in records:
                ratios = speed_ups(record)
                rivals += [rival for rival in ratios if rival not in rivals]
                rows.append((record, ratios))
                last = name, record
        if not rows:
            return absent
        metrics = {m for r, _ in rows for m in next(iter(r["quality"].values()), {})}
        metrics = sorted(metrics)
        cells = []
        for record, ratios in rows:
            ours = next(iter(record["seconds"]))
            line = [record["title"], duration(median(record["seconds"][ours]))]
            line += [str(ratios[rival]) if rival in ratios else "" for rival in rivals]
            mine = record["quality"].get(ours, {})
            line += [score(mine[m]) if m in mine else "" for m in metrics]
            cells.append(line)
        columns = ["", "our time", *(f"over {shown(r)}" for r in rivals), *metrics]
        return [table_node(columns, cells), self.line(*last), *absent]


class BenchmarkPlot(ResultsDirective):
    """Bars of seconds."""

    has_content = True

    def run(self):
        """Return the plot."""
        races, last, absent = [], None, []
        for name in self.names():
            records = [record for record in self.read(name) if "seconds" in record]
            absent += [] if records else [self.not_measured(name)]
            races += records
            last = (name, records[-1]) if records else last
        if not races:
            return absent
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
        return [*themed_images(files, alt), self.line(*last), *absent]


def keep_sides(race, only, without):
    """Return a race with some of its sides; ours is always among them."""
    ours, *others = race["seconds"]
    kept = [ours]
    for name in others:
        if any(word in name for word in without):
            continue
        if not only or any(word in name for word in only):
            kept.append(name)
    return {**race, "seconds": {name: race["seconds"][name] for name in kept}}


def draw_races(palette, races, captions):
    """Draw bars of seconds, a panel for each race."""
    import matplotlib.pyplot as plt

    titles = [race["title"].partition("; never")[0] for race in races]
    titles[: len(captions)] = captions[: len(titles)]
    titles = [fill(title, 62) for title in titles]
    heights = [
        len(race["seconds"]) + 1.0 + 0.5 * title.count("\n")
        for race, title in zip(races, titles, strict=True)
    ]
    figure, panels = plt.subplots(
        len(races),
        figsize=(5.4, 0.34 * sum(heights) + 0.2),
        height_ratios=heights,
        squeeze=False,
    )
    titled = []
    for axes, race, title in zip(panels[:, 0], races, titles, strict=True):
        names = list(race["seconds"])
        times = [median(seconds) for seconds in race["seconds"].values()]
        colours = [
            palette.ours if package(n) is None else palette.others[0] for n in names
        ]
        bars = axes.barh(range(len(names)), times, color=colours, height=0.72)
        for bar, name in list(zip(bars, names, strict=True))[1:]:
            bar.set_alpha(0.55 if package(name) is None else 1)
        lines = [fill(shown(name), 25) for name in names]
        axes.set_yticks(range(len(names)), lines, fontsize=9, linespacing=0.95)
        axes.tick_params(axis="y", length=0, labelcolor=palette.text)
        axes.set_xticks([])
        axes.invert_yaxis()
        axes.spines[:].set_visible(False)
        axes.bar_label(bars, labels(race), padding=4, color=palette.text, fontsize=9)
        axes.set_xlim(0, 1.85 * max(times))
        text = axes.set_title(title, fontweight="bold", fontsize=10)
        text.set_in_layout(False)
        titled.append((axes, text))
    # Titles begin where the names of the sides do, at the left of the figure. They are
    # not laid out, or long ones would narrow the panels: room is left above.
    room = 0.12 * (1 + titles[0].count("\n")) / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - room), h_pad=0.12)
    figure.canvas.draw()
    for axes, text in titled:
        left, right = axes.get_position().x0, axes.get_position().x1
        text.set_x((0.01 - left) / (right - left))
    return figure


def labels(race):
    """Texts beside the bars: time, and the first score."""
    texts = []
    for name, seconds in race["seconds"].items():
        text = duration(median(seconds))
        metric, values = next(
            iter(race["quality"].get(name, {}).items()), (None, [None])
        )
        if values[0] is not None:
            text += f"   {metric.removeprefix('test ')} {mean(values):.4g}"
        texts.append(text)
    return texts


class BenchmarkPeers(ResultsDirective):
    """Every race against another library."""

    def run(self):
        """Return the table: what is lost first, then by benchmark."""
        rows = []
        for path in sorted(RESULTS.glob("*.json")):
            if path.stem.startswith("thesis."):
                continue
            for record in self.read(path.stem):
                if "seconds" in record:
                    rows += self._rows(path.stem, record)
        columns = ["task", "against", "our speed-up", "ours", "theirs", "measured"]
        return [table_node(columns, rows, ["benchmark-peers"])] if rows else []

    def _rows(self, name, record):
        ours = next(iter(record["seconds"]))
        for rival, ratio in speed_ups(record).items():
            if package(rival) is None:
                continue
            lost = ratio.middle < 1
            text = nodes.strong if lost else nodes.inline
            ratio = nodes.paragraph("", "", text(text=str(ratio)))
            scores = [self._scores(record["quality"].get(s, {})) for s in (ours, rival)]
            task = nodes.paragraph()
            task += [
                nodes.Text(record["title"].partition("; never")[0]),
                nodes.inline(text=f" ({shown(ours)})")
                if ours != OURS
                else nodes.Text(""),
                nodes.Text(" "),
                nodes.literal(text=name),
            ]
            yield [task, rival, ratio, *scores, record["measured"]["date"]]

    def _scores(self, scores):
        found = [f"{metric} {score(values)}" for metric, values in scores.items()]
        return "; ".join(text for text in found if "–" not in text)


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
