"""How stored results become texts: names, numbers, times, where they are from."""

import re
from dataclasses import dataclass
from datetime import date
from statistics import mean, median, stdev

OURS = "sklearn-bandit"

# Share of the machine taken by others from which on times are said to be disturbed.
DISTURBED = 0.05

# Other libraries: how contenders are called that come from them, and their packages.
PEERS = {
    "lightgbm.dask": "lightgbm",
    "xgboost.dask": "xgboost",
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
    "banditpam": "banditpam",
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

    @property
    def range(self):
        """The least and the most, or nothing if there was one round."""
        if self.least == self.most:
            return ""
        return f"{digits(self.least)} to {digits(self.most)}"

    def __str__(self):
        return f"{digits(self.middle)}×"


# How benchmarks call data sets, and how a reader does.
DATA_NAMES = {
    "beijing_air": "Beijing air",
    "california_housing": "California housing",
    "covtype": "covertype",
    "flights2001_3m": "flights",
    "higgs_7500": "Higgs",
    "mnist": "MNIST",
    "sgemm": "SGEMM",
}


# Breaks no line; breaks one if it must.
NO_BREAK, MAY_BREAK = "\xa0", "\u200b"


def readable(text):
    """Return a title or cell with data sets called as a reader calls them."""
    names = "|".join(DATA_NAMES)
    text = re.sub(rf"\b({names})\b", lambda found: DATA_NAMES[found[0]], text)
    return text.replace(" x ", " × ")


def cell_text(text):
    """Return the text of a cell: a number and its error on one line, long names not."""
    text = re.sub(r"(?<=\d)[eE]\+?(-?)0*(?=\d)", r"e\1", readable(text))
    text = re.sub(r"(?<=[A-Z])_(?=[A-Z])", "_" + MAY_BREAK, text)
    return text.replace(" ± ", f"{NO_BREAK}±{NO_BREAK}")


def title_of(record):
    """Return the title of a record for a reader."""
    return capitalised(readable(record["title"].partition("; never")[0]))


def capitalised(text):
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def note_of(record):
    """Return the note of a record for a reader, in whole sentences.

    What is aimed at is for those who work on it, and left out.
    """
    note = record.get("note", "")
    note = re.sub(r"[Gg]oals?: .*?(\. |\.?$)", "", note, flags=re.DOTALL).strip()
    return capitalised(note) + "." * bool(note and note[-1] not in ".!?")


def digits(value):
    """Format a number with as many digits as it deserves."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return cell_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def duration(seconds):
    """Format a time."""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    rounded = float(f"{seconds:.3g}")
    unit = next((unit for unit, size in units.items() if rounded >= size), "µs")
    return f"{three_digits(rounded / units[unit])} {unit}"


def three_digits(value):
    """Format a number with three digits, and no exponent where it is large."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def score(values):
    """Format the scores of all rounds: mean and standard deviation."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    if len(set(known)) == 1:
        return _four_digits(known[0])
    spread = float(f"{stdev(known):.1g}")
    decimals = max(0, -int(f"{spread:e}".partition("e")[2]))
    if spread < 1e-4 * abs(mean(known)):
        return _four_digits(mean(known))
    return f"{mean(known):.{decimals}f} ± {spread:.{decimals}f}"


def _four_digits(value):
    return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"


def speed_ups(record):
    """Speed-ups of the first contender over each other one.

    Who took part in fewer rounds is compared in these.
    """
    (_, mine), *others = record["seconds"].items()
    found = {}
    for name, seconds in others:
        ratios = [theirs / ours for theirs, ours in zip(seconds, mine, strict=False)]
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
        return readable(contender)
    return f"{OURS}, {contender}"


def day(text):
    """Format a date for reading."""
    then = date.fromisoformat(text)
    return f"{then.day} {then:%B %Y}"


def origin(name, record):
    """Return what a table is worth nothing without, in a line."""
    measured = record["measured"]
    parts = [f"{measured['processor']}, {measured['cores']} cores"]
    n_threads = measured["threads"]
    parts.append("1 thread" if n_threads == 1 else f"{n_threads} threads")
    if "seconds" in record:
        used = {package(side) for side in record["seconds"]} - {None}
        versions = measured["packages"]
        parts += [f"{side} {versions[side]}" for side in sorted(used & set(versions))]
        n_rounds = len(record["seeds"])
        seeds = "seed 0" if n_rounds == 1 else f"seeds 0 to {n_rounds - 1}"
        parts.append(
            f"{n_rounds} rounds, {seeds}" if n_rounds > 1 else f"1 run, {seeds}"
        )
        fewer = {side: len(times) for side, times in record["seconds"].items()}
        parts += [f"{side}: {n} of them" for side, n in fewer.items() if n < n_rounds]
    parts.append(day(measured["date"]))
    if (measured.get("other_load") or 0) > DISTURBED:
        parts.append("on a busy machine: counts and scores hold, times do not")
    if measured.get("transcribed"):
        parts.append("transcribed from a run of which no record was kept")
    return " · ".join(parts), f"make bench-report NAMES={name}"
