"""Arrays from a few plain numbers and names, so that a case fits on one line of JSON.

`strategies.py` draws what is passed to these functions.
"""

import tempfile

import numpy as np
from scipy import sparse

VALUES = (
    "normal",
    "few",
    "constant",
    "bytes",
    "sorted",
    "mostly zero",
    "duplicates",
    "adjacent",
    "offset",
    "denormal",
    "huge",
    "wide",
)

LAYOUTS = (
    "C",
    "F",
    "rows strided",
    "columns strided",
    "reversed",
    "read-only",
    "mapped",
    "list",
    "frame",
    "csr",
    "csc",
)

SPARSE_LAYOUTS = ("csr", "csc")

WEIGHTS = (
    "none",
    "ones",
    "counts",
    "some zero",
    "one positive",
    "real",
    "tiny",
    "huge",
    "mixed",
    "beyond uint16",
)

LABELS = ("integers", "negative", "strings", "booleans", "floats")

# What `huge` and `wide` stay within, so that float32 holds it.
LARGEST = 3e38


def make_values(kind, shape, rng):
    """Return float64 values of a kind, finite as float32, too."""
    if kind == "few":
        return rng.integers(-2, 3, shape).astype(float)
    if kind == "constant":
        return np.full(shape, rng.standard_normal())
    if kind == "bytes":
        return rng.integers(0, 255, shape).astype(float)
    X = rng.standard_normal(shape)
    if kind == "sorted":
        return np.sort(X, axis=0)
    if kind == "mostly zero":
        return np.where(rng.random(shape) < 0.9, 0.0, X)
    if kind == "duplicates":
        return X[rng.integers(0, max(1, len(X) // 3), len(X))]
    if kind == "adjacent":
        steps = rng.integers(0, 4, shape)
        return (1 + steps * np.finfo(np.float32).eps).astype(float)
    if kind == "offset":
        return 1e6 + X
    if kind == "denormal":
        return rng.integers(-3, 4, shape) * float(
            np.finfo(np.float32).smallest_subnormal
        )
    if kind == "huge":
        return rng.uniform(-1, 1, shape) * LARGEST
    if kind == "wide":
        return np.sign(X) * 10.0 ** rng.uniform(-44, 38, shape)
    return X


def make_matrix(spec):
    """Return the matrix that a specification describes, as a float64 array.

    Its values are those that the dtype of the specification holds.
    """
    rng = np.random.default_rng(spec["seed"])
    shape = spec["n_samples"], spec["n_features"]
    X = make_values(spec["values"], shape, rng)
    dtype = np.dtype(spec["dtype"])
    if dtype.kind in "iub":
        with np.errstate(all="ignore"):
            X = X.astype(np.float32)
            X = np.clip(X, 0 if dtype.kind != "i" else -100, 100).astype(dtype)
        return X.astype(float)
    with np.errstate(all="ignore"):
        X = X.astype(dtype).astype(float)
    X[~np.isfinite(X)] = 0.0
    missing = spec.get("missing", "none")
    if missing == "some":
        X[rng.random(shape) < 0.1] = np.nan
    elif missing == "column":
        X[:, rng.integers(shape[1])] = np.nan
    elif missing == "all":
        X[:] = np.nan
    if spec.get("infinite"):
        X[rng.integers(shape[0]), rng.integers(shape[1])] = rng.choice(
            [-np.inf, np.inf]
        )
    return X


def lay_out(X, dtype, layout):
    """Return the values in a dtype and a layout."""
    X = X.astype(dtype)
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "rows strided":
        return np.repeat(X, 2, axis=0)[::2]
    if layout == "columns strided":
        return np.repeat(X, 3, axis=1)[:, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        X.flags.writeable = False
        return X
    if layout == "mapped":
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, X)
            file.flush()
            return np.load(file.name, mmap_mode="r")
    if layout == "list":
        return X.tolist()
    if layout == "frame":
        import pandas

        return pandas.DataFrame(X)
    if layout in SPARSE_LAYOUTS:
        if dtype in ("float16", ">f8"):
            X = X.astype(np.float64)  # scipy takes no others
        return {"csr": sparse.csr_array, "csc": sparse.csc_array}[layout](X)
    return X


def make_input(spec):
    """Return the matrix of a specification in its dtype and layout."""
    return lay_out(make_matrix(spec), spec["dtype"], spec["layout"])


def make_weights(kind, n_samples, seed):
    """Return weights of a kind, or None."""
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    weights = np.ones(n_samples)
    if kind == "counts":
        weights = rng.integers(0, 4, n_samples).astype(float)
    elif kind == "some zero":
        weights[rng.random(n_samples) < 0.4] = 0.0
    elif kind == "one positive":
        weights[:] = 0.0
    elif kind == "real":
        weights = rng.exponential(size=n_samples)
    elif kind == "tiny":
        weights = rng.random(n_samples) * 1e-300
    elif kind == "huge":
        weights = rng.random(n_samples) * 1e300
    elif kind == "mixed":
        weights = 10.0 ** rng.uniform(-12, 12, n_samples)
    elif kind == "beyond uint16":
        weights[:] = 100_000.0
    weights[rng.integers(n_samples)] = max(1e-300, weights.max())
    return weights


def make_classes(spec, X):
    """Return labels that depend on X a little; one column an output."""
    rng = np.random.default_rng(spec["seed"] + 1)
    columns = []
    for output in range(spec["n_outputs"]):
        signal = np.nan_to_num(X[:, output % X.shape[1]], posinf=1, neginf=-1)
        ranks = np.argsort(np.argsort(signal)) * spec["n_classes"] // len(X)
        codes = np.where(
            rng.random(len(X)) < 0.3, rng.integers(0, spec["n_classes"], len(X)), ranks
        )
        columns.append(codes)
    codes = np.column_stack(columns)
    if spec["labels"] == "negative":
        codes = -3 * codes
    elif spec["labels"] == "strings":
        codes = np.array([f"class {i}" for i in range(spec["n_classes"])])[codes]
    elif spec["labels"] == "booleans":
        codes = codes > 0
    elif spec["labels"] == "floats":
        codes = codes.astype(float)
    return codes[:, 0] if spec["n_outputs"] == 1 else codes


def make_targets(spec, X):
    """Return real targets that depend on X a little; one column an output."""
    rng = np.random.default_rng(spec["seed"] + 1)
    noise = make_values(spec["target_values"], (len(X), spec["n_outputs"]), rng)
    signal = np.nan_to_num(X[:, :1], posinf=1, neginf=-1)
    signal = signal / max(np.abs(signal).max(), 1e-300)
    y = noise + signal * np.abs(noise).max()
    y = np.clip(y, -LARGEST, LARGEST)
    if spec.get("positive"):
        y = np.abs(y) + np.abs(y).max() / 4 + 1e-300
    return y[:, 0] if spec["n_outputs"] == 1 else y
