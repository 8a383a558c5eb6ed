"""The package as an installed thing: versions, public names."""

import importlib
import pkgutil
import re
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


@pytest.mark.parametrize("name", MODULES)
def test_public_names_exist(name):
    if name.endswith(".demo"):
        pytest.skip("a command")
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), public
    assert module.__doc__, f"{name} does not say what it is for"
