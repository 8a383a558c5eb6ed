"""Build the Cython extensions; everything declarative is in pyproject.toml.

Environment variables
---------------------
SKLEARN_BANDIT_BOUNDSCHECK=1
    Compile bounds checks into every memoryview access (``make test-boundscheck``).
SKLEARN_BANDIT_OPENMP=0
    Build without OpenMP: kernels run on one thread each.
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

# Each kind of build has a folder of its own, so that none takes another's objects.
KIND = "-".join(
    (["boundscheck"] if BOUNDSCHECK else []) + SANITIZE.replace(",", " ").split()
)

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
# (sklearn_bandit/_simd.pxd) and dispatched at run time.
UNIX_FLAGS = [
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
    "-Wno-unused-function",
    "-Wno-unused-variable",
]
MSVC_FLAGS = ["/O2"]

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
    """Add the flags of the compiler at hand, with OpenMP where it links."""

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count()

    def build_extensions(self):
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
            extension.extra_link_args += link_args
        super().build_extensions()

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


def extensions():
    """One extension per ``.pyx`` file, named after its place in the package."""
    return [
        Extension(".".join(path.with_suffix("").parts), [path.as_posix()])
        for path in sorted(PACKAGE.rglob("*.pyx"))
    ]


setup(
    ext_modules=cythonize(
        extensions(),
        compiler_directives=DIRECTIVES,
        build_dir=f"build/{KIND}/cython" if KIND else "build/cython",
        nthreads=0,
        show_all_warnings=False,
    ),
    cmdclass={"build_ext": BuildExt},
    options={"build": {"build_base": f"build/{KIND}" if KIND else "build"}},
)
