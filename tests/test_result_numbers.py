"""Numbers within sentences of the documentation: measured ones are not typed."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "doc").is_dir():
    pytest.skip("the documentation is not part of a release", allow_module_level=True)
pytest.importorskip("docutils")

PAGES = sorted(
    [*(ROOT / "doc").glob("*.rst"), *(ROOT / "doc/user_guide").glob("*.rst")]
)

# What is left without these is prose: blocks of code, roles, literals, links.
BLOCKS = re.compile(
    r"^( *)(?:\.\. (?:code-block|math)::.*|(?!\.\. ).*::)\n(?:(?:\1 +.*)?\n)+",
    re.MULTILINE,
)
DOCTESTS = re.compile(r"^ *>>> .*\n(?: *\S.*\n)*", re.MULTILINE)
MARKED = re.compile(r":[\w:-]+:`[^`]*`|``.*?``|`[^`]*`_*", re.DOTALL)

# Names of tables and versions have points, too.
NAMES = re.compile(
    r"(?:tables?|figures?|sections?|Python|scikit-learn|onnx)(?:::)? \w?\.?[\d.]+"
    r"(?:(?: \(\w\))? (?:and|to) [\d.]+)*"
    r"|[\d.]+ or later",
    re.IGNORECASE,
)
DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+")


@pytest.fixture(scope="module")
def numbers(import_extension):
    return import_extension("result_numbers")


@pytest.fixture
def folder(tmp_path):
    """Results of two benchmarks."""
    table = {
        "title": "covtype, depth 8",
        "columns": ["solver", "k", "insertions", "accuracy"],
        "rows": [
            ["exact", 1, "3.2E+07", "0.743 ± 0.002"],
            ["mab", 1, "8E+06", "0.742 ± 0.001"],
            ["mab", 10, "1.6E+07", None],
        ],
    }
    race = {
        "title": "flights",
        "seconds": {"sklearn-bandit": [1.0, 2.0], "LightGBM": [4.0, 6.0]},
        "quality": {"sklearn-bandit": {"AUC": [0.7, 0.8]}, "LightGBM": {"AUC": [0.7]}},
    }
    for name, record in {"some.table": table, "some.race": race}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"records": [record]}))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("some.table | | exact | accuracy", "0.743"),
        ("some.table | covertype | exact | accuracy | .3f", "0.743"),
        ("some.table | | mab & k=1 | insertions | .0f", "8000000"),
        ("some.table | | exact / mab & k=1 | insertions", "4"),
        ("some.table | | * | insertions | .0e", "8e+06 to 3e+07"),
        ("some.table | | mab | accuracy | .2f", "0.74"),  # null is left out
        ("some.race | | LightGBM | speed-up", "3.5"),
        ("some.race | | sklearn-bandit | AUC | .2f", "0.75"),
    ],
)
def test_numbers_are_found(numbers, folder, text, expected):
    assert numbers.number(text, folder) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("some.table | | exact", "four or five parts"),
        ("other.table | | exact | accuracy", "no stored result"),
        ("some.table | MNIST | exact | accuracy", "0 records"),
        ("some.table | | exact | loss", "not one of the columns"),
        ("some.table | | neither | accuracy", "No row"),
        ("some.table | | exact / mab | insertions", "shorter|longer"),
        ("some.table | | exact | solver", "no number"),
    ],
)
def test_what_is_not_one_number_is_an_error(numbers, folder, text, problem):
    with pytest.raises(ValueError, match=problem):
        numbers.number(text, folder)


def test_numbers_of_all_pages_are_stored(numbers):
    pages = [*PAGES, ROOT / "doc/developers/design_notes.rst"]
    texts = re.findall(r":result:`([^`]*)`", "".join(p.read_text() for p in pages))
    assert texts
    for text in texts:
        assert numbers.number(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_measured_number_is_typed(page):
    """A decimal fraction is a setting (a literal), a result or a quotation (roles)."""
    assert typed(page.read_text()) == []


def typed(text):
    """Return the decimal fractions in the prose of a page."""
    for pattern in (DOCTESTS, BLOCKS, MARKED, NAMES):
        text = pattern.sub(" ", text)
    return DECIMAL.findall(text)


def test_typed_numbers_are_noticed():
    text = (
        "It saves 1.34 times, as in table 3.5.\n\n"
        ">>> 0.5 + 1\n1.5\n\n"
        ".. code-block:: python\n\n    f(x, delta=0.25)\n\n"
        "With ``0.1``, :thesis:`.83` and\n:result:`a | b | 0.75 | c` it is\n"
        "    .07 less.\n"
    )
    assert typed(text) == ["1.34", ".07"]
