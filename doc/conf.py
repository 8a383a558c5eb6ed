"""Sphinx configuration. The build asks the network for nothing."""

import sys
import warnings
from pathlib import Path

import matplotlib

import sklearn_bandit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent))  # benchmarks
matplotlib.use("Agg")

project = "sklearn-bandit"
copyright = "2026, the sklearn-bandit developers (BSD-3-Clause)"
version = release = sklearn_bandit.__version__

extensions = [
    # Of this folder, `_ext`.
    "benchmark_results",
    "differences",
    "idea_figures",
    "offline_mathjax",
    "outside_links",
    "result_numbers",
    "thesis_figures",
    "thesis_growth",
    # Others.
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = "literal"
toc_object_entries_show_parents = "hide"
nitpicky = True
# dask's pages are not linked.
nitpick_ignore = [("py:class", "distributed.Client")]
myst_heading_anchors = 3

# Types are in the docstrings, with what they mean.
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# The docstring of a property repeats what the section Attributes says of it.
numpydoc_attributes_as_param_list = True
viewcode_follow_imported_members = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "reset_modules": ("matplotlib", "figure_style.use_in_gallery"),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    # API pages show the examples that use what they describe.
    "backreferences_dir": "api/backreferences",
    "doc_module": ("sklearn_bandit",),
    # Objects that a block happens to end with (axes, texts) are not output.
    "capture_repr": (),
    "remove_config_comments": True,
}
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-bandit"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo_dark.svg",
        "alt_text": "sklearn-bandit",
    },
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without others beside them have no list of these.
ALONE = """index installation quick_start from_scikit_learn performance changelog faq
    reproducibility citing"""
html_sidebars = {name: [] for name in ALONE.split()}

# `make docs-links` asks the network. Publishers answer programs with 403.
linkcheck_ignore = [r"https://doi\.org/.*"]
linkcheck_anchors = False
linkcheck_timeout = 15
linkcheck_retries = 2


def keep_first_paragraph(app, what, name, obj, options, lines):
    """Shorten docstrings of packages: the rest is a map of their modules."""
    if what == "module" and "" in lines:
        del lines[lines.index("") :]


def setup(app):
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", keep_first_paragraph)
