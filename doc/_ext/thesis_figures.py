"""``.. thesis-figure:: A.2``: figures of the thesis, from stored results.

What those of the appendix are drawn from are tables that nobody would read: quartiles
and bars of histograms (``benchmarks/thesis/kmedoids_rewards.py``).
"""

import re
from collections import defaultdict
from pathlib import Path

from benchmark_results import ResultsDirective
from figure_style import save_both
from themed_figure import FOLDER, themed_images

# Benchmark of each figure, and what it shows to those who do not see it.
FIGURES = {
    "2.2": (
        "thesis.kmedoids.mnist_l2",
        "Curves of the distances of a fit over the number of digits, far below the "
        "line of all pairs.",
    ),
    "A.1": (
        "thesis.kmedoids.assumptions",
        "Boxes of standard deviations, one for each medoid: they fall from step to "
        "step, and differ much within one.",
    ),
    "A.2": (
        "thesis.kmedoids.rewards",
        "Histograms of arms' mean rewards for four data sets.",
    ),
    "A.3": (
        "thesis.kmedoids.rewards",
        "Histograms of the rewards of four arms on MNIST.",
    ),
    "A.4": (
        "thesis.kmedoids.rewards",
        "Histograms of the rewards of four arms on single cells: long tails.",
    ),
}


class ThesisFigure(ResultsDirective):
    """One figure, drawn for both themes."""

    required_arguments = 1
    optional_arguments = 0

    def run(self):
        """Return the picture and where it is from."""
        figure = self.arguments[0]
        name, alt = FIGURES[figure]
        records = [
            record
            for record in self.read(name)
            if re.match(rf"Figure {re.escape(figure)}\b", record["title"])
        ]
        if not records:
            return self.not_measured([name])
        draw = DRAWN_BY.get(figure, draw_histograms)
        files = save_both(
            lambda palette: draw(palette, records),
            Path(self.env.srcdir) / FOLDER,
            f"thesis_{figure.replace('.', '_')}",
        )
        return [*themed_images(files, alt), self.line(name, records[0])]


def draw_growth(palette, records):
    """Draw the distances of whole fits over the number of samples."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.6, 2.9))
    for record in records:
        rows = [row for row in record["rows"] if row[0] != "exponent"]
        sizes, counts = [row[0] for row in rows], [row[4] for row in rows]
        n_medoids = re.search(r"k = \d+", record["title"])[0]
        axes.loglog(sizes, counts, "o-", label=f"a fit, {n_medoids}")
    axes.loglog(sizes, [n**2 for n in sizes], "--", color=palette.muted)
    axes.text(sizes[-2], sizes[-2] ** 2, "all pairs ", ha="right", va="bottom")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.set(xlabel="digits of MNIST", ylabel="distances")
    axes.set_title("k-medoids, l2: distances computed")
    axes.legend(loc="upper left")
    return figure


def draw_boxes(palette, records):
    """Draw quartiles and extremes, one box a row."""
    import matplotlib.pyplot as plt

    (record,) = records
    figure, axes = plt.subplots(figsize=(6.6, 2.8))
    boxes = [
        dict(zip(("label", "whislo", "q1", "med", "q3", "whishi"), row, strict=True))
        for row in record["rows"]
    ]
    lines = {"color": palette.muted}
    axes.bxp(
        boxes,
        showfliers=False,
        medianprops={"color": palette.ours, "linewidth": 2.5},
        boxprops=lines,
        whiskerprops=lines,
        capprops=lines,
    )
    axes.set(xlabel="medoid", ylabel="standard deviation")
    axes.set_title(record["title"])
    return figure


def draw_histograms(palette, records):
    """Draw a panel for each histogram."""
    import matplotlib.pyplot as plt

    (record,) = records
    panels = defaultdict(list)
    for panel, *bar in record["rows"]:
        panels[panel].append(bar)
    figure, all_axes = plt.subplots(2, 2, figsize=(6.6, 3.6))
    for axes, (panel, rows) in zip(all_axes.flat, panels.items(), strict=True):
        lows, highs, shares = zip(*rows, strict=True)
        axes.stairs(shares, [*lows, highs[-1]], fill=True, color=palette.others[0])
        for end in (lows[0], highs[-1]):
            axes.plot(end, 0, "|", color=palette.ours, markersize=10, clip_on=False)
        axes.set_title(panel)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    figure.suptitle(record["title"], x=0.01, ha="left", color=palette.text, size=11)
    return figure


DRAWN_BY = {"2.2": draw_growth, "A.1": draw_boxes}


def setup(app):
    """Register with Sphinx."""
    app.add_directive("thesis-figure", ThesisFigure)
    return {"parallel_read_safe": True}
