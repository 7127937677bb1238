"""Writing so that neither a kill nor a full disk leaves half a file or spoils the one that was there."""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rosenblatt.data.errors import FileError


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which takes the name `path` when the block ends well; until then nothing there changes."""
    target = Path(path)
    # Two threads may write the same file, as two processes may: the last whole one stays.
    temporary = target.with_name(f".{target.name}.{_host()}-{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        _sweep_up(target)
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise FileError(cannot("write", error), target) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def cannot(verb: str, error: OSError) -> str:
    """What went wrong with a file, in words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"cannot {verb} it: there is no room left on the disk (what was there before is as it was)"
    reason = error.strerror or str(error)
    return f"cannot {verb} it: {reason[:1].lower()}{reason[1:]}"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", socket.gethostname()) or "here"


def _sweep_up(target: Path) -> None:
    """Remove what writers of this file on this machine left when they were killed."""
    prefix = f".{target.name}.{_host()}-"
    for name in os.listdir(target.parent):
        pid = name[len(prefix) : -len(".tmp")].partition(".")[0]
        if name.startswith(prefix) and name.endswith(".tmp") and pid.isdigit() and not _alive(int(pid)):
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
