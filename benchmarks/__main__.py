"""``python -m benchmarks [NAME ...]``: run benchmarks by name, or list them."""

import argparse
import importlib
import pkgutil
from fnmatch import fnmatch

import benchmarks

from .harness import REGISTRY, Options, run, summary


def discover():
    """Import every benchmark module, which registers what it holds."""
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)


def main(arguments=None):
    """Parse the command line and run what it names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="names or patterns such as 'forest.*'")
    parser.add_argument("--dataset", action="append", default=[], help="only this one")
    parser.add_argument("--json", metavar="FILE", help="store the records here")
    parser.add_argument("--rounds", type=int, help="runs of each contender")
    parser.add_argument("--threads", type=int, default=2, help="for both sides")
    parsed = parser.parse_args(arguments)

    discover()
    if not parsed.names:
        width = max(map(len, REGISTRY))
        for name, function in sorted(REGISTRY.items()):
            print(f"{name:{width}}  {summary(function)}")
        return
    names = expand(parsed.names, parser)
    options = Options(parsed.threads, parsed.rounds, tuple(parsed.dataset))
    run(names, options, parsed.json)


def expand(patterns, parser):
    """Return the names that match; one without a match is an error."""
    names = []
    for pattern in patterns:
        matches = [name for name in sorted(REGISTRY) if fnmatch(name, pattern)]
        if not matches:
            parser.error(
                f"no benchmark is called {pattern!r}; run without a name to list"
            )
        names += matches
    return names


if __name__ == "__main__":
    main()
