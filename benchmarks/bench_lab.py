"""How fast the lab redraws, in a real browser: `run()`."""

from __future__ import annotations

import re
import subprocess
import sys

from tables import ROOT, head, left_out, say


def run() -> None:
    """The drag among 200 points, as in the tests of the lab."""
    head("lab")
    work = "a drag among 200 points to the plane redrawn"
    tests = str(ROOT / "tests" / "show" / "test_lab_browser.py")
    output = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:randomly", tests, "-k", "drag_among_200_points"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    found = re.search(r"redrawn (\d+) ms after .*, the median of (\d+)", output)
    if found is None:
        left_out(f"{work} (no chromium, or no extra `test`)")
        return
    say(work, f"{found[1]} ms, median of {found[2]}", "", "", "100 ms")
