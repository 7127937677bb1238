"""The caches that training from large files left in the cache folder: what they are, and removing them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rosenblatt.formats.byte_sources import cache_folder, file_stamps
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.safe_writing import left_behind, os_error_message
from rosenblatt.scale.row_cache import MAGIC, SUFFIX, load_cache


@dataclass(frozen=True)
class CacheFile:
    """A file in the cache folder that this package wrote."""

    path: Path
    bytes: int
    sources: tuple[str, ...]  # the files that it is a copy of; empty if that is not known
    state: str


def cache_files() -> list[CacheFile]:
    """The caches in the cache folder, and files that killed runs left there; other programs' files are not listed."""
    folder, found = cache_folder(), []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink() or not path.is_file():
            continue
        if left_behind(path.name):
            found.append(CacheFile(path, path.stat().st_size, (), "left by a run that was killed"))
        elif path.suffix == SUFFIX and _is_ours(path):
            found.append(CacheFile(path, path.stat().st_size, *_state(path)))
    return found


def _is_ours(path: Path) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _state(path: Path) -> tuple[tuple[str, ...], str]:
    """The files that a cache is a copy of, and whether they have changed since."""
    try:
        footer = load_cache(path)[1]
        sources = tuple(str(one) for one in footer["paths"])
    except FileError:
        return (), "damaged"
    if not all(os.path.exists(one) for one in sources):
        return sources, "the file is gone"
    changed = footer["racy"] or footer["stamps"] != list(file_stamps(sources))
    return sources, "out of date" if changed else "up to date"


def named(files: Iterable[CacheFile], names: Iterable[str]) -> list[CacheFile]:
    """The caches with these names: the name of the cache itself, or the path of a file that it is a copy of."""
    files, wanted = list(files), []
    for name in names:
        found = [one for one in files if name == one.path.name or os.path.abspath(name) in one.sources]
        if not found:
            raise FileError("there is no cache of this name, and none of a file of this name", name)
        wanted += found
    return list(dict.fromkeys(wanted))


def remove(files: Iterable[CacheFile]) -> None:
    """Remove these files."""
    for one in files:
        try:
            one.path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(os_error_message("remove", error), one.path) from error
