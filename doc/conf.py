"""Sphinx configuration."""

import sklearn_bandit

project = "sklearn-bandit"
copyright = "2026, the sklearn-bandit developers (BSD-3-Clause)"
version = release = sklearn_bandit.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "literal"

# Types are in the docstrings, with what they mean.
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "backreferences_dir": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-bandit"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"quick_start": [], "changelog": []}
