"""One look for all figures: of the guide, of results, of the gallery."""

from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.pyplot as plt


@dataclass(frozen=True)
class Palette:
    """Colours of a theme."""

    text: str
    muted: str
    faint: str
    ours: str
    others: tuple
    good: str
    bad: str


LIGHT = Palette(
    text="#24292f",
    muted="#6e7781",
    faint="#d0d7de",
    ours="#e8710a",
    others=("#4c78a8", "#8fb3d9", "#9aa0a6", "#c2c7cc", "#6b8e23", "#b07aa1"),
    good="#2a9d4a",
    bad="#c0392b",
)
DARK = Palette(
    text="#e6edf3",
    muted="#9da7b1",
    faint="#3d444d",
    ours="#ff9a3c",
    others=("#6ea8e0", "#3f6a99", "#8b949e", "#5b636c", "#9ac24a", "#c9a0dc"),
    good="#56d364",
    bad="#ff7b72",
)
THEMES = {"light": LIGHT, "dark": DARK}

SHARED = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "savefig.transparent": True,
    "svg.hashsalt": "sklearn-bandit",
}


@contextmanager
def style(palette):
    """Draw in the colours of a palette."""
    colours = {
        "text.color": palette.text,
        "axes.labelcolor": palette.text,
        "axes.edgecolor": palette.muted,
        "axes.titlecolor": palette.text,
        "xtick.color": palette.muted,
        "ytick.color": palette.muted,
        "grid.color": palette.faint,
        "axes.prop_cycle": mpl.cycler(color=[palette.ours, *palette.others]),
    }
    with mpl.rc_context():
        # The gallery leaves its own settings behind, among them another layout.
        mpl.rcdefaults()
        mpl.rcParams.update({**SHARED, **colours})
        yield


def save_both(draw, folder, name):
    """Draw a figure for each theme.

    Parameters
    ----------
    draw : callable
        ``draw(palette)`` returns a figure.
    folder : Path
        Where the files go.
    name : str
        What they are called, before the theme.

    Returns
    -------
    dict of str to str
        File names by theme.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for theme, palette in THEMES.items():
        with style(palette):
            figure = draw(palette)
            files[theme] = f"{name}_{theme}.svg"
            # Without a date the file is the same in every build.
            figure.savefig(
                folder / files[theme],
                metadata={"Date": None},
                bbox_inches="tight",
                pad_inches=0.04,
            )
            plt.close(figure)
    return files


def use_in_gallery(gallery_conf, fname):
    """Give the figures of an example the look of the others (for sphinx-gallery)."""
    mpl.rcParams.update(
        {key: value for key, value in SHARED.items() if "svg" not in key}
        | {
            "savefig.transparent": False,
            "figure.constrained_layout.use": False,
            "figure.autolayout": True,
            "figure.dpi": 110,
            "axes.prop_cycle": mpl.cycler(color=[LIGHT.ours, *LIGHT.others]),
        }
    )
