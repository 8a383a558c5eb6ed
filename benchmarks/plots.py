"""``python -m benchmarks.plots FILE.json [FOLDER]``: draw stored curves.

Every stored table with the columns of ``peers.boosting.CURVES`` becomes one plot: the
loss against the seconds that a fit took, one curve an arm.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from .peers.boosting import CURVES


def draw(record, path):
    """Draw one record."""
    import matplotlib.pyplot as plt

    curves = defaultdict(list)
    for arm, _, seconds, loss in record["rows"]:
        curves[arm].append((seconds, loss))
    figure, axes = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
    axes.set_prop_cycle(color=plt.colormaps["tab20"].colors)
    for arm, points in curves.items():
        style = "-" if arm.startswith("mab") else ":" if "LightGBM" in arm else "--"
        axes.plot(*zip(*points, strict=True), style, marker=".", label=arm)
    axes.set(xscale="log", xlabel="seconds", ylabel="test log-loss")
    axes.set_title(record["title"], fontsize="medium")
    figure.legend(fontsize="small", loc="outside right upper")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments):
    """Draw the curves of a file of records."""
    source = Path(arguments[0])
    folder = Path(arguments[1]) if len(arguments) > 1 else source.parent
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in json.loads(source.read_text())["records"].items():
        for record in records:
            if record.get("columns") == CURVES:
                data = record["title"].partition(":")[0].replace(" ", "")
                path = folder / f"{name}.{data}.png"
                draw(record, path)
                print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
