"""The page *From scikit-learn* has every estimator, and every difference."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.utils

from sklearn_bandit.utils import all_estimators

ROOT = Path(__file__).parents[1]
if not (ROOT / "doc").is_dir():
    pytest.skip("the documentation is not part of a release", allow_module_level=True)
pytest.importorskip("sphinx")
pytest.importorskip("numpydoc")

PAGE = (ROOT / "doc" / "from_scikit_learn.rst").read_text()

# Estimators that scikit-learn has nothing to compare with.
ALONE = {
    "BanditMIPS",
    "MIPSPredictor",
    "RandomPatchesClassifier",
    "RandomPatchesRegressor",
}

OURS = dict(all_estimators())
THEIRS = dict(sklearn.utils.all_estimators())


@pytest.fixture(scope="module")
def differences(import_extension):
    return import_extension("differences")


def compared():
    """Return the classes that the page compares: names of ours with theirs."""
    blocks = re.findall(r"^\.\. differences::(.*(?:\n    .*)*)", PAGE, re.MULTILINE)
    text = re.sub(r"\s*=\s*", "=", " ".join(blocks))
    pairs = (word.partition("=") for word in text.split())
    return {
        mine.rpartition(".")[2]: (other or mine).rpartition(".")[2]
        for mine, _, other in pairs
    }


def test_every_estimator_is_compared():
    assert set(OURS) - set(compared()) == ALONE


@pytest.mark.parametrize("name", sorted(set(OURS) & set(THEIRS)))
def test_estimators_of_one_name_are_compared(name):
    assert compared()[name] == name


@pytest.mark.parametrize("name", sorted(set(OURS) - ALONE))
def test_every_difference_is_listed(name, differences):
    """Signatures and methods, counted another way than the extension does."""
    ours, theirs = OURS[name], THEIRS[compared()[name]]
    rows = differences.compare(ours, theirs)
    listed = {(kind, re.split(r"[=(]", shown)[0]) for kind, shown, _ in rows}
    mine, other = (inspect.signature(each).parameters for each in (ours, theirs))
    for parameter in set(mine) ^ set(other):
        where = "ours" if parameter in mine else "not here"
        assert (f"parameter, {where}", parameter) in listed
    for parameter in set(mine) & set(other):
        if repr(mine[parameter].default) != repr(other[parameter].default):
            assert ("default", parameter) in listed
    for method in ("predict", "transform", "score", "partial_fit", "kneighbors"):
        if hasattr(ours, method) != hasattr(theirs, method):
            where = "ours" if hasattr(ours, method) else "not here"
            assert (f"method, {where}", method) in listed


def test_parameters_of_scikit_learn_are_all_here():
    """The estimators that take the place of scikit-learn's take all its parameters."""
    for name in set(OURS) & set(THEIRS):
        missing = set(inspect.signature(THEIRS[name]).parameters) - set(
            inspect.signature(OURS[name]).parameters
        )
        assert not missing, name
