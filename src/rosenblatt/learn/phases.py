"""The phases of a long call, such as reading, encoding or a fold, told to whoever watches it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from numba.core import event

Watcher = Callable[[str], None]
COMPILING = "compiling machine code, which is kept for later runs"
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def phase(what: str) -> None:
    """Say what begins now; nothing if nobody watches."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what)


class _CompileListener(event.Listener):
    """Tells a watcher when machine code is compiled, and what went on before once it is done."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher, self.last, self.depth = watcher, "", 0

    def tell(self, what: str) -> None:
        self.last = what
        self.watcher(what)

    def on_start(self, event: object) -> None:
        self.depth += 1
        if self.depth == 1:
            self.watcher(COMPILING)

    def on_end(self, event: object) -> None:
        self.depth -= 1
        if not self.depth and self.last:
            self.watcher(self.last)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell this watcher the phases of what runs in the block, and when machine code is compiled in it."""
    listener = _CompileListener(watcher)
    token = _watcher.set(listener.tell)
    try:
        with event.install_listener("numba:compile", listener):
            yield
    finally:
        _watcher.reset(token)


def printed(verbose: bool) -> AbstractContextManager[None]:
    """Print phases, each with the seconds so far, to standard error if `verbose`."""
    if not verbose:
        return nullcontext()
    began = time.perf_counter()
    return watched(lambda what: print(f"{time.perf_counter() - began:6.1f} s  {what}", file=sys.stderr, flush=True))
