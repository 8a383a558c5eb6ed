"""Private names of scikit-learn: only in ``_compat``, which says what is missing."""

import ast
import importlib.util
import inspect
import io
import pkgutil
import tokenize
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import sklearn.ensemble._forest
import sklearn.tree

import sklearn_bandit
from sklearn_bandit import _compat, ensemble, tree

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sklearn_bandit"
SOURCES = sorted(
    path
    for path in PACKAGE.rglob("*.p*")
    if path.suffix in (".py", ".pyx", ".pxd") and path.name != "_compat.py"
)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def classes_of_the_package():
    for info in pkgutil.walk_packages(sklearn_bandit.__path__, "sklearn_bandit."):
        is_dask = info.name.startswith("sklearn_bandit.dask")
        if is_dask and importlib.util.find_spec("distributed") is None:
            continue
        if not info.name.endswith("demo"):
            module = importlib.import_module(info.name)
            for _, one in inspect.getmembers(module, inspect.isclass):
                if one.__module__.startswith("sklearn_bandit"):
                    yield one


def inherited_names():
    """Private methods and attributes that our classes have from scikit-learn's."""
    return {
        name
        for one in classes_of_the_package()
        for base in one.__mro__
        if base.__module__.startswith("sklearn.")
        for name in vars(base)
        if is_private(name) and not name.startswith("_abc")
    }


INHERITED = inherited_names()
ASKING = ("getattr", "hasattr", "setattr")


def private_import(module, names):
    """Return whether ``from module import names`` takes something private."""
    parts = module.split(".")
    return parts[0] == "sklearn" and any(map(is_private, [*parts, *names]))


def find_private(source):
    """Yield the line and text of each use of a private name of scikit-learn."""
    nodes = list(ast.walk(ast.parse(source)))
    # What a file defines is its own, be it that it overrides a method.
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    imported = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [alias.name for alias in node.names]
            if node.module.split(".")[0] == "sklearn":
                imported |= {alias.asname or alias.name for alias in node.names}
            if private_import(node.module, names):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "sklearn":
                    imported.add(alias.asname or "sklearn")
                if private_import(alias.name, []):
                    yield node.lineno, ast.unparse(node)
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            of_sklearn = isinstance(root, ast.Name) and root.id in imported
            if of_sklearn or node.attr in INHERITED - own:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ASKING:
            words = {one.value for one in node.args if isinstance(one, ast.Constant)}
            if words & (INHERITED - own):
                yield node.lineno, ast.unparse(node)


def find_private_tokens(source):
    """As `find_private`, for Cython, which is no Python but has its tokens."""
    words, first = [], 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NAME, tokenize.OP):
            first = first if words else token.start[0]
            words.append(token.string)
        if token.type != tokenize.NEWLINE:
            continue
        if words and words[0] in ("from", "import", "cimport"):
            ends = [i for i, word in enumerate(words) if i and word.endswith("import")]
            end = ends[0] if ends else len(words)
            if private_import("".join(words[1:end]), words[end + 1 :]):
                yield first, " ".join(words)
        else:
            for dot, name in pairwise(words):
                if dot == "." and name in INHERITED:
                    yield first, name
        words = []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_private_names_only_in_compat(path):
    """They break with every other release."""
    find = find_private if path.suffix == ".py" else find_private_tokens
    found = list(find(path.read_text()))
    assert not found, f"{path}: {found}"


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.tree._tree import Tree",
        "from sklearn.utils.validation import (\n    check_array,\n    _check_y,\n)",
        "from sklearn.base import _fit_context as context",
        "import sklearn.tree._classes",
    ],
)
def test_imports_are_found(source):
    assert list(find_private(source))
    assert list(find_private_tokens(source + "\n"))


@pytest.mark.parametrize(
    "source",
    [
        "def f(forest):\n    forest._validate_y_class_weight(1)",
        "def f(forest):\n    return getattr(forest, '_make_estimator')",
        "from sklearn import tree\ntree._classes.CRITERIA_CLF",
        "import sklearn.tree as trees\ntrees._tree",
    ],
)
def test_uses_are_found(source):
    assert list(find_private(source))


def test_uses_in_cython_are_found():
    assert list(find_private_tokens("cdef f(forest):\n    forest._encode_y(1)\n"))


def test_own_names_are_not_found():
    source = """
from sklearn.base import BaseEstimator
from sklearn_bandit._compat import _fit_context
from ._forest import BanditForest

class One(BaseEstimator):
    def _make_estimator(self):
        return self._make_estimator, self.__dict__, self._something_else
"""
    assert not list(find_private(source))
    assert not list(find_private_tokens("from ._fit cimport solve\nself._mine()\n"))


def test_methods_are_those_that_are_called():
    """`METHODS`, which is checked at import, leaves out what nobody calls, and else
    nothing."""
    tree = ast.parse(inspect.getsource(_compat))
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in INHERITED
    }
    listed = {name for names in _compat.METHODS.values() for name in names}
    # The first is asked of every class, the second is there with callbacks only, the
    # third is a function from 1.9 on.
    elsewhere = {
        "_parameter_constraints",
        "_init_callback_context",
        "_check_categorical_features",
    }
    assert called - elsewhere == listed


def load_compat():
    """Import ``_compat`` once more, under another name."""
    spec = importlib.util.spec_from_file_location("compat_again", _compat.__file__)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize(
    ("owner", "name", "missing"),
    [
        (sklearn.ensemble._forest, "MAX_INT", "MAX_INT"),
        (sklearn.tree.BaseDecisionTree, "_prune_tree", "Classifier._prune_tree"),
        (sklearn.ensemble.BaseEnsemble, "_make_estimator", "Classifier._make_estim"),
    ],
)
def test_a_missing_name_is_said_at_import(owner, name, missing, monkeypatch):
    load_compat()
    monkeypatch.delattr(owner, name)
    with pytest.raises(ImportError, match=missing) as caught:
        load_compat()
    message = str(caught.value)
    assert f"supports scikit-learn {_compat.OLDEST} to {_compat.NEWEST}" in message
    assert f"scikit-learn {sklearn.__version__} is installed" in message


def test_the_oldest_version_is_that_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = dict(line.split(">=") for line in project["dependencies"])
    assert declared["scikit-learn"].removesuffix(".0") == _compat.OLDEST


@pytest.mark.parametrize(
    "estimator",
    [
        getattr(package, name)
        for package in (tree, ensemble)
        for name in package.__all__
        if hasattr(getattr(package, name), "fit") and "Hist" not in name
    ],
)
def test_features_are_said_to_be_numbers(estimator):
    """scikit-learn 1.10 asks trees for their categories when they predict."""
    model = estimator()
    assert model.is_categorical_ is None
    assert model._categorical_encoder is None
    assert "is_categorical_" not in vars(model)
