"""Where an estimator is documented, for its HTML representation in notebooks."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

PAGE = "/api/generated/{estimator_module}.{estimator_name}.html"


@cache
def documentation_address():
    """Return where the documentation is: as published, or as built in a checkout."""
    try:
        urls = metadata("sklearn-bandit").get_all("Project-URL") or []
    except PackageNotFoundError:  # a folder on the path
        urls = []
    for url in urls:
        label, _, address = url.partition(", ")
        if label == "Documentation":
            return address.rstrip("/")
    built = Path(__file__).parents[2] / "doc" / "_build" / "html"
    return built.as_uri() if built.is_dir() else ""


class DocumentationLinkMixin:
    """Have the HTML representation of an estimator link its page of the reference.

    It stands before scikit-learn's classes among the bases. Where no documentation is
    known there is no link.
    """

    _doc_link_module = "sklearn_bandit"

    @property
    def _doc_link_template(self):
        # An address of a file has no braces: they are percent-encoded.
        return documentation_address() and documentation_address() + PAGE
