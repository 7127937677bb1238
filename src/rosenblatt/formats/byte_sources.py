"""Where bytes come from: paths and patterns, compressed files, pipes and standard input; detecting changed files."""

from __future__ import annotations

import bz2
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

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.formats.decimal_numbers import PADDING
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.safe_writing import os_error_message, process_name

Array = np.ndarray[Any, Any]
CHUNK_BYTES = 1 << 22
STDIN = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # written by some programs at the start of UTF-8; not part of the text
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
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npy": "npy",
    ".npz": "npz",
}
FORMATS = (*dict.fromkeys(SUFFIXES.values()), "text")
PACKED = (".gz", ".zst", ".bz2")
GLOB_PATTERN = re.compile(r"[*?\[]")
LOOKS_SVMLIGHT = re.compile(rb"[-+.\deE,]*(\s+qid:\d+)?(\s+\d+:[-+.\deE]+)*\s*(#.*)?")


def expand_paths(source: Any) -> tuple[str, ...]:
    """The paths that a path, a glob pattern or a sequence of them stands for; "-" is standard input."""
    if isinstance(source, bytes | bytearray):
        raise TypeError(f"A source must be a path as text, not as bytes: got {source!r}.")
    if isinstance(source, Sequence) and not isinstance(source, str):
        paths = tuple(path for one in source for path in expand_paths(one))
        if not paths:
            raise FileError("expected at least one file, found an empty list")
        return paths
    name = os.fspath(source)
    if name == STDIN or os.path.exists(name) or not GLOB_PATTERN.search(name):
        return (name,)
    found = tuple(sorted(glob.glob(name, recursive=True)))
    if not found:
        raise FileError("no file matches this pattern", name)
    return found


def format_by_name(path: str) -> str | None:
    """The format that the suffix of a path implies, or None."""
    return SUFFIXES.get(_suffix(path))


def _suffix(path: str) -> str:
    return Path(unpacked_name(path)).suffix.lower()


def unpacked_name(path: str) -> str:
    """The path without the suffix of a compressed file."""
    return next((path.removesuffix(one) for one in PACKED if path.endswith(one)), path)


def detect_format(path: str) -> str:
    """The format of a file, from its name or else from its first line."""
    if path == STDIN:
        return "svmlight"
    told = format_by_name(path)
    if told is not None:
        return told
    with open_bytes(path) as file:
        head = file.read(1 << 16)
    lines = head.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    lines = [line for line in lines if line.strip() and not line.startswith(b"#")]
    if not lines:
        raise FileError("expected rows, found none", path)
    if LOOKS_SVMLIGHT.fullmatch(lines[0]) or (len(head) == 1 << 16 and len(lines) == 1):
        return "svmlight"
    if b"\t" in lines[0]:
        return "text"
    raise FileError(
        f"cannot tell the format from its name or its first line: give format (--format), one of {FORMATS}", path
    )


@contextmanager
def open_bytes(path: str) -> Iterator[Any]:
    """Open a file for reading bytes, decompressed; any error while reading is raised as a FileError."""
    try:
        if path == STDIN:
            yield sys.stdin.buffer
        elif path.endswith(".gz"):
            with gzip.open(path, "rb") as unpacked:
                yield unpacked
        elif path.endswith(".bz2"):
            with bz2.open(path, "rb") as unpacked:
                yield unpacked
        elif path.endswith(".zst"):
            with open(path, "rb") as packed, io.BufferedReader(_zstd_reader(packed), CHUNK_BYTES) as unpacked:
                yield unpacked
        else:
            with open(path, "rb", buffering=0) as file:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        kind = "bzip2" if path.endswith(".bz2") else "gzip"
        raise FileError(f"expected a complete {kind} file, found a damaged one", path) from error
    except OSError as error:
        if error.errno is None and path.endswith(".bz2"):
            raise FileError("expected a complete bzip2 file, found a damaged one", path) from error
        if error.errno is None and path.endswith(".zst"):
            raise FileError("expected a complete zstd file, found a damaged one", path) from error
        raise FileError(os_error_message("read", error), path) from error


def _zstd_reader(packed: BinaryIO) -> Any:
    """The decompressed bytes of all frames of a zstd file; a truncated frame raises an OSError without errno."""
    import pyarrow  # here, because few files are packed so

    return pyarrow.CompressedInputStream(packed, "zstd")


@dataclass(frozen=True)
class LineChunk:
    """Complete lines of a file in data[:size]; the bytes after them are padding."""

    data: Array
    size: int
    line: int  # the line number of the first line


MORE_MEMORY = "is longer than memory allows: allow more memory"


def line_chunks(
    path: str, size: int = CHUNK_BYTES, longest: int | None = None, why: str = MORE_MEMORY, returns: bool = False
) -> Iterator[LineChunk]:
    """Read a file in chunks of complete lines, about `size` bytes each; every line ends with a line feed.

    A line of more than `longest` bytes is refused; `why` ends the message. With `returns`, carriage returns become line
    feeds in a file whose first line ends with one alone.
    """
    with open_bytes(path) as file:
        kept, line, last = _skip_byte_order_mark(file), 1, False
        alone = None if returns else False  # whether carriage returns end lines, once it is known
        while not last:
            buffer, used, cut, seen = enlarged(kept, kept.size + size), kept.size, 0, 0
            while not (cut or last):
                if used + size + 1 + PADDING > buffer.size:
                    buffer = enlarged(buffer[:used], 2 * used + size)  # doubled, to copy in linear time
                count = _fill(file, buffer.data[used : used + size])
                begin, used, last = used, used + count, count < size
                if alone is None:
                    begin, alone = 0, _returns_alone(buffer[:used])
                if alone:
                    buffer[begin:used][buffer[begin:used] == 13] = 10
                if last and used and buffer[used - 1] != 10:
                    buffer[used], used = 10, used + 1
                cut, seen = last_line_end(buffer, used, seen), used
                if longest is not None and used > longest and _first_line_end(buffer, used) > longest:
                    raise FileError(f"a line of more than {longest:,} bytes {why}", path, line)
            buffer[used : used + PADDING] = 0
            kept = buffer[cut:used].copy()
            if cut:
                yield LineChunk(buffer, cut, line)
                line += count_line_feeds(buffer[:cut])


