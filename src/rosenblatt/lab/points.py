"""Points for the lab: examples from lectures, generators, and the user's CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rosenblatt.lab.state_limits import LARGEST, MOST_CLASSES, MOST_COLUMNS

Array = np.ndarray[Any, Any]
MOST_ROWS = 500  # of a CSV; larger files are sampled


@dataclass(frozen=True)
class Points:
    """Rows of two features with class codes, and the settings that a lecture uses for them.

    Attributes
    ----------
    X : ndarray of shape (n, 2)
    y : ndarray of int
        Codes 0, 1, …
    classes : tuple of str
    axes : (str, str)
    settings : dict
        Fields of `RunSettings` that differ from the defaults.
    note : str
    """

    X: Array
    y: Array
    classes: tuple[str, ...] = ("−", "+")
    axes: tuple[str, str] = ("x₁", "x₂")
    settings: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def _points(places: list[tuple[float, float]], signs: list[int], note: str, /, **settings: Any) -> Points:
    y = np.array([int(sign > 0) for sign in signs])
    return Points(np.array(places, dtype=float), y, settings=settings, note=note)


KTH = [(1.5, -0.5), (1, 1), (-2, 1), (-1, -1.5), (2, -2), (-2, -2)]

LECTURES: dict[str, Points] = {
    "CUHK: through the origin": _points(
        [(1, 0), (0, -1), (0, 1), (-1, 0)],
        [1, -1, 1, -1],
        "No bias, from w = 0, cyclic order: two updates, as many as the bound allows.",
        bias="none",
    ),
    "KTH: from any start": _points(
        KTH,
        [1, 1, 1, -1, -1, -1],
        "η = 0.2 from w = (1, 0.5): the lecture picks rows 5, 3 and 1.",
        rate=0.2,
        start=(1.0, 0.5, 0.0),
        order="these rows",
        rows="4, 2, 0",
    ),
    "Mons: exercise II": _points(
        [(3, 1), (1, -3), (-1, 3), (2.5, -1)],
        [1, -1, 1, 1],
        "From b = −3, w = (1, 1), cyclic order: rows 3 and 4 make updates.",
        start=(1.0, 1.0, -3.0),
    ),
    "Shanahan: three rows": _points(
        [(-2, 3), (-1, -1), (2, -3)],
        [1, -1, 1],
        "Rows 1 and 3 are each other's negatives: without a bias no plane has both on the correct side.",
        bias="none",
    ),
    "KTH: XOR": _points([(0, 0), (1, 1), (0, 1), (1, 0)], [-1, -1, 1, 1], "No line separates these four points."),
}

THREE_CLASSES = Points(
    np.reshape(
        [0.5, 0.4, 0.8, 0.3, 0.3, 0.8, -0.4, 0.3, -0.3, 0.7, -0.7, 0.2, 0.7, -0.4, 0.5, -0.6, -0.4, -0.5], (9, 2)
    ),
    np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]),
    ("0", "1", "2"),
    note="Shanahan's interactive page.",
)


def separable(n: int = 40, margin: float = 0.2, seed: int = 0) -> Points:
    """Points on both sides of a random line, none within `margin` of it."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi)
    w, b = np.array([np.cos(angle), np.sin(angle)]), rng.uniform(-0.4, 0.4)
    X = rng.uniform(-2, 2, (n, 2))
    f = X @ w + b
    f[:2] = np.array([1.0, -1.0]) * np.abs(f[:2])  # both classes occur
    X[:2] += (f[:2] - (X[:2] @ w + b))[:, None] * w
    X += (np.sign(f) * np.maximum(0, margin - np.abs(f)))[:, None] * w
    return Points(X, (f > 0).astype(int), note=f"Separable, with a margin of at least {margin:g}.")


def xor(n: int = 40, margin: float = 0.2, seed: int = 0) -> Points:
    """Four clouds, with opposite ones in the same class."""
    rng = np.random.default_rng(seed)
    corner = np.arange(n) % 4
    centres = np.array([(-1, -1), (1, 1), (-1, 1), (1, -1)], dtype=float)
    return Points(
        (centres[corner] + rng.normal(0, 0.3, (n, 2))).round(3),
        (corner >= 2).astype(int),
        note="Four clouds in an XOR pattern.",
    )


def rings(n: int = 40, margin: float = 0.2, seed: int = 0) -> Points:
    """A disc within a ring."""
    rng = np.random.default_rng(seed)
    outer = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 0.8, n) + outer * (0.8 + margin)
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Points(X.round(3), outer, note="A ring around a disc: no line separates them.")


