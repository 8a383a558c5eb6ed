"""How many cases run, and where.

By default a few cases of every test, always the same ones, in the process of the tests.
With ``SKLEARN_BANDIT_FUZZ=20000`` (``make fuzz CASES=20000``) this number of cases of
all tests together, other ones each time, in a process of their own: all are run
whatever fails, and those that failed are written to ``build/fuzz/failures.jsonl``.
"""

import inspect
import json
import os
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fuzz_checks import NotApplicable
from fuzz_worker import Worker
from hypothesis import HealthCheck, Phase, given, settings

CASES = int(os.environ.get("SKLEARN_BANDIT_FUZZ", "0"))
N_TESTS = 49
SECONDS = float(os.environ.get("SKLEARN_BANDIT_FUZZ_SECONDS", "300"))
FAILURES = Path(__file__).parents[2] / "build" / "fuzz" / "failures.jsonl"

worker = Worker(SECONDS)


def fuzzed(strategy, n_short=15):
    """Make a test of a check: a function of one case that raises if it does not hold.

    Parameters
    ----------
    strategy : hypothesis strategy
        Of the cases.
    n_short : int
        Cases of the short profile.
    """

    def decorate(check):
        quiet = _quiet(check)
        module = Path(inspect.getfile(check)).stem
        if CASES:
            test = _long(module, check.__name__, strategy)
        else:
            test = _short(quiet, strategy, n_short)
        test.check = quiet
        test.__name__ = check.__name__
        test.__doc__ = check.__doc__
        return test

    return decorate


def _quiet(check):
    def run(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(NotApplicable):
                check(case)

    return run


def _short(check, strategy, n_cases):
    options = settings(
        max_examples=n_cases,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )

    def test():
        options(given(strategy)(lambda case: check(case)))()

    return test


def _long(module, name, strategy):
    options = settings(
        max_examples=-(-CASES // N_TESTS),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )

    def test():
        failures = []

        def send(case):
            job = {"module": module, "test": name, "case": case}
            failure = worker.run(job)
            if failure is not None:
                failures.append((job, failure))

        options(given(strategy)(send))()
        _report(failures)

    return test


def _report(failures):
    if not failures:
        return
    FAILURES.parent.mkdir(parents=True, exist_ok=True)
    with FAILURES.open("a", encoding="utf-8") as file:
        for job, failure in failures:
            file.write(json.dumps(job | failure) + "\n")
    kinds = Counter(
        (failure["error"], failure["message"][:200]) for _, failure in failures
    )
    lines = [f"{n} x {error}: {message}" for (error, message), n in kinds.items()]
    raise AssertionError("\n".join([f"{len(failures)} cases failed", *lines]))
