"""Checkpoints: a model file after each epoch, from which an interrupted training goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from rosenblatt.data.errors import FileError
from rosenblatt.estimators.files import load, save


@dataclass(frozen=True)
class Checkpoint:
    """Where a training is saved after each epoch, and what an earlier one has left there."""

    path: Path | None = None
    earlier: Any = None

    @classmethod
    def at(cls, path: str | PathLike[str] | None, resume: bool) -> Checkpoint:
        """The checkpoint at this path; with `resume`, to go on from, if it is there."""
        if path is None:
            if resume:
                raise ValueError("resume needs to know the checkpoint.")
            return cls()
        path = Path(path)
        return cls(path, load(path) if resume and path.exists() else None)

    @property
    def save(self) -> Callable[[Any], None] | None:
        """Writes an estimator, where it is asked for."""
        return None if self.path is None else partial(_save, self.path)

    @property
    def epochs(self) -> int:
        """Epochs made before."""
        return 0 if self.earlier is None else len(self.earlier.report_.epochs)

    @contextmanager
    def named(self) -> Iterator[None]:
        """What is wrong with the checkpoint is said with its path."""
        try:
            yield
        except FileError as error:
            if self.earlier is None or error.path is not None:
                raise
            raise FileError(error.what, self.path) from error


def _save(path: Path, estimator: Any) -> None:
    save(estimator, path)
