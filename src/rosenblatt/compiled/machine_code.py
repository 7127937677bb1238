"""`compiled`: numba with a disk cache that is invalidated by an edit of any source that a kernel may use.

numba's own cache notices an edit of the file that defines a kernel, but not of other files whose functions the kernel
inlines or whose constants it contains, and would run stale machine code. It also fails where no folder can be written
and at damaged files. `MachineCode` takes its place; its key has a hash of the kernel's file and of all files of this
package that it imports, directly or not: nothing else can be compiled into it.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import pickle
import re
import signal
import stat
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import numba
from numba import types as kinds
from numba.core import caching, compiler, event, serialize
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template, make_overload_template

# Without nnan and ninf, because NaN and infinity must propagate. Without reference counting, because compiled code
# allocates nothing, and counting the arrays of a named tuple at each call would cost more than a row's arithmetic.
# Without entry points for C, which nothing calls.
EXACT: Any = {"_nrt": False, "no_cfunc_wrapper": True}
OPTIONS: Any = {"fastmath": {"reassoc", "contract", "nsz", "arcp"}, **EXACT}

F = TypeVar("F", bound=Callable[..., Any])


# -- the key of the cache --------------------------------------------------------------------------------------------

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Parsing takes a hundred times as long; a test compares the imports of every file with those that `ast` finds.
ONLY_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+((?:rosenblatt\b|\.)[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|.*)|import[ \t]+(rosenblatt\b.*))",
    re.MULTILINE,
)


def imports(text: str, file: str) -> set[str]:
    """The files of this package that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    for origin, names, modules in IMPORT.findall(ONLY_TYPES.sub("", text)):
        if origin:
            found |= _module_files(origin, file, re.findall(r"\w+", names))
        for module in modules.split(",") if modules else ():
            found |= _module_files(module.split()[0], file, [])
    return found


def _module_files(name: str, file: str, names: list[str]) -> set[str]:
    """The files of a module and, where it is a folder, of those `names` in it that are modules."""
    inner = name.lstrip(".")
    steps = inner.split(".") if inner else []
    place = os.path.dirname(file) if name.startswith(".") else os.path.dirname(PACKAGE)
    for _ in range(len(name) - len(inner) - 1):
        place = os.path.dirname(place)
    place = os.path.join(place, *steps)
    candidates = [f"{place}.py"]
    if os.path.isdir(place):  # a stub names what its package imports when it is used
        candidates = [os.path.join(place, one) for one in ("__init__.py", "__init__.pyi")]
        for one in names:
            candidates += [os.path.join(place, f"{one}.py")]
            candidates += [os.path.join(place, one, inside) for inside in ("__init__.py", "__init__.pyi")]
    return {candidate for candidate in candidates if os.path.isfile(candidate)}


@functools.cache
def _read(file: str) -> tuple[bytes, set[str]]:
    content = Path(file).read_bytes()
    return hashlib.sha256(content).digest(), imports(content.decode(), file)


def imported_files(file: str) -> set[str]:
    """A file and all files of this package that it imports, directly or not."""
    found: set[str] = set()
    waiting = {file}
    while waiting:
        found |= waiting
        waiting = {other for one in waiting for other in _read(one)[1]} - found
    return found


@functools.cache
def _sources(files: frozenset[str]) -> str:
    """A hash of all that may be compiled into a kernel made of what is in these files."""
    digest = hashlib.sha256()
    for one in sorted({os.path.abspath(__file__)}.union(*map(imported_files, files))):
        digest.update(os.path.relpath(one, PACKAGE).encode() + b"\0" + _read(one)[0])
    return digest.hexdigest()


# -- the files of the cache --------------------------------------------------------------------------------------------


