"""Bars of seconds, from stored races."""

from statistics import mean, median
from textwrap import fill

from result_formats import duration, package, shown, title_of


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

    titles = [title_of(race) for race in races]
    titles[: len(captions)] = captions[: len(titles)]
    titles = [fill(title, 62) for title in titles]
    heights = [
        len(race["seconds"]) + 1.3 + 0.5 * title.count("\n")
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
        lines = [fill(shown(name), 28) for name in names]
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
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - room), h_pad=0.16)
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
