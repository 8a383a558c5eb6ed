"""The HTML representation of an estimator links its page of the API reference."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from sklearn_bandit._core import documentation
from sklearn_bandit.tree import DecisionTreeClassifier
from sklearn_bandit.utils import all_estimators

API = Path(__file__).parents[1] / "doc" / "api.rst"
if not API.exists():
    pytest.skip("the documentation is not part of a release", allow_module_level=True)

ADDRESS = "https://docs.example"


def listed_pages():
    """Return the names that the API page makes a page for."""
    pages, module, in_list = set(), "", False
    for line in API.read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif line.startswith(".. autosummary::"):
            in_list = True
        elif line and not line.startswith(" "):
            in_list = False
        elif in_list and re.fullmatch(r"    \w+(\.\w+)*", line):
            pages.add(f"{module}.{line.strip()}")
    return pages


def estimator_classes():
    classes = [one for _, one in all_estimators()]
    if importlib.util.find_spec("distributed") is not None:
        dask = importlib.import_module("sklearn_bandit.dask")
        public = [getattr(dask, name) for name in dask.__all__]
        classes += [
            one
            for one in public
            if inspect.isclass(one) and issubclass(one, BaseEstimator)
        ]
    return classes


def make(estimator_class):
    required = {
        "estimator": Ridge(),
        "param_grid": {"alpha": [1.0]},
        "param_distributions": {"alpha": [1.0]},
    }
    parameters = inspect.signature(estimator_class).parameters
    return estimator_class(**{k: v for k, v in required.items() if k in parameters})


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(documentation, "documentation_address", lambda: ADDRESS)


@pytest.mark.parametrize("one", estimator_classes(), ids=lambda c: c.__module__)
def test_link_leads_to_a_page_of_the_reference(address, one):
    html = make(one)._repr_html_()
    found = re.findall(rf'{ADDRESS}/api/generated/([\w.]+)\.html"', html)
    assert f"{one.__module__.partition('._')[0]}.{one.__name__}" in found
    assert set(found) <= listed_pages()


def test_no_address_no_link(monkeypatch):
    monkeypatch.setattr(documentation, "documentation_address", lambda: "")
    html = DecisionTreeClassifier()._repr_html_()
    assert "api/generated" not in html
    assert "modules/generated" not in html  # nor scikit-learn's page


class Metadata:
    """What an installed package says of itself."""

    def __init__(self, *urls):
        self.urls = urls

    def get_all(self, key):
        return self.urls if key == "Project-URL" else None


def test_address_is_the_published_one_or_that_of_a_build(monkeypatch, tmp_path):
    address = documentation.documentation_address.__wrapped__
    urls = ("Source, https://code.example", f"Documentation, {ADDRESS}/")
    monkeypatch.setattr(documentation, "metadata", lambda name: Metadata(*urls))
    assert address() == ADDRESS

    monkeypatch.setattr(documentation, "metadata", lambda name: Metadata())
    monkeypatch.setattr(
        documentation, "__file__", str(tmp_path / "package" / "_core" / "file.py")
    )
    assert address() == ""
    built = tmp_path / "doc" / "_build" / "html"
    built.mkdir(parents=True)
    assert address() == built.as_uri()
