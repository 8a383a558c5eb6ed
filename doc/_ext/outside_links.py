"""Links to the documentation of other packages, without their inventories.

Intersphinx would download an inventory of each in every build. The addresses of single
objects follow a rule, so they are made from the name; that the name exists is checked
by importing it, so that a misspelled reference is still a warning.
"""

import importlib

from docutils import nodes

PAGES = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "joblib": "https://joblib.readthedocs.io/en/latest/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
}
GLOSSARY = "https://scikit-learn.org/stable/glossary.html#term-{name}"

# Names that inherited docstrings leave incomplete.
INCOMPLETE = {
    "NearestNeighbors.radius_neighbors_graph": (
        "sklearn.neighbors.NearestNeighbors.radius_neighbors_graph"
    ),
}

# Sections that docstrings inherited from scikit-learn refer to.
SECTIONS = {
    "df_output_transform": "modules/df_output_transform.html",
    "metadata_routing": "metadata_routing.html",
    "sphx_glr_auto_examples_miscellaneous_plot_set_output.py": (
        "auto_examples/miscellaneous/plot_set_output.html"
    ),
    "accuracy_score": "modules/model_evaluation.html#accuracy-score",
    "r2_score": "modules/model_evaluation.html#r2-score",
    "minimal_cost_complexity_pruning": (
        "modules/tree.html#minimal-cost-complexity-pruning"
    ),
}


def is_method(name):
    """Whether a name is that of a class and something in it."""
    return name.rpartition(".")[0].rpartition(".")[2][:1].isupper()


def exists(name):
    """Whether a dotted name can be imported."""
    module, parts = name, []
    while module:
        try:
            found = importlib.import_module(module)
        except ImportError:
            module, _, part = module.rpartition(".")
            parts.insert(0, part)
            continue
        for part in parts:
            try:
                found = getattr(found, part)
            except AttributeError:
                return False
            except ImportError:  # experimental: it exists, and must be asked for
                return True
        return True
    return False


def address(domain, kind, target):
    """Return where the documentation of a target is, or None."""
    if domain == "py":
        target = INCOMPLETE.get(target, target)
        page = PAGES.get(target.partition(".")[0])
        if page is None or not exists(target):
            return None
        if is_method(target):
            return page.format(name=target.rpartition(".")[0]) + f"#{target}"
        return page.format(name=target)
    if kind == "term":
        return GLOSSARY.format(name=target.replace(" ", "-"))
    if kind == "ref" and target in SECTIONS:
        return f"https://scikit-learn.org/stable/{SECTIONS[target]}"
    return None


def resolve(app, env, node, contnode):
    """Turn a reference that is not ours into a link."""
    uri = address(node["refdomain"], node["reftype"], node["reftarget"])
    if uri is None:
        return None
    link = nodes.reference("", "", internal=False, refuri=uri)
    link += contnode
    return link


def setup(app):
    """Register with Sphinx."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