class MachineCode(caching.NullCache):
    """The machine code of one function on disk: a file for each signature, with a checksum and all it was made from.

    It is read wherever an earlier process may have put it, even if nothing can be written there, so that an image can
    be delivered with code compiled ahead. A file that is damaged, or made from something else, counts as missing. Code
    that cannot be written is compiled again by the next process.
    """

    told = False  # one warning per process

    def __init__(self, function: Callable[..., Any]) -> None:
        code, held = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
        self.function, self.source = function, os.path.abspath(code.co_filename)
        verbs = [_VERBS[one] for one in held if callable(one) and one in _VERBS]  # their files stand for them
        others = tuple(one for one in held if not (callable(one) and one in _VERBS))
        # Read now: what is compiled is the source that was imported, even if it has been edited when it is called.
        self.contents = (
            _sources(frozenset([self.source, *verbs])),
            hashlib.sha256(code.co_code).hexdigest(),
            hashlib.sha256(serialize.dumps(others)).hexdigest(),  # type: ignore[no-untyped-call]
        )

    @functools.cached_property
    def folders(self) -> list[str]:
        """Where the machine code may be, as numba has it. It is written to the last one."""
        kinds: list[Any] = [caching.InTreeCacheLocator, caching.UserWideCacheLocator]
        if numba.config.CACHE_DIR:  # type: ignore[attr-defined]
            kinds.insert(0, caching.UserProvidedCacheLocator)
        found: list[str] = []
        for kind in kinds:
            locator = kind(self.function, self.source)
            folder = locator.get_cache_path()
            if kind is caching.UserWideCacheLocator and not os.path.isabs(folder):
                continue  # without a home it would be below the working folder, where others may have put files
            found.append(folder)
            with suppress(OSError):
                locator.ensure_cache_path()
                return found
        private = private_folder()
        return [*found, os.path.join(private, locator.get_suitable_cache_subpath(self.source))] if private else found

    @property
    def cache_path(self) -> str:
        """Where machine code is written."""
        return self.folders[-1]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature; None if there is none."""
        target_context.refresh()
        name, made_for = self._entry(sig, target_context.codegen())
        for folder in self.folders:
            path = os.path.join(folder, name)
            try:
                content = Path(path).read_bytes()
            except OSError:
                continue
            try:
                found = _verified(content, made_for)
                if found is not None:
                    return compiler.CompileResult._rebuild(target_context, *found)  # type: ignore[no-untyped-call]
            except Exception:  # damaged, or it names classes that another version of this package has
                with suppress(OSError):
                    os.unlink(path)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function for later processes, if that is possible."""
        if data.library.has_dynamic_globals:  # addresses in this process
            return
        name, made_for = self._entry(sig, data.codegen)
        body = serialize.dumps((made_for, serialize.dumps(data._reduce())))  # type: ignore[no-untyped-call]
        path = os.path.join(self.cache_path, name)
        temporary = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
        try:
            os.makedirs(self.cache_path, exist_ok=True)
            try:
                Path(temporary).write_bytes(hashlib.sha256(body).digest() + body)
                os.replace(temporary, path)
            finally:
                with suppress(OSError):
                    os.unlink(temporary)
        except FileNotFoundError:  # another process is removing the folder
            pass
        except OSError as error:
            self._tell(f"cannot be kept in {self.cache_path} ({error.strerror}), and every process compiles again")
        else:
            if os.path.dirname(self.cache_path) == private_folder():
                self._tell(f"is kept in {self.cache_path}, because no other folder can be written")

    def _entry(self, sig: Any, codegen: Any) -> tuple[str, tuple[Any, ...]]:
        """The name of the file for a signature, and all that its machine code is made for and from."""
        made_for = (sig, codegen.magic_tuple(), numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]
        which = hashlib.sha256(repr(made_for).encode()).hexdigest()[:16]
        place = f"{Path(self.source).stem}.{self.function.__qualname__}-{self.function.__code__.co_firstlineno}"
        name = f"{re.sub('<locals>[.]|[<>]', '', place)}.{sys.implementation.cache_tag}.{which}.nbc"
        return name, (numba.__version__, *made_for, *self.contents)

    @staticmethod
    def _tell(what: str) -> None:
        if not MachineCode.told:
            MachineCode.told = True
            warnings.warn(
                f"compiled code {what}. Set the environment variable NUMBA_CACHE_DIR to a folder that lasts.",
                RuntimeWarning,
                stacklevel=2,
            )


def _verified(content: bytes, made_for: tuple[Any, ...]) -> Any:
    """What a file holds, if it was made for the same; ValueError if it is damaged."""
    size = hashlib.sha256().digest_size
    if hashlib.sha256(content[size:]).digest() != content[:size]:
        raise ValueError("damaged")
    made, body = pickle.loads(content[size:])
    return pickle.loads(body) if made == made_for else None


def private_folder() -> str | None:
    """A folder in the temporary one to which nobody else can write, because machine code is run from it."""
    try:
        shared = tempfile.gettempdir()
        if not hasattr(os, "geteuid"):
            return os.path.join(shared, "rosenblatt")  # the temporary folder of Windows is the user's own
        folder = os.path.join(shared, f"rosenblatt-{os.geteuid()}")
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        around, found = os.stat(shared), os.lstat(folder)
    except OSError:
        return None
    # Its owner can rename what is in it, and others too where they can write and no sticky bit stops them.
    renamed_by_others = around.st_uid not in (0, os.geteuid()) or (
        around.st_mode & 0o022 and not around.st_mode & stat.S_ISVTX
    )
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return folder if ours and not renamed_by_others else None


