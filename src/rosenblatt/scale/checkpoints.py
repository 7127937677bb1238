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
from rosenblatt.persist.encoding import Arrays, encode
from rosenblatt.persist.model_files import load, save


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

    def resume(self, estimator: Any) -> Any:
        """What the earlier training left, if it had the estimator's settings and rows; None where there was none."""
        if self.earlier is not None:
            _check_same_training(estimator, self.earlier)
        return self.earlier

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


def _check_same_training(estimator: Any, earlier: Any) -> None:
    """Refuse a checkpoint of other settings or other rows; the budget of epochs may differ."""
    mine, theirs = estimator.get_params(), earlier.get_params()
    differ = [name for name in mine if name != "max_epochs" and not _equal(mine[name], theirs.get(name))]
    if type(earlier) is not type(estimator) or differ:
        what = f"{differ[0]}={theirs[differ[0]]!r}" if differ and differ[0] in theirs else type(earlier).__name__
        raise FileError(f"a checkpoint of another training, with {what}: train without resume")
    if getattr(earlier, "_contents", None) != estimator._contents:
        raise FileError("a checkpoint of training on other rows: train without resume")


def _equal(mine: Any, theirs: Any) -> bool:
    """Whether two parameters are the same; of random states, whether they go on in the same way."""
    if callable(mine) or callable(theirs):
        return mine is theirs
    return _plain(mine) == _plain(theirs)


def _plain(value: Any) -> tuple[Any, dict[str, bytes]]:
    """A parameter as data that can be compared."""
    arrays = Arrays()
    tree = encode(value, arrays, "a parameter")
    return tree, {name: array.tobytes() for name, array in arrays.stored.items()}


def _save(path: Path, estimator: Any) -> None:
    save(estimator, path)
