"""What differs between an estimator of ours and scikit-learn's, by introspection.

``.. differences:: ensemble.RandomForestClassifier ensemble.RandomForestRegressor``
    compares each with the estimator of scikit-learn that has the same path.
``.. differences:: neighbors.BanditNearestNeighbors = neighbors.NearestNeighbors``
    compares two that are called differently.

Parameters come from signatures, attributes and their descriptions from docstrings,
methods from the classes. Several estimators share a table if they differ alike.
"""

import importlib
import inspect
import re

from docutils import nodes
from numpydoc.docscrape import NumpyDocString
from sphinx.util.docutils import SphinxDirective

from benchmark_results import table_node


def find(package, path):
    """Import an object by its path below a package."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"{package}.{module}"), name)


def section(thing, name):
    """Return the first sentences of a section of a docstring, by name of the entry."""
    found = {}
    for entry in NumpyDocString(inspect.getdoc(thing))[name]:
        text = re.sub(r":\w+:`~?([^`<]+)[^`]*`", r"`\1`", " ".join(entry.desc).strip())
        text = text.partition("  - ")[0].rstrip(": ")
        sentence = re.split(r"(?<=[a-z0-9)`])\.(?:\s|$)", text, maxsplit=1)[0]
        for each in entry.name.split(","):
            found[each.strip()] = sentence
    return found


def defaults(thing):
    """Return default values by parameter."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(thing).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }


def methods(thing):
    """Names of public methods."""
    if not inspect.isclass(thing):
        return set()
    return {
        name
        for name, _ in inspect.getmembers(thing, callable)
        if not name.startswith("_") and not re.fullmatch(r"set_\w+_request", name)
    }


def value(default):
    """Show a default value."""
    if inspect.isfunction(default):
        return default.__name__
    return "required" if default is inspect.Parameter.empty else repr(default)


def compare(ours, theirs):
    """Return rows: kind of difference, name, what to know."""
    rows = []
    mine, other = defaults(ours), defaults(theirs)
    described, known = section(ours, "Parameters"), section(theirs, "Parameters")
    for name in sorted(mine.keys() - other.keys(), key=list(mine).index):
        rows.append(
            ("parameter, ours", f"{name}={value(mine[name])}", described.get(name, ""))
        )
    for name in sorted(other.keys() - mine.keys(), key=list(other).index):
        rows.append(("parameter, not here", name, known.get(name, "")))
    for name in [name for name in mine if name in other]:
        if value(mine[name]) != value(other[name]):
            what = f"{value(mine[name])} here, {value(other[name])} in scikit-learn"
            rows.append(("default", name, what))
    if not inspect.isclass(ours):
        return rows
    mine, other = section(ours, "Attributes"), section(theirs, "Attributes")
    for name in [name for name in mine if name not in other]:
        if not hasattr(theirs, name):
            rows.append(("attribute, ours", name, mine[name]))
    for name in [name for name in other if name not in mine]:
        if not hasattr(ours, name):
            rows.append(("attribute, not here", name, other[name]))
    for name in sorted(methods(ours) - methods(theirs)):
        summary = (inspect.getdoc(getattr(ours, name)) or "").partition("\n\n")[0]
        rows.append(("method, ours", f"{name}()", " ".join(summary.split())))
    for name in sorted(methods(theirs) - methods(ours)):
        summary = (inspect.getdoc(getattr(theirs, name)) or "").partition("\n\n")[0]
        rows.append(("method, not here", f"{name}()", " ".join(summary.split())))
    return rows


class Differences(SphinxDirective):
    """A table of what differs."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Return a table for each group of estimators that differ alike."""
        groups = {}
        arguments = re.sub(r"\s*=\s*", "=", self.arguments[0]).split()
        for argument in arguments:
            mine, _, other = argument.partition("=")
            ours, theirs = find("sklearn_bandit", mine), find("sklearn", other or mine)
            groups.setdefault(tuple(compare(ours, theirs)), []).append(mine)
        result = []
        for rows, names in groups.items():
            if len(groups) > 1 or not rows:
                text = ", ".join(name.rpartition(".")[2] for name in names)
                result.append(nodes.paragraph("", "", nodes.strong(text=text)))
            result.append(self._table(rows))
        return result

    def _table(self, rows):
        if not rows:
            return nodes.paragraph(text="Nothing differs.")
        cells = []
        for kind, name, text in rows:
            described = nodes.paragraph()
            parsed, _ = self.state.inline_text(text, self.lineno)
            described += parsed
            shown = nodes.paragraph("", "", nodes.literal(text=name))
            cells.append([kind, shown, described])
        return table_node(["difference", "name", ""], cells, ["differences"])


def setup(app):
    """Register with Sphinx."""
    app.add_directive("differences", Differences)
    return {"parallel_read_safe": True}
