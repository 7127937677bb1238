"""The rows of a table search: a sample of the table, and its encoded forms, each made once for all folds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.learn.calibration import calibrated_losses
from rosenblatt.search.penalty_paths import CentredRows
from rosenblatt.tables.columns.encoding import ColumnEncoding, ParsedColumn
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.columns.held_out import at_level, level_for, row_hashes
from rosenblatt.tables.settings import TableSetting, at_once

Array = np.ndarray[Any, Any]
SEARCH_ROWS, CLASS_ROWS = 20_000, 20  # rows that a search uses at most, and rows of each class at least


@dataclass(frozen=True)
class TableRows:
    """A table that a search learns from: columns, target, weights, and the fold of each row (−1: in no test part)."""

    columns: list[ParsedColumn]
    target: Array
    weights: Array | None
    folds: Array
    classes: int  # 0: the target is numbers
    class_weights: Array
    fixed: frozenset[str]  # columns whose kind the user chose
    seed: int
    numbers: Array | None = None  # of the rows of a sample, in the table

    def take(self, rows: Array) -> TableRows:
        """Some of the rows."""
        return replace(
            self,
            columns=[column.take(rows) for column in self.columns],
            target=self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            folds=self.folds[rows],
        )

    @property
    def weighs(self) -> Array:
        """Whether each row has a positive weight."""
        return np.ones(self.target.size, bool) if self.weights is None else self.weights > 0

    def mass(self, rows: Array) -> Array | None:
        """The weights of these rows times those of their classes; None if all are 1."""
        weights = None if self.weights is None else self.weights[rows]
        if not self.classes or (self.class_weights == 1).all():
            return weights
        found: Array = self.class_weights[self.target[rows]] * (1.0 if weights is None else weights)
        return found

    def mean(self, values: Array, rows: Array) -> Array:
        """The weighted mean over these rows of each row of `values`."""
        weights = None if self.weights is None else self.weights[rows]
        found: Array = np.average(values, axis=1, weights=weights)
        return found

    def losses(self, scores: Array, rows: Array) -> tuple[Array, Array]:
        """For each setting, calibrated on these rows, whether each row is right and its log loss; or squared errors."""
        target = self.target[rows]
        finite: Array = np.all(np.isfinite(scores).reshape(scores.shape[0], -1), axis=1, keepdims=True)
        scores = np.where(np.isfinite(scores), scores, 0.0)
        if not self.classes:
            return finite, np.where(finite, (scores - target) ** 2, np.inf)
        right, losses = calibrated_losses(scores, target, self.classes, self.mass(rows))
        return right & finite, np.where(finite, losses, np.inf)

    def measures(self, right: Array, losses: Array, rows: Array) -> tuple[list[float], list[float]]:
        """The accuracy and the log loss of each setting on these rows; or R² and squared error."""
        loss = self.mean(losses, rows)
        if self.classes:
            return self.mean(right, rows).tolist(), loss.tolist()
        target = self.target[rows][None]
        spread = float(self.mean((target - self.mean(target, rows)) ** 2, rows)[0])
        return (1 - loss / spread if spread else 0.0 * loss).tolist(), loss.tolist()

    def sample(self, numbers: Array | None) -> TableRows:
        """The rows that a search uses, chosen by the hashes of their numbers in the table; all if they are few enough.

        Without numbers rows are numbered 0, 1, …, and some rows of each class are included.
        """
        if self.target.size <= SEARCH_ROWS:
            return self
        hashes = row_hashes(0, self.target.size if numbers is None else int(numbers.max()) + 1, self.seed)
        hashes = search_hashes(hashes if numbers is None else hashes[numbers])
        chosen = at_level(hashes, level_for(hashes, SEARCH_ROWS, 0))
        for k in range(self.classes if numbers is None else 0):
            chosen[np.flatnonzero(self.target == k)[:CLASS_ROWS]] = True
        places = np.flatnonzero(chosen)
        found = self.take(places)
        _, folds = np.unique(found.folds, return_inverse=True)  # some of many folds may have no row in the sample
        return replace(found, folds=folds - int(found.folds.min(initial=0) < 0), numbers=places)


def search_hashes(hashes: Array) -> Array:
    """The bits of the row hashes that choose the rows of a search; other bits choose the held-out rows."""
    found: Array = hashes >> np.uint64(32)
    return found


def in_form(setting: TableSetting | None, columns: list[ParsedColumn], fixed: Collection[str]) -> list[ParsedColumn]:
    """The columns, with numbers as splines if the setting says so; not those whose kind the user chose."""
    if setting is None or not setting.splines:
        return columns
    return [
        replace(one, kind="splines") if one.kind == "numbers" and one.raw is None and one.name not in fixed else one
        for one in columns
    ]


@dataclass
class TableForm:
    """The rows of a table in one form, encoded once for all folds: no encoding uses labels."""

    encodings: tuple[ColumnEncoding, ...]
    plain: Any  # rows without random features
    waves: FourierFeatures | None = None
    mass: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of features."""
        n, d = self.plain.shape
        return n, d + (0 if self.waves is None else self.waves.width)

    @property
    def is_small(self) -> bool:
        """Whether all penalties are tried at once."""
        return at_once(*self.plain.shape)

    @cached_property
    def X(self) -> Any:
        """The rows, as CSR unless they have random features."""
        return self.plain if self.waves is None else self.waves.beside(self.plain)

    @cached_property
    def dense(self) -> Array:
        """The rows as an array, random features in single precision."""
        dense: Array = self.plain.toarray()
        if self.waves is None:
            return dense
        return np.hstack([dense, self.waves.values(dense.astype(np.float32))])

    def centred(self, rows: Array | None = None) -> CentredRows:
        """All rows, or some, for a descent in single precision."""
        if rows is None:
            return self._centred
        return CentredRows.of(self.dense[rows], None if self.mass is None else self.mass[rows], np.float32)

    @cached_property
    def _centred(self) -> CentredRows:
        return CentredRows.of(self.dense, self.mass, np.float32)


def fourier_features(setting: TableSetting | None, X: Any, count: int, seed: int) -> FourierFeatures | None:
    """The random features of a setting, drawn for these rows."""
    if setting is None or not setting.fourier or not X.shape[1]:
        return None
    return FourierFeatures.drawn(X, setting.fourier, count, seed)
