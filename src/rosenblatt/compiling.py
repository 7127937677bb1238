"""`compiled`: numba with a disk cache that is invalidated by an edit of any compiled source.

numba's own cache notices an edit of the file that defines a kernel, but not of other files whose functions the kernel
inlines, and would run stale machine code. It does include the values of a function's closure in the cache key, so
`compiled` gives each function one more closure cell. The cell holds a hash of every source that may be compiled, and
of whether compiled code checks array bounds (NUMBA_BOUNDSCHECK).
"""

from __future__ import annotations

import hashlib
import signal
import threading
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import numba
from numba import types as kinds
from numba.core import caching, event
from numba.core.typing.templates import infer, infer_global, make_overload_template

# Without nnan and ninf, because NaN and infinity must propagate. Without reference counting, because compiled code
# allocates nothing, and counting the arrays of a named tuple at each call would cost more than a row's arithmetic.
# Without entry points for C, which nothing calls.
EXACT: Any = {"_nrt": False, "no_cfunc_wrapper": True}
OPTIONS: Any = {"fastmath": {"reassoc", "contract", "nsz", "arcp"}, **EXACT}

F = TypeVar("F", bound=Callable[..., Any])


def _fingerprint() -> int:
    package = Path(__file__).resolve().parent
    digest = hashlib.sha256(repr(numba.config.BOUNDSCHECK).encode())  # type: ignore[attr-defined]
    for room in ("compiling.py", "data", "learn", "prove"):
        for source in sorted([package / room, *(package / room).rglob("*.py")]):
            if source.is_file():
                digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return int.from_bytes(digest.digest()[:8], "big")


SOURCES = _fingerprint()


def _keyed(function: Callable[..., Any]) -> Callable[..., Any]:
    code = function.__code__
    keyed = types.FunctionType(
        code.replace(co_freevars=(*code.co_freevars, "__sources__")),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        (*(function.__closure__ or ()), types.CellType(SOURCES)),
    )
    keyed.__module__, keyed.__qualname__, keyed.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return keyed


class Attention(event.Listener):
    """Keeps a Ctrl-C that arrives during compilation.

    It may arrive inside an LLVM callback, which drops exceptions: a dropped one is raised when compilation ends.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.before: Any = None
        self.dropped: BaseException | None = None

    def on_start(self, event: Any) -> None:
        """Compilation starts; calls may be nested."""
        if threading.current_thread() is threading.main_thread():  # other threads get no signals
            self.depth += 1
            if self.depth == 1 and callable(signal.getsignal(signal.SIGINT)):
                self.before = signal.signal(signal.SIGINT, self._note)

    def on_end(self, event: Any) -> None:
        """Compilation ends."""
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and self.before is not None:
                signal.signal(signal.SIGINT, self.before)
                self.before, error, self.dropped = None, self.dropped, None
                if error is not None:
                    raise error

    def _note(self, number: int, frame: Any) -> None:
        try:
            self.before(number, frame)
        except BaseException as error:
            self.dropped = error
            raise


event.register("numba:compiler_lock", Attention())  # type: ignore[no-untyped-call]


class _IndexFile(caching.IndexDataCacheFile):
    """A cache index on disk that counts as empty if it cannot be read.

    It refers to classes by name: an index written by another version of this package may name some that are gone.
    """

    def _load_index(self) -> Any:
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except Exception:
            return {}


def _cached(function: F, options: dict[str, Any]) -> F:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    dispatcher = numba.njit(cache=True, nogil=True, **options)(_keyed(function))
    dispatcher._cache._cache_file.__class__ = _IndexFile
    return dispatcher  # type: ignore[no-any-return]


def compiled(function: F) -> F:
    """Compile on first call, keep the machine code on disk, release the GIL while it runs."""
    return _cached(function, OPTIONS)


def vectorised(function: F) -> F:
    """Like `compiled`, but a division by 0 gives infinity or NaN: the check for an error would prevent vector code."""
    return _cached(function, {**OPTIONS, "error_model": "numpy"})


def verb(bodies: Mapping[type, Callable[..., Any]], inline: Literal["never", "always"] = "never") -> Callable[..., Any]:
    """A function with one body per class of its first argument, which is a named tuple.

    Compiled code chooses the body at compile time, plain Python at each call.
    """

    def choose(first: Any, *others: Any) -> Any:
        return bodies[type(first)](first, *others)

    def compiled_body(first: Any, *others: Any) -> Any:  # pragma: no cover
        named = isinstance(first, kinds.BaseNamedTuple)
        return bodies.get(first.instance_class) if named else None

    options = {**OPTIONS, "no_cpython_wrapper": True, "nopython": True}
    template: Any = make_overload_template(choose, compiled_body, options, False, inline)  # type: ignore[no-untyped-call]
    if inline == "always":
        template._get_jit_decorator = _typed_only
    infer(template)  # type: ignore[no-untyped-call]
    infer_global(choose, kinds.Function(template))  # type: ignore[no-untyped-call]
    return choose


def _typed_only(template: Any) -> Callable[..., Any]:  # pragma: no cover
    """Like `numba.jit`, for a function that is always inlined: numba would compile it on its own and never call it."""

    def jit(**options: Any) -> Callable[..., Any]:
        def dispatcher(function: Callable[..., Any]) -> Any:
            made = numba.jit(**options)(function)
            made._can_compile = False
            return made

        return dispatcher

    return jit


def exactly(function: F) -> F:
    """Like `compiled`, but every operation is rounded as written: for code in which the last bit matters."""
    return _cached(function, EXACT)
