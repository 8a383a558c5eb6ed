"""A constant stands once: no two files give the same name the same value."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import sklearn_bandit

PACKAGE = Path(sklearn_bandit.__file__).parent
PREFIX = "SKB_"  # of names in headers

# NAME = value, after the type if there is one; or the first lines of an enumeration.
ASSIGNMENT = re.compile(
    r"(?:cdef[ \t]+(?:const[ \t]+)?\w+(?:[ \t]\w+)*?[ \t]+)?"
    r"(?P<name>[A-Z][A-Z0-9_]+)[ \t]*=[ \t]*(?P<value>[^=#\n][^#\n]*)"
)
ENUM = re.compile(
    r"^cdef enum\b[^\n]*:\n(?P<body>(?:[ \t]+[^\n]*\n|\n)+)", re.MULTILINE
)
DEFINE = re.compile(
    r"^#define[ \t]+(?P<name>[A-Z][A-Z0-9_]+)[ \t]+(?P<value>[^\n]+)", re.MULTILINE
)


def value_of(text):
    """The value of an expression of numbers; its text if it has names in it."""
    text = re.sub(r"/\*.*?\*/", "", text).strip()
    try:
        return eval(text, {"__builtins__": {}})
    except Exception:
        return text


def python_constants(text):
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if isinstance(target, ast.Name) and target.id.isupper() and node.value:
            yield target.id, ast.unparse(node.value)


def cython_constants(text):
    text = re.sub(r"\"\"\".*?\"\"\"", '""', text, flags=re.DOTALL)
    for enum in ENUM.finditer(text):
        lines = [line.strip() for line in enum["body"].splitlines()]
        found = [match.groups() for line in lines if (match := ASSIGNMENT.match(line))]
        # The cases of a choice, counted from zero, are no numbers that someone chose.
        if [value_of(value) for _, value in found] != list(range(len(found))):
            yield from found
    for line in ENUM.sub("", text).splitlines():
        if match := ASSIGNMENT.match(line):
            yield match.groups()


def header_constants(text):
    for match in DEFINE.finditer(text):
        yield match["name"], match["value"]


READERS = {
    ".py": python_constants,
    ".pyx": cython_constants,
    ".pxd": cython_constants,
    ".h": header_constants,
}


def constants(text, suffix):
    """(name, value) of the constants that a source defines.

    Other names for constants that stand elsewhere are not among them.
    """
    for name, value in READERS[suffix](text):
        value = value_of(value)
        if not (isinstance(value, str) and value.isidentifier()):
            yield name.removeprefix(PREFIX), value


def test_constants_stand_once():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in READERS:
            for name, value in constants(path.read_text("utf-8"), path.suffix):
                places[name, str(value)].append(path.relative_to(PACKAGE).as_posix())
    found = {key: files for key, files in places.items() if len(files) > 1}
    assert not found


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (".py", "A_B: int = 1 << 4\nc = 3\nX = A_B\n", [("A_B", 16)]),
        (
            ".py",
            "LIMIT = np.iinfo(np.int32).max",
            [("LIMIT", "np.iinfo(np.int32).max")],
        ),
        (".py", "def f():\n    LOCAL = 3", []),
        (".pyx", "cdef double TIE = 1e-13  # why", [("TIE", 1e-13)]),
        (".pyx", "cdef const unsigned int TOP = 2**3", [("TOP", 8)]),
        (
            ".pyx",
            "cdef enum:\n    # why\n    A1 = 64\n\n    B1 = 2 * 3\nX = 1\n"[:-6],
            [("A1", 64), ("B1", 6)],
        ),
        (".pxd", "cdef enum Kind:\n    FIRST = 0\n    SECOND = 1\n", []),
        (".pyx", "for x in y:\n    x == AB\n", []),
        (".pyx", "BLOCK = SKB_BLOCK\n", []),
        (
            ".h",
            "#define SKB_BLOCK 64        /* rows */\n#define SKB_X_H\n",
            [("BLOCK", 64)],
        ),
    ],
)
def test_constants_are_read_from_sources(suffix, text, expected):
    assert list(constants(text, suffix)) == expected
