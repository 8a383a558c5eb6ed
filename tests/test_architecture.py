"""Imports point one way, functions take few arguments, files are short, maps are true.

Imports: root modules come first, then ``bandit``, then the families.

Root modules (``sklearn_bandit/_*.py`` and ``_core``) hold no learning and import each
other only. Every sub-package may use them. What else a sub-package may use is in
``USES``, and of that only what it exports: names of a package, not its modules. The
kernels of ``bandit`` are the exception, since a name can be cimported only from the
module that declares it.
"""

import ast
import re
from pathlib import Path

import pytest

import sklearn_bandit

NAME = "sklearn_bandit"
PACKAGE = Path(sklearn_bandit.__file__).parent
ROOT = "(root)"
# Commands, and what speaks to other packages, stand above everything.
COMMANDS = {"demo.py", "onnx.py"}

# Whose business is to print; all others tell by `say` of `progress`, if asked to.
PRINTERS = {"_core/progress.py", "_show_versions.py", "demo.py"}

MAX_ARGUMENTS = 8
MAX_LINES = 500

# Folders that keep the rules on arguments and lines. Beside an installed package there
# is none but itself.
FOLDERS = [
    folder
    for folder in (
        PACKAGE,
        *(Path(__file__).parents[1] / name for name in ("tests", "benchmarks", "doc")),
        Path(__file__).parents[1] / "examples",
    )
    if folder.exists()
]

FAMILIES = {"cluster", "datasets", "ensemble", "linear_model", "neighbors", "tree"}
USES = {
    ROOT: set(),
    "bandit": set(),
    "cluster": {"bandit"},
    "datasets": {"bandit"},
    "ensemble": {"bandit", "tree"},
    "feature_selection": {"bandit"},
    "linear_model": {"bandit", "neighbors"},
    "neighbors": {"bandit"},
    "tree": {"bandit"},
    "dask": FAMILIES | {"bandit", "inspection", "model_selection"},
    "inspection": FAMILIES | {"bandit"},
    "model_selection": FAMILIES | {"bandit"},
    "utils": set(),
}

IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+c?import[ \t]+"
    r"(?P<names>\([^)]*\)|[^\n#]*)|c?import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)


def statements(text, suffix):
    """(module, names) of the imports; no names for ``import module``."""
    if suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                yield module, [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, []
        return
    # Python's ast does not read Cython. Continued lines are joined first.
    for match in IMPORT.finditer(re.sub(r"\\\n", " ", text)):
        if match["module"]:
            names = re.sub(r"#[^\n]*", "", match["names"]).strip("() \t\n")
            yield match["module"], re.findall(r"(\w+)(?:\s+as\s+\w+)?", names)
        else:
            for module in match["modules"].split(","):
                yield module.split()[0], []


def resolve(module, folder):
    """The parts below the package of a possibly relative module; None if elsewhere."""
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module[dots:].split(".") if part]
    if dots:
        return [*folder[: len(folder) - dots + 1], *parts]
    return parts[1:] if parts[0] == NAME else None


def is_module(parts):
    path = PACKAGE.joinpath(*parts)
    return any(path.with_suffix(s).exists() for s in (".py", ".pyx", ".pxd"))


def is_package(parts):
    return (PACKAGE.joinpath(*parts) / "__init__.py").exists()


def targets(text, suffix, folder):
    """Modules of ours that a source imports from, as parts below the package."""
    for module, names in statements(text, suffix):
        parts = resolve(module, folder)
        if parts is None:
            continue
        below = [[*parts, name] for name in names]
        if is_package(parts):
            yield from (
                part if is_module(part) or is_package(part) else parts for part in below
            )
            # A private name of a package is as private as a module.
            yield from (part for part in below if part[-1].startswith("_"))
        if not is_package(parts) or not names:
            yield parts


def sub_package(parts):
    """The sub-package of a file or module; the folder ``_core`` is part of the root."""
    inside = parts and parts[0] != "_core" and is_package(parts[:1])
    return parts[0] if inside else ROOT


def broken_rule(source, target):
    """Why ``source``, a path, may not import from ``target``; None if it may."""
    user, used = sub_package(source.parts[:-1]), sub_package(target)
    if used in (ROOT, user):
        return None
    if used not in USES[user]:
        return f"{user} does not use {used}"
    kernel = source.suffix != ".py" and used == "bandit"
    if is_package(target) or kernel:
        return None
    return f"{user} imports a private module of {used}"


def imports():
    """Every (path below the package, parts of the module it imports from)."""
    for path in sorted(PACKAGE.rglob("*.p*")):
        source = path.relative_to(PACKAGE)
        if path.suffix in (".py", ".pyx", ".pxd") and source.name not in COMMANDS:
            folder = list(source.parts[:-1])
            for target in targets(path.read_text("utf-8"), path.suffix, folder):
                yield source, target


