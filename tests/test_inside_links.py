"""The tool that looks for links of the documentation that lead nowhere."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / ".ci" / "inside_links.py"
if not TOOL.exists():
    pytest.skip("not part of a release", allow_module_level=True)


def broken(folder):
    spec = importlib.util.spec_from_file_location("inside_links", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.broken_links(folder.resolve()))


def test_links_inside_a_site(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text('<a href="../page.html#there">')
    (tmp_path / "page.html").write_text(
        '<h1 id="there"><a href="#there"><a href="#gone"><a href="folder/">'
        '<a href="https://elsewhere.org/x"><img src="lost.png"><a href="folder/#x">'
    )
    assert broken(tmp_path) == [
        ("page.html", "#gone"),
        ("page.html", "folder/#x"),
        ("page.html", "lost.png"),
    ]
