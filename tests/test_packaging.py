"""The package as an installed thing: versions, public names."""

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sklearn_bandit
from sklearn_bandit import show_versions

ROOT = Path(__file__).parents[1]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(sklearn_bandit.__path__, "sklearn_bandit.")
]


def test_oldest_versions_are_those_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = dict(line.split(">=") for line in project["dependencies"])
    pins = (ROOT / ".ci" / "oldest.txt").read_text()
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", pins, re.MULTILINE))
    assert set(pinned) == set(declared)
    for name, version in declared.items():
        assert pinned[name].removesuffix(".0") == version.removesuffix(".0"), name


def test_show_versions(capsys):
    show_versions()
    out = capsys.readouterr().out
    assert f"sklearn-bandit: {sklearn_bandit.__version__}" in out
    assert "scikit-learn" in out
    assert "OpenMP" in out


def run(code):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_sub_packages_are_imported_on_use():
    out = run(
        "import sys, sklearn_bandit\n"
        "loaded = [name for name in sys.modules if name == 'sklearn'"
        " or name.startswith('sklearn_bandit.') and name.count('.') > 1"
        " and not name.startswith('sklearn_bandit._core.')]\n"
        "assert not loaded, loaded\n"
        "assert 'ensemble' in dir(sklearn_bandit)\n"
        "print(sklearn_bandit.ensemble.RandomForestClassifier.__module__)\n"
        "from sklearn_bandit import *\n"
        "print(cluster.__name__)\n"
    )
    assert out.split() == [
        "sklearn_bandit.ensemble._random_forest",
        "sklearn_bandit.cluster",
    ]


def test_every_sub_package_is_a_public_name():
    packages = {
        module.name
        for module in pkgutil.iter_modules(sklearn_bandit.__path__)
        if module.ispkg and not module.name.startswith("_")
    }
    # `from sklearn_bandit import *` works without the extra that dask needs.
    assert packages - {"dask"} <= set(sklearn_bandit.__all__)
    assert packages <= set(dir(sklearn_bandit))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'forest'"):
        _ = sklearn_bandit.forest


@pytest.mark.parametrize("name", MODULES)
def test_public_names_exist(name):
    if name.endswith((".demo", "._cython_shared")):
        pytest.skip("a command, or Cython's own")
    if name.startswith("sklearn_bandit.dask"):
        pytest.importorskip("distributed")
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), public
    assert module.__doc__, f"{name} does not say what it is for"