def test_imports_point_one_way():
    found = {
        (source.as_posix(), ".".join(target)): rule
        for source, target in imports()
        if (rule := broken_rule(source, target))
    }
    assert not found


def test_every_sub_package_has_a_place():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - {"_core"} <= set(USES)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("_threads.py", "from .bandit import best_arm", "(root) does not use bandit"),
        ("bandit/_a.py", "from ..tree import X", "bandit does not use tree"),
        ("bandit/_a.py", "import sklearn_bandit.tree", "bandit does not use tree"),
        ("tree/_a.py", "from .. import ensemble", "tree does not use ensemble"),
        ("tree/_a.py", "from ..bandit import best_arm", None),
        ("tree/_a.py", "from .._threads import (\n    a,\n    b,\n)", None),
        ("tree/_a.py", "from sklearn.tree import X\nimport numpy", None),
        ("tree/_a.py", "from . import _classes", None),
        (
            "tree/_a.py",
            "def f():\n    from ..bandit._best_arm import best_arm",
            "tree imports a private module of bandit",
        ),
        ("tree/_a.pyx", "from ..bandit._radii cimport x as y", None),
        (
            "ensemble/_boosting/_a.pyx",
            "from ...tree._classes cimport (\n    a, b\n)",
            "ensemble imports a private module of tree",
        ),
        (
            "ensemble/_a.py",
            "from sklearn_bandit.tree import X, _classes",
            "ensemble imports a private module of tree",
        ),
        (
            "ensemble/_a.py",
            "from ..tree import _hidden",
            "ensemble imports a private module of tree",
        ),
        ("ensemble/_a.py", "from ..tree import DecisionTreeClassifier", None),
        (
            "cluster/_a.pyx",
            "cimport sklearn_bandit.neighbors._x",
            "cluster does not use neighbors",
        ),
    ],
)
def test_the_rules_are_read_from_sources(source, text, expected):
    source = Path(source)
    found = [
        rule
        for target in targets(text, source.suffix, list(source.parts[:-1]))
        if (rule := broken_rule(source, target))
    ]
    assert set(found) == ({expected} if expected else set())


def printed_lines(text):
    """Lines of a source that print or write to a standard stream."""
    for node in ast.walk(ast.parse(text)):
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name == "print" or name in ("sys.stdout", "sys.stderr"):
            yield node.lineno


def test_what_estimators_tell_goes_through_one_function():
    found = {
        path: lines
        for path, text in sources(PACKAGE, ".py")
        if (lines := list(printed_lines(text)))
    }
    assert set(found) == PRINTERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print(1)", [1]),
        ("x = 1\nf(key=print)", [2]),
        ("import sys\nsys.stderr.write('a')", [2]),
        ('def f():\n    """print(1)"""\n    say(\'print\')', []),
    ],
)
def test_prints_are_seen(text, expected):
    assert list(printed_lines(text)) == expected


def many_arguments(tree):
    """Names of the functions that take more than `MAX_ARGUMENTS`.

    What users call is as wide as its options: constructors, and functions whose
    parameters are validated.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name == "__init__":
            continue
        if any("validate_params" in ast.unparse(d) for d in node.decorator_list):
            continue
        arguments = [
            *node.args.posonlyargs,
            *node.args.args,
            *node.args.kwonlyargs,
        ]
        names = [argument.arg for argument in arguments]
        if len(set(names) - {"self", "cls"}) > MAX_ARGUMENTS:
            yield node.name


def sources(folder, *suffixes):
    """(path below a folder, text) of the sources in it."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes:
            yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


each_folder = pytest.mark.parametrize(
    "folder", FOLDERS, ids=[folder.name for folder in FOLDERS]
)


@each_folder
def test_functions_take_few_arguments(folder):
    """What belongs together is a dataclass."""
    found = {
        (path, name)
        for path, text in sources(folder, ".py")
        for name in many_arguments(ast.parse(text))
    }
    assert not found


def test_many_arguments_are_seen():
    nine = "a, b, c, d, e, *, f, g, h, i=0"
    text = (
        f"class A:\n    def f(self, {nine}): ...\n    def __init__(self, {nine}): ..."
    )
    assert list(many_arguments(ast.parse(text))) == ["f"]
    text = f"@validate_params({{}})\ndef f({nine}): ...\ndef g(a, b): ..."
    assert not list(many_arguments(ast.parse(text)))


SIGNATURE = re.compile(
    r"^[ \t]*(?:def|c(?:p)?def[ \t]+(?!class\b|struct\b|enum\b|extern\b)[^()=:\n]*?)"
    r"[ \t*]*\b(?P<name>\w+)[ \t]*(?:\[[^\]\n]*\])?(?:[ \t]*\"[^\"\n]*\")?[ \t]*"
    r"\((?P<arguments>[^()]*(?:\([^()]*\)[^()]*)*)\)",
    re.MULTILINE,
)


