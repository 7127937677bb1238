"""Memory that was freed goes back to the system, not to the C library's reserve."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Give the system the memory that was freed, which the C library keeps for each thread that had some."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)
