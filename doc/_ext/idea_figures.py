"""The picture at the head of each page of the guide, computed when the pages are made.

``.. idea:: trees`` draws the figure registered as "trees"; the content of the directive
is its caption. Most of them show the same thing for another family: which part of the
work an exact method would do is done, arm by arm.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from figure_style import save_both
from themed_figure import FOLDER, themed_images

FIGURES = {}


def figure(name, alt):
    """Register the function that draws a figure: ``draw(palette)``."""

    def register(function):
        FIGURES[name] = function, alt
        return function

    return register


def search(costs, k=1, seed=0, batch_size=64, names=None):
    """Return the references that each arm was pulled on, and the names, best first."""
    from sklearn_bandit.bandit import best_arm

    found = best_arm(
        lambda arms, references: costs[np.ix_(arms, references)],
        *costs.shape,
        k=k,
        batch_size=batch_size,
        history=True,
        random_state=seed,
    )
    seen = np.full(len(costs), batch_size)
    survivors = np.arange(len(costs))
    for each in found.history:
        seen[survivors] = each.n_references
        survivors = each.survivors
    if found.n_pulls > seen.sum():  # the last survivors were computed exactly
        seen[survivors] = costs.shape[1]
    order = np.argsort(costs.mean(axis=1))
    labels = list(names) if names is not None else [""] * len(costs)
    return seen[order], [labels[i] for i in order]


def draw_reads(palette, seen, total, labels, arm, reference, n_best=1):
    """Draw a bar for each arm: how many of all references it was looked at on."""
    canvas, axes = plt.subplots(figsize=(6.6, 2.9))
    rows = np.arange(len(seen))
    axes.barh(rows, total, color=palette.faint, height=0.78)
    colours = [palette.ours if i < n_best else palette.others[0] for i in rows]
    axes.barh(rows, seen, color=colours, height=0.78)
    axes.invert_yaxis()
    axes.margins(0, 0.01)
    if any(labels):
        axes.set_yticks(rows, labels, fontsize=8)
    else:
        axes.set_yticks([])
    axes.set(xlabel=reference, ylabel=f"{arm}, best at the top")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    share = seen.sum() / (total * len(seen))
    axes.set_title(f"coloured: what was computed, {share:.0%} of everything")
    return canvas


@figure("bandit", "Bars: bad arms are dropped after few references, good ones late.")
def bandit(palette):
    """Draw a search among 30 arms."""
    rng = np.random.default_rng(0)
    gaps = np.sort(rng.exponential(0.5, 30)) + 0.08
    gaps[0] = 0
    costs = gaps[:, None] + rng.standard_normal((30, 8192))
    costs += 2 * rng.standard_normal(8192)  # what all arms have in common
    seen, labels = search(costs, batch_size=128)
    return draw_reads(palette, seen, 8192, labels, "arms", "references looked at")


@figure("trees", "Bars: most features are dropped on the first rows of a node.")
def trees(palette):
    """Draw the search for the feature of a node."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        16_384, 16, n_informative=6, n_redundant=0, flip_y=0.1, random_state=3
    )
    costs = np.empty((16, len(y)))
    for feature in range(16):
        losses = []
        for threshold in np.quantile(X[:2048, feature], np.linspace(0.05, 0.95, 19)):
            right = X[:, feature] > threshold
            share = np.where(right, y[right].mean(), y[~right].mean())
            losses.append((y - share) ** 2)
        costs[feature] = min(losses, key=lambda loss: loss[:2048].mean())
    names = [f"feature {i}" for i in range(16)]
    seen, labels = search(costs, batch_size=512, names=names)
    return draw_reads(palette, seen, len(y), labels, "features", "rows of the node")


@figure("kmedoids", "Bars: candidates for a medoid are dropped after few distances.")
def kmedoids(palette):
    """Draw the search for the first medoid of digits."""
    from sklearn.datasets import load_digits
    from sklearn.metrics import pairwise_distances

    X = load_digits().data
    chosen = np.random.default_rng(1).choice(len(X), 30, replace=False)
    costs = pairwise_distances(X[chosen], X)
    seen, labels = search(costs, batch_size=64)
    return draw_reads(
        palette, seen, len(X), labels, "candidates", "samples they were compared with"
    )


