"""Each test names the package that it tries; what came of it can be written to a table.

``SKLEARN_BANDIT_INTEROP=table.csv pytest tests/interop`` writes one line a test: the
package, its version, what works. ``make test-interop`` does so for the user guide.
"""

import csv
import os
from importlib.metadata import PackageNotFoundError, version

import pytest


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "tool(package, what): the package that a test tries, what works"
    )
    config.stash[ROWS] = []


ROWS = pytest.StashKey[list]()


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def pytest_runtest_setup(item):
    mark = item.get_closest_marker("tool")
    if mark is not None and installed(mark.args[0]) is None:
        pytest.skip(f"{mark.args[0]} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    mark = item.get_closest_marker("tool")
    if mark is not None and call.when == "call" and not report.skipped:
        package, what = mark.args
        works = "yes" if report.passed else "no"
        item.config.stash[ROWS].append((package, installed(package), what, works))
    return report


def pytest_sessionfinish(session):
    path = os.environ.get("SKLEARN_BANDIT_INTEROP")
    if path and session.config.stash[ROWS]:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["package", "version", "tried", "works"])
            # A test with several cases is one line, and works if all of them do.
            lines = {}
            for package, number, what, works in session.config.stash[ROWS]:
                key = (package, number, what)
                lines[key] = "no" if lines.get(key) == "no" else works
            table.writerows((*key, works) for key, works in sorted(lines.items()))
