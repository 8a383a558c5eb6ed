"""Build the Cython extensions; everything declarative is in pyproject.toml.

Environment variables
---------------------
SKLEARN_BANDIT_BOUNDSCHECK=1
    Compile bounds checks into every memoryview access (``make test-boundscheck``).
SKLEARN_BANDIT_OPENMP=0
    Build without OpenMP: kernels run on one thread each.
CFLAGS=-g
    Keep debug symbols, which are left out otherwise.
SKLEARN_BANDIT_SANITIZE=address,undefined
    Compile with these sanitizers of gcc or clang (``make test-sanitize``,
    ``make test-threads``). The first finding ends the process.
"""

import os
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("sklearn_bandit")
BOUNDSCHECK = os.environ.get("SKLEARN_BANDIT_BOUNDSCHECK", "0") == "1"
OPENMP = os.environ.get("SKLEARN_BANDIT_OPENMP", "1") == "1"
SANITIZE = os.environ.get("SKLEARN_BANDIT_SANITIZE", "")
SYMBOLS = "-g" in os.environ.get("CFLAGS", "").split()

# Each kind of build has a folder of its own, so that none takes another's objects.
KIND = "-".join(
    (["boundscheck"] if BOUNDSCHECK else []) + SANITIZE.replace(",", " ").split()
)
BUILD = f"build/{KIND}" if KIND else "build"
GENERATED = f"{BUILD}/cython"

# The module with Cython's own memoryview and function types. Without it every kernel
# has a copy. Processor time of all kernels: 18 seconds of Cython instead of 47; of gcc
# (-g0), 0.8 instead of 4.2 for a small kernel, 1.5 instead of 4.8 for a large one.
SHARED = "sklearn_bandit._cython_shared"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": BOUNDSCHECK,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "cdivision": True,
    "freethreading_compatible": True,
}

# Sums may be re-associated, so that reductions vectorise; NaN and infinity keep their
# meaning (which -ffast-math would take away). Contraction to FMA stays the compiler's
# choice. No -march: kernels that gain from wider vectors are declared `simd_void`
# (sklearn_bandit/_core/simd.h) and dispatched at run time.
UNIX_FLAGS = [
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
    "-Wno-unused-function",
    "-Wno-unused-variable",
]
# Python's own flags may ask for symbols, which take a quarter of gcc's time and four
# fifths of the size.
if not SYMBOLS:
    UNIX_FLAGS.append("-g0")
MSVC_FLAGS = ["/O2"]

# Kernels whose sums must come out the same with any instruction set: nothing is
# re-associated, and nothing fused that the source does not fuse.
STRICT = {"sklearn_bandit.neighbors._quantized._exact"}
STRICT_FLAGS = ["-fno-associative-math", "-ffp-contract=off"]

# How long a generated file takes to compile is its size, and this much a function that
# is compiled once for each instruction set: a second of gcc is about 250 kB.
SIMD_BYTES = 60_000

# -O1 compiles in half the time, and keeps line numbers in reports right.
SANITIZE_FLAGS = [
    f"-fsanitize={SANITIZE}",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-g1",
    "-O1",
]

OPENMP_FLAGS = {
    "msvc": (["/openmp"], []),
    "darwin": (["-Xpreprocessor", "-fopenmp"], ["-lomp"]),
    "unix": (["-fopenmp"], ["-fopenmp"]),
}

OPENMP_PROGRAM = """
#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }
"""


class BuildExt(build_ext):
    """Generate C, and compile it with the flags of the compiler at hand.

    C is generated here and not for every command, so that making a source distribution
    or reading the metadata takes no time.
    """

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count()

    def build_extensions(self):
        self._generate()
        msvc = self.compiler.compiler_type == "msvc"
        compile_args = list(MSVC_FLAGS if msvc else UNIX_FLAGS)
        link_args = []
        platform = "msvc" if msvc else "darwin" if sys.platform == "darwin" else "unix"
        if OPENMP and self._links(*OPENMP_FLAGS[platform]):
            compile_args += OPENMP_FLAGS[platform][0]
            link_args += OPENMP_FLAGS[platform][1]
        elif OPENMP:
            self.warn("OpenMP does not link here: the kernels will use one thread.")
        if SANITIZE:
            compile_args += SANITIZE_FLAGS
            link_args += [f"-fsanitize={SANITIZE}"]
        for extension in self.extensions:
            extension.extra_compile_args += compile_args
            if extension.name in STRICT and not msvc:
                extension.extra_compile_args += STRICT_FLAGS
            extension.extra_link_args += link_args
        super().build_extensions()

    def _generate(self):
        """Write the C files that are older than their sources, one process a core.

        All of them, if this file has changed: it holds the directives.
        """
        setup_time = os.path.getmtime(__file__)
        # Those of kernels that have moved away stay in the folder, and do not count.
        paths = (
            Path(GENERATED, extension.sources[0]).with_suffix(".c")
            for extension in self.extensions
        )
        outdated = any(
            path.exists() and path.stat().st_mtime < setup_time for path in paths
        )
        generated = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            build_dir=GENERATED,
            nthreads=self.parallel,
            force=outdated,
            quiet=not self.verbose,
            show_all_warnings=False,
        )
        for extension, new in zip(self.extensions, generated, strict=True):
            extension.sources = new.sources
            extension.depends = sorted({*extension.depends, *new.depends})
        # The slowest first, so that no core is left with one of them at the end.
        self.extensions.sort(key=compile_time, reverse=True)

    def _links(self, compile_args, link_args):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(OPENMP_PROGRAM)
            try:
                objects = self.compiler.compile(
                    [str(source)], output_dir=folder, extra_postargs=compile_args
                )
                self.compiler.link_executable(
                    objects, "probe", output_dir=folder, extra_postargs=link_args
                )
            except Exception:
                return False
        return True


def compile_time(extension):
    """About how long the compiler takes, in bytes."""
    source = Path(extension.sources[0]).read_bytes()
    return len(source) + SIMD_BYTES * source.count(b"SKB_SIMD void __pyx")


def extensions():
    """One extension per ``.pyx`` file, named after its place in the package."""
    headers = [path.as_posix() for path in sorted(PACKAGE.rglob("*.h"))]
    kernels = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            include_dirs=[(PACKAGE / "_core").as_posix(), path.parent.as_posix()],
            depends=headers,
        )
        for path in sorted(PACKAGE.rglob("*.pyx"))
    ]
    return [*kernels, Extension(SHARED, [SHARED.replace(".", "/") + ".c"])]


# Where processes are spawned, those that generate C import this file.
if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExt},
        options={"build": {"build_base": BUILD}},
    )
