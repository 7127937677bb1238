"""Text files spoilt at random: right data or a FileError, and compiled code that stays within its arrays."""

import os
import subprocess
import sys

import numba
import pytest

import mutants
from written import FUZZ


@pytest.mark.parametrize("kind", ["svmlight", "text", "csv", "tsv", "conll"])
def test_mutated_text_says_what_it_says_or_is_refused(kind):
    if numba.config.DISABLE_JIT:
        assert 0 < mutants.run(kind, 100, longs=0) < 100
        return
    run = subprocess.run(
        [sys.executable, mutants.__file__, kind, str(FUZZ)],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert 0 < int(run.stdout) < FUZZ
