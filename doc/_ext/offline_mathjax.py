"""Ship MathJax with the pages: formulas need no network.

The files come from the package sphinx-mathjax-offline. That is no name that can be
imported by a statement, and it would copy all 24 MB; 2 MB are what pages ask for.
"""

from importlib.util import find_spec
from pathlib import Path

from sphinx.util.fileutil import copy_asset

NEEDED = ["tex-chtml.js", "output/chtml/fonts"]


def copy_files(app, exception):
    """Copy MathJax beside the other static files."""
    if exception is not None or app.builder.format != "html":
        return
    source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax"
    for name in NEEDED:
        target = app.outdir / "_static" / "mathjax" / name
        is_folder = (source / name).is_dir()
        copy_asset(source / name, target if is_folder else target.parent)


def setup(app):
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True}
