"""Returns freed memory to the system instead of leaving it to the C library."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Return freed memory to the system; the C library would keep it for the thread that used it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)