# -- numba -------------------------------------------------------------------------------------------------------------


class Attention(event.Listener):
    """Keeps a Ctrl-C that arrives during compilation, and the garbage collector away from it.

    Ctrl-C may arrive inside an LLVM callback, which drops exceptions: a dropped one is raised when compilation ends.
    Numba makes so many objects that the collector would search all of the program's again and again, in vain, for a
    tenth of the time.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.before: Any = None
        self.dropped: BaseException | None = None
        self.collects = False

    def on_start(self, event: Any) -> None:
        """Compilation starts; calls may be nested."""
        if threading.current_thread() is threading.main_thread():  # other threads get no signals
            self.depth += 1
            if self.depth == 1:
                self.collects = gc.isenabled()
                gc.disable()
            if self.depth == 1 and callable(signal.getsignal(signal.SIGINT)):
                self.before = signal.signal(signal.SIGINT, self._note)

    def on_end(self, event: Any) -> None:
        """Compilation ends."""
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()
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


def _cached(function: F, options: dict[str, Any]) -> F:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    dispatcher = numba.njit(nogil=True, **options)(function)
    if os.path.isfile(function.__code__.co_filename):  # it isn't if the function was typed at a prompt
        dispatcher._cache = MachineCode(function)
    return dispatcher  # type: ignore[no-any-return]


def compiled(function: F) -> F:
    """Compile on first call, keep the machine code on disk, release the GIL while it runs."""
    return _cached(function, OPTIONS)


def direct(function: Callable[..., Any], *like: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of the types of `like`, not chosen again in each call.

    The choice takes ten times as long as the call. The caller answers for the types of later arguments.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    made: Any = function
    types = tuple(map(numba.typeof, like))
    made.compile(types)
    entry: Callable[..., Any] = made.overloads[types].entry_point
    return entry


def vectorised(function: F) -> F:
    """Like `compiled`, but a division by 0 gives infinity or NaN: the check for an error would prevent vector code."""
    return _cached(function, {**OPTIONS, "error_model": "numpy"})


_VERBS: dict[Callable[..., Any], str] = {}  # the file in which each verb was made


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
        template.generic = _typed_once(template.generic)
    infer(template)  # type: ignore[no-untyped-call]
    infer_global(choose, kinds.Function(template))  # type: ignore[no-untyped-call]
    _VERBS[choose] = os.path.abspath(sys._getframe(1).f_code.co_filename)
    return choose


def intrinsic_of(plain: Callable[..., Any]) -> Callable[[F], F]:
    """A decorator, like `numba.extending.intrinsic`, for what a plain function is in compiled code."""

    def register(define: F) -> F:
        template: Any = make_intrinsic_template(plain, define, plain.__name__)  # type: ignore[no-untyped-call]
        infer(template)  # type: ignore[no-untyped-call]
        infer_global(plain, kinds.Function(template))  # type: ignore[no-untyped-call]
        return define

    return register


def _typed_only(template: Any) -> Callable[..., Any]:  # pragma: no cover
    """Like `numba.jit`, for a function that is always inlined: numba would compile it on its own and never call it."""

    def jit(**options: Any) -> Callable[..., Any]:
        def dispatcher(function: Callable[..., Any]) -> Any:
            made = numba.jit(**options)(function)
            made._can_compile = False
            return made

        return dispatcher

    return jit


def _typed_once(typed: Callable[..., Any]) -> Callable[..., Any]:  # pragma: no cover
    """`typed`, once for each types of arguments: numba would translate an inlined body at each attempt to type a call.

    A body within a body is tried several times for each attempt, so that a row's prefetch was translated 42 times.
    """
    found: dict[Any, Any] = {}

    def generic(template: Any, args: Any, kws: Any) -> Any:
        key = args, tuple(sorted(kws.items()))
        if key not in found:
            found[key] = typed(template, args, kws)
        return found[key]

    return generic


def callee(function: F) -> F:
    """Compile for compiled code that calls it, with no entry point for Python, whose calls run it as it is written.

    The entry point would take longer to compile than a small function, and to keep it on disk longer still.
    """
    options = {**OPTIONS, "no_cpython_wrapper": True, "nopython": True}
    template: Any = make_overload_template(function, lambda *_: function, options, False, "never")  # type: ignore[no-untyped-call]
    infer(template)  # type: ignore[no-untyped-call]
    infer_global(function, kinds.Function(template))  # type: ignore[no-untyped-call]
    _VERBS[function] = os.path.abspath(function.__code__.co_filename)
    return function


def exactly(function: F) -> F:
    """Like `compiled`, but every operation is rounded as written: for code in which the last bit matters."""
    return _cached(function, EXACT)
