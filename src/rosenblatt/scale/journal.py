"""The journal of a stream: checkpoints with their position, and how far the stream was read since the last one.

A folder with, per checkpoint, a model file and a file of the position, which is written last and makes it complete. The
number of rows read so far is in a memory-mapped file, which survives the end of the process.
"""

from __future__ import annotations

import json
import mmap
import struct
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from rosenblatt.formats.errors import FileError
from rosenblatt.formats.safe_writing import os_error_message, replace_atomically
from rosenblatt.model_files.save_and_load import load, save
from rosenblatt.scale.checkpoints import check_same_training

KEPT = 2  # checkpoints, so that there is one if the last cannot be read
COUNTS = ("rows", "learned", "mistakes", "skipped")


class Journal:
    """The checkpoints of a stream, in a folder that is made if it does not exist."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.folder / "rows-read", "ab") as file:
                if file.tell() < 8:
                    file.write(bytes(8 - file.tell()))
            with open(self.folder / "rows-read", "r+b") as file:
                self._read = mmap.mmap(file.fileno(), 8)
        except OSError as error:
            raise FileError(os_error_message("write", error), self.folder) from error

    def note(self, rows: int) -> None:
        """So many rows were read."""
        struct.pack_into("<q", self._read, 0, rows)

    @property
    def rows_read(self) -> int:
        """The rows that the last process read."""
        return int(struct.unpack_from("<q", self._read, 0)[0])

    def write(self, model: Any, position: dict[str, Any]) -> None:
        """Write a checkpoint: the model, and the position of the stream."""
        name = f"{position['rows']:016d}"
        save(model, self.folder / f"{name}.model")
        with replace_atomically(self.folder / f"{name}.json") as file:
            file.write(json.dumps(position).encode())
        kept = {path.stem for path in self._positions()[-KEPT:]}
        for path in self.folder.glob("[0-9]*.*"):  # with what a kill or a full disk left without its position
            if path.stem not in kept:
                with suppress(OSError):
                    path.unlink()

    def latest(self, estimator: Any) -> tuple[Any, dict[str, Any]] | None:
        """The model and the position of the last checkpoint; None if there is none. The settings must be the same."""
        damage = None
        for path in reversed(self._positions()):
            try:
                position = _checked(json.loads(path.read_bytes()))
                model = load(path.with_suffix(".model"))
            except (OSError, ValueError, FileError) as error:
                damage = damage or error
                continue
            try:
                check_same_training(estimator, model)
            except FileError as error:
                raise FileError(f"{error.what.partition(':')[0]}: give another folder", path) from error
            return model, position
        if damage is not None:
            raise FileError(f"no checkpoint of the journal can be read: {damage}", self.folder) from damage
        return None

    def _positions(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.json"))


def _checked(position: Any) -> dict[str, Any]:
    """The position of a checkpoint, as `write` leaves it."""
    good = isinstance(position, dict) and position.keys() == {*COUNTS, "features", "counts"}
    if not (good and all(isinstance(position[name], int) for name in COUNTS) and isinstance(position["counts"], list)):
        raise ValueError("it is not a position in a stream")
    return dict(position)