def signatures(text):
    """(name, number of arguments) of every function that Cython source declares.

    Comments and strings are blanked first; what is inside brackets of any kind (the
    dimensions of an array, the arguments of a pointer to a function) is one argument.
    """
    text = re.sub(r"\"\"\".*?\"\"\"", '""', text, flags=re.DOTALL)
    text = re.sub(r"#[^\n]*", "", text)
    for match in SIGNATURE.finditer(text):
        arguments = match["arguments"]
        while True:
            inner = re.sub(r"\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}", "", arguments)
            if inner == arguments:
                break
            arguments = inner
        names = [part.strip() for part in arguments.split(",")]
        yield (
            match["name"],
            len([n for n in names if n not in ("", "*", "self", "cls")]),
        )


HEADER_SIGNATURE = re.compile(
    r"^[A-Za-z_][\w \t*]*\b(?P<name>\w+)\((?P<arguments>[^(){};]*)\)\s*\{", re.MULTILINE
)


def header_signatures(text):
    """(name, number of arguments) of every function that a header defines."""
    for match in HEADER_SIGNATURE.finditer(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        arguments = [part.strip() for part in match["arguments"].split(",")]
        yield match["name"], len([n for n in arguments if n not in ("", "void")])


def test_kernels_take_few_arguments():
    """What belongs together is a struct; constructors count, too."""
    found = {
        (path, name)
        for read, suffixes in (
            (signatures, (".pyx", ".pxd")),
            (header_signatures, (".h",)),
        )
        for path, text in sources(PACKAGE, *suffixes)
        for name, n in read(text)
        if n > MAX_ARGUMENTS
    }
    assert not found


@each_folder
def test_files_are_short(folder):
    """A file has one subject and is read in one sitting."""
    found = {
        path: n_lines
        for path, text in sources(folder, ".py", ".pyi", ".pyx", ".pxd", ".h")
        if (n_lines := len(text.splitlines())) > MAX_LINES
    }
    assert not found


def test_signatures_are_read_from_headers():
    text = "static int f(\n    int a, /* x, y */\n    int b)\n{\n  return g(a, b);\n}"
    assert list(header_signatures(text)) == [("f", 2)]
    assert list(header_signatures("void f(void) {}\nint g(int a);")) == [("f", 0)]


SOURCES = (".py", ".pyx", ".pxd")
COMPILED = (".so", ".pyd")


def modules(folder, suffixes=SOURCES):
    """Names of the modules and rooms in a folder of the package."""
    files = {
        path.name.partition(".")[0]
        for path in folder.iterdir()
        if path.suffix in suffixes and path.stem != "__init__"
    }
    return files | {path.parent.name for path in folder.glob("*/__init__.py")}


ROOMS = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("__init__.py")
    if path.parent != PACKAGE
)


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_of_rooms_name_what_is_in_them(room):
    """The docstring of a package is its map: each module, and none that is gone."""
    folder = PACKAGE / room
    docstring = ast.get_docstring(
        ast.parse((folder / "__init__.py").read_text("utf-8"))
    )
    named = set(
        re.findall(r"``(?:sklearn_bandit\.)?([a-z_0-9]+)(?:\.pxd)?``", docstring)
    )
    assert not modules(folder) - named
    # An installed package has no sources of its kernels.
    folders = [PACKAGE, *(PACKAGE / other for other in ROOMS)]
    anywhere = set().union(*(modules(each, SOURCES + COMPILED) for each in folders))
    assert not {name for name in named if name.startswith("_")} - anywhere


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cdef void f(int a, int b) noexcept nogil", [("f", 2)]),
        (
            "cdef inline const double* f(\n    int a,  # x, y\n    int b,\n):",
            [("f", 2)],
        ),
        ("cdef class A:\n    cdef int f(self, int[:, ::1] a) except -1", [("f", 1)]),
        (
            "cdef class A:\n    def __init__(self, a, *, b, c=(1, 2)):",
            [("__init__", 3)],
        ),
        ("cdef extern from 'x.h':\n    void f \"g\"(int a)", []),
        ("cdef uint8_t[GROUP * ROWS] values\ncdef int x = f(1, 2, 3)", []),
        ('def f(a):\n    """Not cdef g(a, b)."""\n    g(a, b)', [("f", 1)]),
        ("cpdef f(int (*g)(int, int), b)", [("f", 2)]),
        ("ctypedef fused T:\n    int\n\ncdef T f(T* x, T y)", [("f", 2)]),
        ("cdef struct S:\n    int x\ncdef simd_void f()", [("f", 0)]),
    ],
)
def test_signatures_are_read_from_sources(text, expected):
    assert list(signatures(text)) == expected
