"""What memory holds before it is written has no part in any model or answer.

The allocator of glibc fills memory with a byte of our choice. As doubles the bytes are
32 and -2e226; without the option there is whatever was there before.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("uninitialised_program.py")


def fingerprints(filled_with):
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    if filled_with is not None:
        # The complement is what fresh memory gets.
        environment["MALLOC_PERTURB_"] = str(filled_with ^ 0xFF)
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of glibc")
def test_uninitialised_memory_has_no_part():
    expected = fingerprints(None)
    assert len(expected) > 10
    for byte in (0x40, 0xEF):
        assert fingerprints(byte) == expected
