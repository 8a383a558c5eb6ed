"""Run scikit-learn's own tests on this package's estimators.

A pytest plugin (``make test-scikit-learn``). It replaces the estimators in
``sklearn.tree`` and ``sklearn.ensemble`` by those of the same names here, and others by
those that take their place, before scikit-learn's test modules import them. Tests that
are listed in ``expected.py`` must fail; one that passes fails the run, so that the list
stays true.
"""

import re

import pytest
import sklearn.ensemble
import sklearn.inspection  # imports classes by name: it keeps scikit-learn's
import sklearn.linear_model
import sklearn.tree
from expected import EXPECTED

import sklearn_bandit.ensemble
import sklearn_bandit.linear_model
import sklearn_bandit.tree

PAIRS = (
    (sklearn.tree, sklearn_bandit.tree),
    (sklearn.ensemble, sklearn_bandit.ensemble),
)

# Estimators with other names, by those that they take the place of.
OTHER_NAMES = {
    (sklearn.linear_model, "OrthogonalMatchingPursuit"): (
        sklearn_bandit.linear_model.BanditMatchingPursuit
    ),
}


def pytest_configure():
    """Replace the estimators."""
    for (theirs, name), ours in OTHER_NAMES.items():
        setattr(theirs, name, ours)
    for theirs, ours in PAIRS:
        for name in set(theirs.__all__) & set(ours.__all__):
            setattr(theirs, name, getattr(ours, name))


def pytest_collection_modifyitems(config, items):
    """Expect the listed tests to fail."""
    unused = set(EXPECTED)
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        for pattern, failure in EXPECTED.items():
            if matches(pattern, name):
                unused.discard(pattern)
                item.add_marker(
                    pytest.mark.xfail(
                        reason=failure.reason, strict=not failure.depends_on_version
                    )
                )
    # A part of the tests says nothing about the rest of the list.
    if is_whole(config):
        modules = {item.nodeid.rsplit("/", 1)[-1].split("::")[0] for item in items}
        check = ListCheck.from_parent(items[0].session, name="expected.py")
        check.unused = sorted(
            pattern
            for pattern in unused
            if pattern.split("::")[0] in modules
            and not EXPECTED[pattern].depends_on_version
        )
        items.append(check)


class ListCheck(pytest.Item):
    """Fails if the list has tests that scikit-learn has not."""

    def runtest(self):
        """Look at what no test has matched."""
        assert not self.unused, f"expected.py lists unknown tests: {self.unused}"

    def reportinfo(self):
        """Name the list."""
        return self.path, None, "expected.py"


def is_whole(config):
    """Return whether no tests were left out by their name or mark."""
    return not (config.option.keyword or config.option.markexpr) and not any(
        "::" in argument for argument in config.args
    )


def matches(pattern, name):
    """Return whether a pattern, in which * stands for anything, is that of a test."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None
