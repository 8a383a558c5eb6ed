"""Docstrings of trees, forests and boosted models say the same of the same parameter.

They are written out in every class, where readers and editors look for them.
"""

import inspect
import re
from ast import literal_eval

import pytest
from numpydoc.docscrape import ClassDoc

from sklearn_bandit import ensemble, tree

TREES = [getattr(tree, name) for name in tree.__all__ if "Tree" in name]
BOOSTED = [getattr(ensemble, name) for name in ensemble.__all__ if "Boosting" in name]
FORESTS = [getattr(ensemble, name) for name in ensemble.__all__ if "Boost" not in name]

# Parameters that mean something else to some of the classes, and to which of them.
EXCEPTIONS = {
    "criterion": ("Classifier", "Regressor"),
    "loss": ("Classifier", "Regressor"),
    "class_weight": ("Tree", "Forest"),
    "max_insertions": ("Tree", "Forest"),
}


def kinds(cls):
    kind = "Classifier" if cls.__name__.endswith("Classifier") else "Regressor"
    return {kind, "Tree" if cls in TREES else "Forest"}


def described(cls, section="Parameters"):
    """(name, type without its default, description) of parameters or attributes."""
    for name, kind, text in ClassDoc(cls)[section]:
        type_name = re.sub(r",\s*default=.*", "", kind)
        yield name, " ".join(type_name.split()), " ".join(" ".join(text).split())


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
@pytest.mark.parametrize("classes", [TREES + FORESTS, BOOSTED])
def test_shared_entries_have_the_same_words(classes, section):
    texts = {}
    for cls in classes:
        for name, *entry in described(cls, section):
            groups = kinds(cls).intersection(EXCEPTIONS.get(name, ()))
            texts.setdefault((name, *groups), {})[cls.__name__] = entry
    for key, by_class in texts.items():
        first, *others = by_class.values()
        assert all(entry == first for entry in others), (key, by_class)
    # The test looks at something: most entries are those of several classes.
    assert sum(len(by_class) > 1 for by_class in texts.values()) > len(texts) / 2


@pytest.mark.parametrize("cls", TREES + FORESTS + BOOSTED)
def test_defaults_are_those_of_the_signature(cls):
    signature = inspect.signature(cls).parameters
    for name, kind, _ in ClassDoc(cls)["Parameters"]:
        written = re.search(r"default=(\S+)$", kind)[1]
        default = signature[name].default
        assert literal_eval(written) == default, name
        assert isinstance(literal_eval(written), type(default)), name
