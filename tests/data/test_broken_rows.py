"""Every public function and method that takes rows refuses sparse matrices whose arrays do not fit together."""

import subprocess
import sys
from pathlib import Path

import pytest

import broken_rows

pytest.importorskip("matplotlib")


def test_every_call_refuses_every_broken_matrix():
    """In a process of its own, since a call that does not refuse crashes; it is started again after the crash."""
    script, first, faults = Path(broken_rows.__file__), 0, []
    total = len(broken_rows.CALLS) * len(broken_rows.BROKEN)
    names = [f"{call}, {kind}" for call in broken_rows.CALLS for kind in broken_rows.BROKEN]
    while first < total:
        run = subprocess.run([sys.executable, str(script), str(first)], capture_output=True, text=True, timeout=300)
        last = first
        for line in run.stdout.splitlines():
            mark, number, what = [*line.split(" ", 2), "", ""][:3]
            if mark != "case":
                continue  # what a crash printed
            last = int(number)
            if what not in ("begins", "refused"):
                faults.append(what)
        if run.returncode:
            faults.append(f"{names[last]}: exit status {run.returncode} {run.stderr[-300:]}")
        first = last + 1
    assert not faults, "\n".join(faults)


def test_every_public_name_that_takes_rows_is_called():
    called = {name.partition(",")[0] for name in broken_rows.CALLS}
    assert broken_rows.takers() - called == {"read", "read_conll", "stream"}  # which take files only
