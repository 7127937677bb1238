"""Where bytes come from: files, many files, compressed files, standard input; and whether they are still the same."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rosenblatt.compiling import exactly
from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.decimal_numbers import PADDING
from rosenblatt.data.safe_writing import cannot

Array = np.ndarray[Any, Any]
CHUNK = 1 << 22
STDIN = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # with which some programs begin UTF-8; it is no part of the text
SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "text")
PATTERN = re.compile(r"[*?\[]")
LOOKS_SVMLIGHT = re.compile(rb"[-+.\deE,]*(\s+qid:\d+)?(\s+\d+:[-+.\deE]+)*\s*(#.*)?")


def expand(source: Any) -> tuple[str, ...]:
    """The paths that a path, a pattern or a sequence of paths stands for; "-" is standard input."""
    if isinstance(source, bytes | bytearray):
        raise TypeError(f"A source is a path as text, not as bytes: got {source!r}.")
    if isinstance(source, Sequence) and not isinstance(source, str):
        paths = tuple(path for one in source for path in expand(one))
        if not paths:
            raise FileError("expected at least one file, found an empty list")
        return paths
    name = os.fspath(source)
    if name == STDIN or os.path.exists(name) or not PATTERN.search(name):
        return (name,)
    found = tuple(sorted(glob.glob(name, recursive=True)))
    if not found:
        raise FileError("no file has a name like this", name)
    return found


def by_name(path: str) -> str | None:
    """The format that the name of a file tells, or None."""
    return SUFFIXES.get(_suffix(path))


def _suffix(path: str) -> str:
    return Path(path.removesuffix(".gz").removesuffix(".zst")).suffix.lower()


def detect(path: str) -> str:
    """The format of a file, by its name or else by its first line."""
    if path == STDIN:
        return "svmlight"
    told = by_name(path)
    if told is not None:
        return told
    with opened(path) as file:
        head = file.read(1 << 16)
    lines = head.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    lines = [line for line in lines if line.strip() and not line.startswith(b"#")]
    if not lines:
        raise FileError("expected rows, found none", path)
    if LOOKS_SVMLIGHT.fullmatch(lines[0]) or (len(head) == 1 << 16 and len(lines) == 1):
        return "svmlight"
    if b"\t" in lines[0]:
        return "text"
    raise FileError(f"the format cannot be told from its name or first line: pass format, one of {FORMATS}", path)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """The bytes of a file, decompressed; whatever goes wrong in reading them is a FileError."""
    try:
        if path == STDIN:
            yield sys.stdin.buffer
        elif path.endswith(".gz"):
            with gzip.open(path, "rb") as unpacked:
                yield unpacked
        elif path.endswith(".zst"):
            with open(path, "rb") as packed, io.BufferedReader(_zst(packed, path), CHUNK) as unpacked:
                yield unpacked
        else:
            with open(path, "rb", buffering=0) as file:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError("expected a whole gzip file, found a damaged one", path) from error
    except OSError as error:
        if error.errno is None and path.endswith(".zst"):
            raise FileError("expected a whole zstd file, found a damaged one", path) from error
        raise FileError(cannot("read", error), path) from error


def _zst(packed: BinaryIO, path: str) -> Any:
    """The bytes within a zstd file, all of its frames; a frame that is cut short is an OSError without a number."""
    try:
        import pyarrow
    except ImportError as error:
        raise FileError("reading .zst needs PyArrow: pip install 'rosenblatt[arrow]'", path) from error
    return pyarrow.CompressedInputStream(packed, "zstd")


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file: data[:size], then bytes that say nothing."""

    data: Array
    size: int
    line: int  # the number of the first one


def chunks(path: str, size: int = CHUNK, longest: int | None = None) -> Iterator[Chunk]:
    """The lines of a file, about `size` bytes at a time, each line ending with a line feed.

    A line of more than `longest` bytes is refused.
    """
    with opened(path) as file:
        kept, line, last = _begin(file), 1, False
        while not last:
            buffer, used, cut, seen = _longer(kept, kept.size + size), kept.size, 0, 0
            while not (cut or last):
                if used + size + 1 + PADDING > buffer.size:
                    buffer = _longer(buffer[:used], 2 * used + size)  # twice as long, so that few bytes move often
                count = _fill(file, buffer.data[used : used + size])
                used, last = used + count, count < size
                if last and used and buffer[used - 1] != 10:
                    buffer[used], used = 10, used + 1
                cut, seen = _last_end(buffer, used, seen), used
                if longest is not None and used > longest and _first_end(buffer, used) > longest:
                    what = f"a line of more than {longest:,} bytes is longer than this memory allows: allow more memory"
                    raise FileError(what, path, line)
            buffer[used : used + PADDING] = 0
            kept = buffer[cut:used].copy()
            if cut:
                yield Chunk(buffer, cut, line)
                line += line_ends(buffer[:cut])


