"""Writing so that neither a kill nor a full disk leaves half a file or spoils the one that was there."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rosenblatt.data.errors import FileError


@contextmanager
def replaced(path: str | os.PathLike[str], follow: bool = False) -> Iterator[BinaryIO]:
    """A file to write, which takes the name `path` when the block ends well; until then nothing there changes.

    It gets the mode of the file that it replaces. Where `path` is a symbolic link, `follow` replaces the file that the
    link names; else the link itself is replaced, so that nobody who plants one chooses what is overwritten.
    """
    temporary = None
    try:
        target = Path(os.path.realpath(path) if follow else os.path.abspath(path))
        mode = _mode(target)
        _sweep_up(target)
        with _created(target, 0o666 if mode is None else mode) as file:
            temporary = file.name
            if mode is not None:
                os.chmod(temporary, mode)  # what the umask took away
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise FileError(cannot("write", error), path) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _mode(target: Path) -> int | None:
    """The permissions of the file that stands there; None where there is none, or a link that will be replaced."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "this is a device, a pipe or a socket, name a file")
    return found & 0o777


def _created(target: Path, mode: int) -> BinaryIO:
    """A new file beside the target, which nobody can read who may not read the target.

    Two threads may write the same target, as two processes may: the last whole one stays.
    """
    while True:
        name = f"{_prefix(target)}{os.getpid()}.{secrets.token_hex(4)}.tmp"
        with suppress(FileExistsError):
            return open(target.with_name(name), "xb", opener=lambda where, flags: os.open(where, flags, mode))


def _prefix(target: Path) -> str:
    """How temporary names for the target begin on this machine, short however long its own name is."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    host = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:40] or "here"
    return f".rosenblatt-{digest}.{host}-"


def cannot(verb: str, error: OSError) -> str:
    """What went wrong with a file, in words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"cannot {verb} it: there is no room left on the disk (what was there before is as it was)"
    reason = error.strerror or str(error)
    return f"cannot {verb} it: {reason[:1].lower()}{reason[1:]}"


def _sweep_up(target: Path) -> None:
    """Remove what writers of this file on this machine left when they were killed."""
    ours = re.compile(re.escape(_prefix(target)) + r"([0-9]{1,9})\.[0-9a-f]{8}\.tmp")
    for name in os.listdir(target.parent):
        found = ours.fullmatch(name)
        if found and not _alive(int(found[1])):
            with suppress(OSError):
                (target.parent / name).unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