@figure("mips", "Bars: most atoms are dropped after a few coordinates.")
def mips(palette):
    """Draw the search for the atom with the largest inner product."""
    from sklearn_bandit.datasets import make_correlated_normal_custom

    atoms, queries = make_correlated_normal_custom(30, 4096, 1, random_state=0)
    seen, labels = search(-atoms * queries[0], batch_size=64)
    return draw_reads(palette, seen, 4096, labels, "atoms", "coordinates multiplied")


@figure("importance", "Bars: features without effect are dropped on few rows.")
def importance(palette):
    """Draw the search for the three most important features."""
    rng = np.random.default_rng(2)
    weights = np.concatenate([[1.0, 0.8, 0.6, 0.4, 0.3, 0.2], np.zeros(18)])
    X = rng.standard_normal((8192, 24))
    y = X @ weights + rng.standard_normal(len(X))
    shuffled = rng.permutation(X)
    losses = (y - X @ weights) ** 2
    moved = (shuffled - X) * weights
    costs = losses[:, None] - (y[:, None] - (X @ weights)[:, None] - moved) ** 2
    seen, labels = search(costs.T, k=3, batch_size=128)
    return draw_reads(palette, seen, len(X), labels, "features", "rows predicted", 3)


@figure("racing", "Bars: most candidates are fitted on one or two of ten folds.")
def racing(palette):
    """Draw the folds that the candidates of a race were fitted on."""
    from sklearn.datasets import load_digits
    from sklearn.tree import DecisionTreeClassifier

    from sklearn_bandit.model_selection import BanditGridSearchCV

    grid = {"max_depth": [2, 4, 6, 8, 12], "min_samples_leaf": [1, 8, 64]}
    tree = DecisionTreeClassifier(random_state=0)
    race = BanditGridSearchCV(tree, grid, cv=10).fit(*load_digits(return_X_y=True))
    order = np.argsort(race.cv_results_["rank_test_score"], kind="stable")
    seen = np.asarray(race.cv_results_["n_folds_done"])[order]
    parameters = [race.cv_results_["params"][i] for i in order]
    labels = [
        f"depth {p['max_depth']}, leaf {p['min_samples_leaf']}" for p in parameters
    ]
    return draw_reads(palette, seen, 10, labels, "candidates", "folds fitted")