def _longer(data: Array, room: int) -> Array:
    """The data at the beginning of a longer array."""
    longer = np.empty(room + 1 + PADDING, np.uint8)
    longer[: data.size] = data
    return longer


def _begin(file: Any) -> Array:
    """The first bytes of a file; none where they are a byte order mark."""
    head = bytearray(len(BYTE_ORDER_MARK))
    head = head[: _fill(file, memoryview(head))]
    return np.frombuffer(b"" if head == BYTE_ORDER_MARK else head, np.uint8)


@exactly
def line_ends(data: Array) -> int:
    """How many line feeds there are."""
    count = 0
    for c in data:
        count += c == 10
    return count


@exactly
def _first_end(data: Array, end: int) -> int:
    """Where the first line of data[:end] ends, with its line feed or without."""
    at = 0
    while at < end and data[at] != 10:
        at += 1
    return at


@exactly
def _last_end(data: Array, at: int, first: int) -> int:
    """Where the last whole line of data[:at] ends, 0 where none does; there is none in data[:first]."""
    while at > first and data[at - 1] != 10:
        at -= 1
    return at if at > first else 0


def _fill(file: Any, room: memoryview) -> int:
    done = 0
    while done < len(room):
        count = file.readinto(room[done:])
        if not count:
            break
        done += count
    return done


# -- what can be read only once --------------------------------------------------------------------------------------


def flows(path: str) -> bool:
    """Whether what was read of it is gone: a pipe, a terminal, a socket, standard input."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return path == STDIN
    return path == STDIN or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def cache_folder() -> Path:
    """A folder for caches and for what must be kept for a while: ROSENBLATT_CACHE, or one among the user's caches."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("ROSENBLATT_CACHE") or Path(base) / "rosenblatt")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(cannot("write", error), folder) from error
    return folder


@contextmanager
def spooled(source: Any, stdin: bool = True) -> Iterator[Any]:
    """The source, with what flows copied to files for as long as it is needed; standard input only if asked."""
    paths = expand(source)
    flowing = [path for path in dict.fromkeys(paths) if flows(path) and (stdin or path != STDIN)]
    if not flowing:
        yield source
        return
    copies: dict[str, str] = {}
    try:
        for path in flowing:
            suffix = _suffix(path) if by_name(path) else ""
            handle, copies[path] = tempfile.mkstemp(suffix, "stdin-", cache_folder())
            _copy(path, handle, copies[path])
        try:
            yield [copies.get(path, path) for path in paths]
        except FileError as error:
            name = next((path for path, copy in copies.items() if copy == error.path), None)
            if name is None:
                raise
            raise type(error)(error.what, name, error.line, error.column) from error
    finally:
        for copy in copies.values():
            for left in Path(copy).parent.glob(f"{Path(copy).name}*"):
                with suppress(OSError):
                    left.unlink()


def _copy(path: str, handle: int, name: str) -> None:
    with os.fdopen(handle, "wb") as file, opened(path) as incoming:
        try:
            shutil.copyfileobj(incoming, file, CHUNK)
        except gzip.BadGzipFile:
            raise
        except OSError as error:
            raise FileError(cannot("write", error), name) from error


# -- the same file still ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stamp:
    """What the system knows of a file; any change of its content changes the stamp."""

    size: int
    modified: int
    changed: int
    inode: int


def stamps(paths: Sequence[str]) -> tuple[Stamp, ...]:
    """The stamps of these files."""
    found = []
    for path in paths:
        try:
            about = os.stat(path)
        except OSError as error:
            raise FileError(cannot("read", error), path) from error
        found.append(Stamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino))
    return tuple(found)


def unchanged(paths: Sequence[str], before: Sequence[Stamp]) -> None:
    """Refuse files that changed since `before`."""
    for path, old in zip(paths, before, strict=True):
        try:
            (new,) = stamps([path])
        except FileError as error:
            raise FileError("it vanished while it was read", path) from error
        if new != old:
            raise FileError("it changed while it was read", path)


# -- what is read is not overwritten ---------------------------------------------------------------------------------


def spare_inputs(inputs: Iterable[str], outputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write to a file that is read, under whatever name: links lead to the same inode."""
    read = {_inode(path): path for path in inputs}
    for path in outputs:
        inode = _inode(os.fspath(path))
        if inode is not None and inode in read:
            raise FileError(f"it would be overwritten, and it is read as {read[inode]}: name another file", path)


def _inode(path: str) -> tuple[int, int] | None:
    """Which file this is; None where it is none: two ends of a terminal are the same device, and lose nothing."""
    try:
        about = os.fstat(sys.stdin.fileno()) if path == STDIN else os.stat(path)
    except (OSError, ValueError, AttributeError):  # a standard input that is closed, or stands for no file
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
