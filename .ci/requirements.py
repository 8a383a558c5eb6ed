"""Print requirements out of pyproject.toml, one a line.

``python .ci/requirements.py build project tests`` prints what building needs, what the
package needs, and those of the extra "tests". Environments are made of these, so that
an extra can be added to one without building the package again.
"""

import sys
import tomllib
from pathlib import Path

settings = tomllib.loads(
    (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
)
groups = {
    "build": settings["build-system"]["requires"],
    "project": settings["project"]["dependencies"],
    **settings["project"]["optional-dependencies"],
}
for name in sys.argv[1:]:
    print(*groups[name], sep="\n")
