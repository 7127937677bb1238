"""Text files spoilt at random: right data or a FileError, and compiled code that stays within its arrays."""

import os
import subprocess
import sys

import numba
import pytest

import mutants
from written import FUZZ, refused_by_kind

KINDS = ["svmlight", "text", "csv", "tsv", "conll"]


@pytest.fixture(scope="module")
def refused():
    """How many files of each kind a process of their own refuses, whose compiled code checks array bounds."""
    command = [sys.executable, mutants.__file__, str(FUZZ), *KINDS]
    run = subprocess.run(command, env={**os.environ, "NUMBA_BOUNDSCHECK": "1"}, capture_output=True, text=True)
    return refused_by_kind(run)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_text_says_what_it_says_or_is_refused(kind, request):
    if numba.config.DISABLE_JIT:
        assert 0 < mutants.run(kind, 100, longs=0) < 100
        return
    assert 0 < request.getfixturevalue("refused")(kind) < FUZZ