def _returns_alone(data: Array) -> bool | None:
    """Whether the first line ends with a carriage return without a line feed; None if no line ends in the data."""
    ends = np.flatnonzero((data == 10) | (data == 13))[:1]
    rest = data[ends[0] :] if ends.size else data[:0]
    after = rest[rest != 13][:1]  # several carriage returns may stand before a line feed
    return bool(rest[0] == 13 and after[0] != 10) if after.size else None


def enlarged(data: Array, room: int) -> Array:
    """A larger array that begins with the data."""
    longer = np.empty(room + 1 + PADDING, np.uint8)
    longer[: data.size] = data
    return longer


def _skip_byte_order_mark(file: Any) -> Array:
    """Read the first bytes of a file; returns them, or nothing if they are a byte order mark."""
    head = bytearray(len(BYTE_ORDER_MARK))
    head = head[: _fill(file, memoryview(head))]
    return np.frombuffer(b"" if head == BYTE_ORDER_MARK else head, np.uint8)


@exactly
def count_line_feeds(data: Array) -> int:
    """The number of line feeds."""
    count = 0
    for c in data:
        count += c == 10
    return count


@exactly
def _first_line_end(data: Array, end: int) -> int:
    """The end of the first line of data[:end], which may lack its line feed."""
    at = 0
    while at < end and data[at] != 10:
        at += 1
    return at


@exactly
def last_line_end(data: Array, at: int, first: int) -> int:
    """The end of the last complete line of data[:at], or 0 if there is none; data[:first] has no line feed."""
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


# -- sources that can be read only once ------------------------------------------------------------------------------


def readable_once(path: str) -> bool:
    """Whether this can be read only once: a pipe, a terminal, a socket or standard input."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return path == STDIN
    return path == STDIN or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def cache_folder() -> Path:
    """The folder for caches and temporary copies: ROSENBLATT_CACHE, or one in the user's cache folder."""
    import platformdirs  # here, because most runs need no folder

    return Path(os.environ.get("ROSENBLATT_CACHE") or platformdirs.user_cache_dir("rosenblatt", appauthor=False))


def make_folder(folder: Path) -> Path:
    """Make a folder that only this user can read, if there is none."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(os_error_message("write", error), folder) from error
    return folder


@contextmanager
def spooled(source: Any, stdin: bool = True) -> Iterator[Any]:
    """The source, with pipes copied to temporary files while the block runs; standard input only if `stdin`."""
    paths = expand_paths(source)
    flowing = [path for path in dict.fromkeys(paths) if readable_once(path) and (stdin or path != STDIN)]
    if not flowing:
        yield source
        return
    copies: dict[str, str] = {}
    try:
        for path in flowing:
            suffix = _suffix(path) if format_by_name(path) else ""
            handle, copies[path] = tempfile.mkstemp(suffix, f"stdin-{process_name()}-", make_folder(cache_folder()))
            _copy_stream(path, handle, copies[path])
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


def _copy_stream(path: str, handle: int, name: str) -> None:
    with os.fdopen(handle, "wb") as file, open_bytes(path) as incoming:
        try:
            shutil.copyfileobj(incoming, file, CHUNK_BYTES)
        except gzip.BadGzipFile:
            raise
        except OSError as error:
            raise FileError(os_error_message("write", error), name) from error


# -- detecting changes while reading ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileStamp:
    """Metadata of a file; any change of its content changes the stamp."""

    size: int
    modified: int
    changed: int
    inode: int


def file_stamps(paths: Sequence[str]) -> tuple[FileStamp, ...]:
    """The stamp of each file."""
    found = []
    for path in paths:
        try:
            about = os.stat(path)
        except OSError as error:
            raise FileError(os_error_message("read", error), path) from error
        found.append(FileStamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino))
    return tuple(found)


def check_unchanged(paths: Sequence[str], before: Sequence[FileStamp]) -> None:
    """Refuse files that have changed since the stamps `before`."""
    for path, old in zip(paths, before, strict=True):
        try:
            (new,) = file_stamps([path])
        except FileError as error:
            raise FileError("it was removed while it was being read", path) from error
        if new != old:
            raise FileError("it changed while it was being read", path)


# -- inputs are not overwritten --------------------------------------------------------------------------------------


def refuse_overwriting_inputs(inputs: Iterable[str], outputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse outputs that are also inputs, even under another name: links share the inode."""
    read = {_inode(path): path for path in inputs}
    for path in outputs:
        inode = _inode(os.fspath(path))
        if inode is not None and inode in read:
            raise FileError(f"it would be overwritten, but it is also the input {read[inode]}: name another file", path)


def _inode(path: str) -> tuple[int, int] | None:
    """The identity of a regular file; None for anything else, such as a terminal, where nothing is overwritten."""
    try:
        about = os.fstat(sys.stdin.fileno()) if path == STDIN else os.stat(path)
    except (OSError, ValueError, AttributeError):  # standard input is closed or is not a file
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