def noise(n: int = 40, margin: float = 0.2, seed: int = 0) -> Points:
    """Two clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(0, 1, (n, 2)) + np.where(y, 1, -1)[:, None] * np.array([0.8, 0.5])
    return Points(X.round(3), y, note="Two clouds that overlap.")


GENERATORS: dict[str, Callable[..., Points]] = {
    "separable": separable,
    "XOR clouds": xor,
    "rings": rings,
    "noise": noise,
}


# -- the user's CSV file ---------------------------------------------------------------------------------------------


class CSVError(ValueError):
    """A CSV that cannot be drawn; the message is shown to the user."""


@dataclass(frozen=True)
class CSVTable:
    """A CSV file: columns of numbers, a column of labels, and a note on what was left out."""

    names: tuple[str, ...]
    values: Array
    target: str
    labels: tuple[str, ...]
    note: str = ""

    def standardised(self) -> CSVTable:
        """The table with columns of mean 0 and standard deviation 1."""
        deviations = self.values.std(axis=0)
        values = (self.values - self.values.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
        return replace(self, values=values, note=f"Columns have mean 0 and standard deviation 1. {self.note}".strip())

    def points(self, first: str, second: str) -> Points:
        """Two columns as points."""
        columns = [self.names.index(first), self.names.index(second)]
        return self._points(self.values[:, columns], (first, second), self.note)

    def projected(self) -> tuple[Points, Array, Array]:
        """The first two principal components as points, with the mean and the two directions (2, d)."""
        mean, directions = principal_directions(self.values)
        note = (
            f"The first two principal components of {len(self.names)} columns. The plane is learned from all columns; "
            f"the line is where it intersects this picture, and rows lie in front of or behind it. {self.note}"
        )
        return self._points((self.values - mean) @ directions.T, ("component 1", "component 2"), note), mean, directions

    def _points(self, X: Array, axes: tuple[str, str], note: str) -> Points:
        names = sorted(set(self.labels))
        y = np.array([names.index(label) for label in self.labels])
        return Points(X, y, tuple(names), axes, note=note.strip())


def principal_directions(values: Array) -> tuple[Array, Array]:
    """The mean of rows and their first two principal directions (2, d)."""
    mean = values.mean(axis=0)
    directions = np.linalg.svd(values - mean, full_matrices=False)[2][:2]
    if len(directions) < 2:
        directions = np.vstack([directions, np.zeros(values.shape[1])])
    return mean, directions


def parse_csv(text: str, target: str | None = None, most: int = MOST_ROWS) -> CSVTable:
    """Parse a CSV with a header, whose last column, or `target`, holds the labels.

    A file of more than `most` rows is sampled evenly, without parsing the other rows.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CSVError("The file is empty: expected a CSV with a line of column names and one line per row.")
    names = next(csv.reader([lines[0]]))
    names = [name.strip() for name in names]
    if len(lines) < 2:
        raise CSVError("The file has a line of column names but no rows.")
    if len(names) < 2:
        raise CSVError(
            "The file has one column: expected at least one of numbers and one of labels, separated by commas."
        )
    if len(names) - 1 > MOST_COLUMNS:
        raise CSVError(f"The file has {len(names):,} columns; the lab learns from up to {MOST_COLUMNS:,} and a label.")
    if target is None:
        target = names[-1]
    if target not in names:
        raise CSVError(f"There is no column {target!r}; the columns are {', '.join(names)}.")
    total = len(lines) - 1
    chosen = np.arange(total) if total <= most else np.linspace(0, total - 1, most).astype(int)
    place = names.index(target)
    values, labels = np.empty((len(chosen), len(names) - 1)), []
    for at, row in enumerate(csv.reader(io.StringIO("\n".join(lines[1 + k] for k in chosen)))):
        number = int(chosen[at]) + 2
        if len(row) != len(names):
            raise CSVError(f"Line {number} has {len(row)} values, but the first line has {len(names)} names.")
        labels.append(row[place].strip())
        others = [(name, value) for k, (name, value) in enumerate(zip(names, row, strict=True)) if k != place]
        for column, (name, value) in enumerate(others):
            values[at, column] = _number(value, name, number)
    kinds = sorted(set(labels))
    if len(kinds) < 2:
        raise CSVError(f"Column {target!r} has only one label, {kinds[0]!r}: at least two classes are needed.")
    if len(kinds) > MOST_CLASSES:
        raise CSVError(
            f"Column {target!r} has {len(kinds)} different labels, but the lab draws at most {MOST_CLASSES}: "
            "choose another label column."
        )
    note = "" if total <= most else f"{total:,} rows: {most} of them, evenly spaced, are shown."
    return CSVTable(tuple(name for name in names if name != target), values, target, tuple(labels), note)


def _number(value: str, name: str, line: int) -> float:
    try:
        number = float(value)
    except ValueError:
        raise CSVError(f"Line {line}, column {name!r}: {value.strip()[:40]!r} is not a number.") from None
    if not np.isfinite(number):
        raise CSVError(f"Line {line}, column {name!r}: {value.strip()!r} is not finite.")
    if abs(number) > LARGEST:
        raise CSVError(f"Line {line}, column {name!r}: {value.strip()[:40]!r} is too large: scale the column down.")
    return number
