"""Checkpoints: a model file after each epoch, from which an interrupted training is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from rosenblatt.formats.errors import FileError
from rosenblatt.model_files.encoding import Arrays, encode
from rosenblatt.model_files.save_and_load import load, save
from rosenblatt.shell.fitted import fitted


@dataclass(frozen=True)
class Checkpoint:
    """Where training is saved after each epoch, and the model that an earlier run saved there."""

    path: Path | None = None
    earlier: Any = None

    @classmethod
    def at(cls, path: str | PathLike[str] | None, resume: bool) -> Checkpoint:
        """The checkpoint at this path; with `resume`, its model is loaded if it exists."""
        if path is None:
            if resume:
                raise ValueError("resume needs a checkpoint: give its path.")
            return cls()
        path = Path(path)
        return cls(path, load(path) if resume and path.exists() else None)

    @property
    def save(self) -> Callable[[Any], None] | None:
        """Writes an estimator to the checkpoint; None without one."""
        return None if self.path is None else partial(_save, self.path)

    def resume(self, estimator: Any) -> Any:
        """The model of the earlier run, which must have had the same settings and rows; None if there was none."""
        if self.earlier is not None:
            check_same_training(estimator, self.earlier)
        return self.earlier

    @property
    def epochs(self) -> int:
        """Epochs of the earlier run."""
        return 0 if self.earlier is None else len(self.earlier.report_.epochs)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Adds the path of the checkpoint to errors about it."""
        try:
            yield
        except FileError as error:
            if self.earlier is None or error.path is not None:
                raise
            raise FileError(error.what, self.path) from error


def check_same_training(estimator: Any, earlier: Any) -> None:
    """Refuse a checkpoint with other settings or other rows; the limit of epochs may differ."""
    now, then = estimator.get_params(), earlier.get_params()
    differ = [name for name in now if name != "max_epochs" and not _equal(now[name], then.get(name))]
    if type(earlier) is not type(estimator) or differ:
        what = f"{differ[0]}={then[differ[0]]!r}" if differ and differ[0] in then else type(earlier).__name__
        raise FileError(f"a checkpoint of another training, with {what}: train without resume")
    if fitted(earlier).contents != fitted(estimator).contents:
        raise FileError("a checkpoint of training on other rows: train without resume")


def _equal(a: Any, b: Any) -> bool:
    """Whether two parameters are equal; for random states, whether they continue in the same way."""
    if callable(a) or callable(b):
        return a is b
    return _plain(a) == _plain(b)


def _plain(value: Any) -> tuple[Any, dict[str, bytes]]:
    """A parameter as data that can be compared."""
    arrays = Arrays()
    tree = encode(value, arrays, "a parameter")
    return tree, {name: array.tobytes() for name, array in arrays.stored.items()}


def _save(path: Path, estimator: Any) -> None:
    save(estimator, path)
