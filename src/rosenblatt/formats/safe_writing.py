"""Atomic writing: neither a kill nor a full disk leaves half a file or damages the existing one."""

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

from rosenblatt.formats.errors import FileError

LEFT_BEHIND = re.compile(
    r"(?:\.rosenblatt-[0-9a-f]{16}\.|stdin-|table-)([A-Za-z0-9]+)-([0-9]{1,9})(?:\.[0-9a-f]{8}\.tmp|-.+)"
)


@contextmanager
def replace_atomically(path: str | os.PathLike[str], follow: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file for writing that replaces `path` if the block succeeds; until then `path` is unchanged.

    The new file gets the mode of the one it replaces. If `path` is a symbolic link, `follow` replaces the target of the
    link; otherwise the link itself is replaced, so that a planted link cannot redirect the write.
    """
    temporary = None
    try:
        target = Path(os.path.realpath(path) if follow else os.path.abspath(path))
        mode = _existing_mode(target)
        _remove_stale_temporaries(target)
        with _create_temporary(target, 0o666 if mode is None else mode) as file:
            temporary = file.name
            if mode is not None:
                os.chmod(temporary, mode)  # restore the bits that the umask removed
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise FileError(os_error_message("write", error), path) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _existing_mode(target: Path) -> int | None:
    """The permissions of the existing file; None if there is none, or a link that will be replaced."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket; name a regular file")
    return found & 0o777


def _create_temporary(target: Path, mode: int) -> BinaryIO:
    """Create a file next to the target, with permissions no wider than the target's.

    Threads and processes may write the same target at the same time: each write is complete, and the last one wins.
    """
    while True:
        name = f"{_temporary_prefix(target)}{process_name()}.{secrets.token_hex(4)}.tmp"
        with suppress(FileExistsError):
            return open(target.with_name(name), "xb", opener=lambda where, flags: os.open(where, flags, mode))


def _temporary_prefix(target: Path) -> str:
    """The prefix of the target's temporary files; short even if the target's name is long."""
    return f".rosenblatt-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}."


def process_name() -> str:
    """The machine and the number of this process, as part of the name of a temporary file."""
    return f"{_host()}-{os.getpid()}"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:40] or "here"


def os_error_message(verb: str, error: OSError) -> str:
    """The message for a file that cannot be read or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"cannot {verb} it: there is no space left on the disk (an existing file is unchanged)"
    reason = error.strerror or str(error)
    return f"cannot {verb} it: {reason[:1].lower()}{reason[1:]}"


def _remove_stale_temporaries(target: Path) -> None:
    """Remove temporary files that killed writers of this target left on this machine."""
    for name in os.listdir(target.parent):
        if name.startswith(_temporary_prefix(target)) and left_behind(name):
            with suppress(OSError):
                (target.parent / name).unlink()


def left_behind(name: str) -> bool:
    """Whether this is the name of a temporary file of a process of this machine that no longer runs."""
    found = LEFT_BEHIND.fullmatch(name)
    return found is not None and found[1] == _host() and not _is_running(int(found[2]))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power failure, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
