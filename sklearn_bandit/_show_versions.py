"""What a bug report should say of the installation."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from ._core.threads import effective_n_threads, has_openmp
from ._version import __version__

DEPENDENCIES = ["scikit-learn", "numpy", "scipy", "joblib", "threadpoolctl"]
OPTIONAL = ["pandas", "matplotlib", "dask"]


def show_versions() -> None:
    """Print the versions and the machine, for bug reports and benchmarks.

    Examples
    --------
    >>> import sklearn_bandit
    >>> sklearn_bandit.show_versions()  # doctest: +ELLIPSIS
    System:
    ...
    """
    for title, rows in versions().items():
        print(f"{title}:")
        width = max(map(len, rows))
        for name, value in rows.items():
            print(f"  {name:>{width}}: {value}")
        print()


def versions():
    """Return what `show_versions` prints, as a dictionary of dictionaries."""
    pools = {
        f"{pool['user_api']} ({pool['internal_api']})": (
            f"{pool['num_threads']} threads, {pool.get('version') or 'version unknown'}"
        )
        for pool in threadpool_info()
    }
    return {
        "System": {
            "python": sys.version.replace("\n", " "),
            "machine": platform.platform(),
            "processor": _processor(),
        },
        "Packages": {
            "sklearn-bandit": __version__,
            **{name: _version(name) for name in DEPENDENCIES + OPTIONAL},
        },
        "Threads": {
            "built with OpenMP": has_openmp(),
            "threads used by default": effective_n_threads(None),
            **pools,
        },
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor():
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