@figure("prediction", "Curve: most samples ask a few trees, hard ones ask all.")
def prediction(palette):
    """Draw the trees that samples ask."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from sklearn_bandit.ensemble import RandomForestClassifier

    X, X_test, y, _ = train_test_split(*load_digits(return_X_y=True), random_state=0)
    forest = RandomForestClassifier(200, predict_delta=0.01, random_state=0).fit(X, y)
    asked = np.sort(forest.count_trees(X_test))
    canvas, axes = plt.subplots(figsize=(6.6, 2.6))
    share = np.linspace(0, 100, len(asked))
    axes.fill_between(share, 200, color=palette.faint, lw=0)
    axes.fill_between(share, asked, color=palette.ours, lw=0, step="mid")
    axes.set(xlabel="samples, %", ylabel="trees asked", xlim=(0, 100), ylim=(0, 200))
    axes.spines[:].set_visible(False)
    axes.set_title(f"digits, 200 trees: {asked.mean():.0f} asked on average")
    return canvas


@figure("boosting", "Steps: the rows that trees see double until they are all rows.")
def boosting(palette):
    """Draw the rows that each tree of a fit was grown on."""
    from sklearn_bandit.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400_000, 4), dtype=np.float32)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_normal(len(X))
    model = HistGradientBoostingRegressor(
        solver="mab", batch_size=2048, max_iter=50, early_stopping=False, random_state=0
    ).fit(X, y)
    sizes = np.asarray(model.sample_sizes_)
    canvas, axes = plt.subplots(figsize=(6.6, 2.6))
    iterations = np.arange(1, len(sizes) + 1)
    axes.bar(iterations, len(X), color=palette.faint, width=0.8)
    axes.bar(iterations, sizes, color=palette.ours, width=0.8)
    axes.set(xlabel="iteration", ylabel="rows that its tree saw", yscale="log")
    axes.set(ylim=(1_000, len(X)), xlim=(0.4, len(sizes) + 0.6))
    axes.spines[:].set_visible(False)
    share = sizes.sum() / len(X) / len(sizes)
    axes.set_title(f"{share:.0%} of what exact trees would have seen")
    return canvas


@figure("neighbors", "Intervals of distances: most lie above the third nearest.")
def neighbors(palette):
    """Draw the bounds of distances that one byte a feature gives."""
    rng = np.random.default_rng(4)
    centres = rng.standard_normal((4, 64)) * 1.2
    rows = centres[rng.integers(4, size=48)] + rng.standard_normal((48, 64))
    query = centres[0] + rng.standard_normal(64)
    step = np.abs(rows).max() / 24  # coarser than a byte, to be seen
    rounded = np.round(rows / step) * step
    middle = np.linalg.norm(rounded - query, axis=1)
    error = np.linalg.norm(rows - rounded, axis=1)
    exact = np.linalg.norm(rows - query, axis=1)
    order = np.argsort(middle)
    bar = np.sort(exact)[2]
    kept = (middle - error <= bar)[order]
    canvas, axes = plt.subplots(figsize=(6.6, 2.8))
    place = np.arange(len(rows))
    for chosen, colour in ((kept, palette.ours), (~kept, palette.others[0])):
        axes.errorbar(
            place[chosen],
            middle[order][chosen],
            error[order][chosen],
            fmt="none",
            ecolor=colour,
            elinewidth=3.5,
        )
    axes.axhline(bar, color=palette.muted, lw=1, ls="--")
    axes.text(len(rows) - 1, bar, "third nearest", ha="right", va="bottom")
    axes.set(xlabel="rows", ylabel="bounds of the distance", xticks=[])
    axes.set_title(f"{kept.sum()} of {len(rows)} rows are computed, in orange")
    return canvas


@figure("matching_pursuit", "A wave with a few sampled points, and the notes in it.")
def matching_pursuit(palette):
    """Draw a song, the rows that are looked at, and the notes that are found."""
    from sklearn_bandit.datasets import make_simple_song
    from sklearn_bandit.linear_model import BanditMatchingPursuit

    X, y, notes = make_simple_song()
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=5, fit_intercept=False, random_state=0
    ).fit(X, y)
    canvas, (left, right) = plt.subplots(
        1, 2, figsize=(6.6, 2.5), width_ratios=[2.2, 1]
    )
    shown = slice(0, 1200)
    rows = np.sort(np.random.default_rng(0).choice(1200, 24, replace=False))
    left.plot(y[shown], color=palette.others[0], lw=1.2)
    left.plot(rows, y[shown][rows], "o", color=palette.ours, ms=4)
    left.set(xticks=[], yticks=[], xlabel="rows")
    left.set_title("the signal, and rows that are looked at")
    found = list(pursuit.support_)
    right.bar(
        [notes[i] for i in found], np.abs(pursuit.coef_[found]), color=palette.ours
    )
    right.set(yticks=[])
    right.set_title("five of 48 notes")
    for axes in (left, right):
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    return canvas


@figure("guarantees", "Intervals around the truth: one in twenty misses it.")
def guarantees(palette):
    """Draw intervals of many searches, of which a share delta misses."""
    from sklearn_bandit.bandit import paired_radius

    rng = np.random.default_rng(8)
    draws = rng.standard_normal((60, 64))
    means, deviations = draws.mean(axis=1), draws.std(axis=1, ddof=1)
    radii = np.array([paired_radius(d**2, 64, 64, 0.05) for d in deviations])
    misses = np.abs(means) > radii
    canvas, axes = plt.subplots(figsize=(6.6, 2.4))
    for chosen, colour in ((~misses, palette.others[0]), (misses, palette.bad)):
        axes.errorbar(
            np.flatnonzero(chosen),
            means[chosen],
            radii[chosen],
            fmt="o",
            ms=3,
            color=colour,
            elinewidth=2,
        )
    axes.axhline(0, color=palette.muted, lw=1)
    axes.set(xlabel="60 searches, each with its own sample", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(f"delta = 0.05: {misses.sum()} of 60 intervals miss the truth")
    return canvas


@figure("categories", "Points in any order, and the same in order, with one cut.")
def categories(palette):
    """Draw mean targets of categories by their codes, and in their order."""
    rng = np.random.default_rng(3)
    means = rng.normal(size=36)
    canvas, panels = plt.subplots(1, 2, figsize=(6.6, 2.4), sharey=True)
    titles = "by codes: no cut parts them", "in order: one cut does"
    for axes, values, title in zip(
        panels, (means, np.sort(means)), titles, strict=True
    ):
        places = np.arange(len(values))
        for chosen, colour in (
            (values > 0, palette.ours),
            (values <= 0, palette.others[0]),
        ):
            axes.plot(places[chosen], values[chosen], "o", color=colour, ms=5)
        axes.set(xlabel="36 categories", xticks=[], yticks=[])
        axes.set_title(title)
        axes.spines["left"].set_visible(False)
    panels[0].set_ylabel("mean target")
    panels[1].axvline(np.sum(means <= 0) - 0.5, color=palette.muted, lw=1, ls="--")
    return canvas


def draw_box(axes, place, text, colour, size=(2.4, 0.8)):
    """Draw a box about a place, and a text in it."""
    (x, y), (width, height) = place, size
    corner = x - width / 2, y - height / 2
    axes.add_patch(plt.Rectangle(corner, *size, fill=False, edgecolor=colour, lw=1.5))
    axes.text(x, y, text, ha="center", va="center")


def draw_arrow(axes, start, end, colour):
    """Draw an arrow from a place to another."""
    shape = {"arrowstyle": "-|>", "color": colour, "lw": 1.5, "shrinkA": 0}
    axes.annotate("", end, start, arrowprops=shape)


@figure("dask", "Partitions on three workers; a sample of each goes to one place.")
def dask(palette):
    """Draw partitions, the sample that leaves them, and the trees that come back."""
    canvas, axes = plt.subplots(figsize=(6.6, 2.7))
    rng = np.random.default_rng(0)
    for worker in range(3):
        y = 2.2 - 1.1 * worker
        shades = np.where(rng.random((4, 30)) < 0.12, 1.0, 0.0)
        for (row, column), drawn in np.ndenumerate(shades):
            colour = palette.ours if drawn else palette.faint
            corner = 0.1 * column, y + 0.18 * row - 0.3
            axes.add_patch(plt.Rectangle(corner, 0.085, 0.15, color=colour, lw=0))
        axes.text(-0.1, y, f"worker {worker + 1}", ha="right", va="center")
        draw_arrow(axes, (3.1, y), (4.5, 1.1), palette.ours)
    axes.text(3.8, 2.15, "a sample", ha="left", color=palette.ours)
    draw_box(axes, (5.5, 1.1), "bins and trees", palette.text, (2.0, 0.7))
    draw_arrow(axes, (6.5, 1.1), (7.4, 1.1), palette.muted)
    draw_box(axes, (8.1, 1.1), "client", palette.muted, (1.4, 0.7))
    axes.set(xlim=(-1.3, 8.9), ylim=(-0.5, 2.7))
    axes.set_title("rows stay where they are")
    axes.set_axis_off()
    return canvas


@figure("interoperability", "Estimators hold scikit-learn's trees, which tools read.")
def interoperability(palette):
    """Draw who hands what to whom."""
    canvas, axes = plt.subplots(figsize=(6.6, 2.3))
    draw_box(axes, (1.4, 1), "sklearn_bandit\nforest", palette.ours, (2.2, 1.0))
    draw_box(axes, (4.6, 1), "scikit-learn's own\ntrees", palette.text, (2.5, 1.0))
    draw_arrow(axes, (2.5, 1), (3.35, 1), palette.muted)
    tools = "plot_tree, export_text", "shap, skops, treelite", "ONNX, mlflow"
    for place, tool in zip((2.0, 1.0, 0.0), tools, strict=True):
        draw_arrow(axes, (5.85, 1), (6.9, place), palette.muted)
        axes.text(7.0, place, tool, va="center")
    axes.set(xlim=(0.2, 9.6), ylim=(-0.4, 2.4))
    axes.set_axis_off()
    return canvas


class Idea(SphinxDirective):
    """The picture of a page, with its caption."""

    required_arguments = 1
    has_content = True

    def run(self):
        """Draw for both themes and return the figure."""
        name = self.arguments[0]
        if name not in FIGURES:
            raise self.error(f"There is no figure {name!r}; {sorted(FIGURES)}.")
        draw, alt = FIGURES[name]
        folder = Path(self.env.srcdir) / FOLDER
        self.env.note_dependency(__file__)
        files = save_both(draw, folder, f"idea_{name}")
        container = nodes.container(classes=["idea"])
        container += themed_images(files, alt)
        caption = nodes.container(classes=["idea-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        container += caption
        return [container]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("idea", Idea)
    return {"parallel_read_safe": True}
