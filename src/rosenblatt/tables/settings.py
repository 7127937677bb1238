"""The settings that `learner="auto"` searches: which learner, its strength, and how numbers are encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import is_number
from rosenblatt.objective.linear import LinearClassifier, LinearRegressor
from rosenblatt.online.passive_aggressive import PassiveAggressive
from rosenblatt.online.second_order_learners import AROW

Array = np.ndarray[Any, Any]
PASSES, LEAST_PASSES, VISITS = 10, 2, 500_000  # of online learners: VISITS visits of rows are enough
AROW_PASSES = 3  # with more it overfits
MOST_FEATURES, MOST_CELLS = 1_000, 30_000_000  # of tables whose penalties are all tried at once
FEW_ROWS, FOURIER_COUNT = 10_000, 300  # up to so many rows every fold is searched, with so many random features
MOST_WAVES, WAVE_CELLS = 1_000, 300_000_000  # random features of more rows: rows × features × planes


@dataclass(frozen=True)
class TableSetting:
    """One way to learn from a table."""

    learner: str  # a key of NAMES
    strength: float  # C, r, or α times the number of rows
    keep: str = "last"
    bias_step: float = 1.0
    splines: bool = False
    fourier: float = 0.0  # the width of the kernel, in units of the rows' variance; 0: no random features

    def __str__(self) -> str:
        name, letter = NAMES[self.learner]
        parts = [f"{'averaged ' if self.keep == 'average' else ''}{name}", f"{letter} = {self.strength:g}"]
        parts += [f"bias step {self.bias_step:g}"] if self.bias_step != 1 else []
        parts += ["numbers as splines"] if self.splines else []
        parts += ["random Fourier features"] if self.fourier else []
        return ", ".join(parts)

    @property
    def complexity(self) -> int:
        """0 for numbers as they are, 1 for splines, more with random features: of two that are as good, the lower."""
        return 2 * bool(self.fourier) + self.splines

    @property
    def by_descent(self) -> bool:
        """Whether all penalties and folds of a small table descend together."""
        return self.learner in ("log", "squared")

    def passes(self, rows: int) -> int:
        """The passes of an online learner over this many rows."""
        return min(passes(rows), AROW_PASSES) if self.learner == "AROW" else passes(rows)

    def is_whole(self) -> bool:
        """Whether every field has a valid value: a model file may be forged."""
        numbers = all(is_number(one) for one in (self.strength, self.bias_step, self.fourier))
        named = isinstance(self.learner, str) and self.learner in NAMES and self.keep in ("last", "average")
        return named and numbers and self.strength > 0 and self.fourier >= 0 and isinstance(self.splines, bool)

    def estimator(
        self, rows: int, features: int, class_weight: dict[int, float] | None = None, whole: bool = True
    ) -> Any:
        """The learner for this many rows and features; `whole`: all rows are in memory at once."""
        online: dict[str, Any] = {"order": "blocks", "max_epochs": self.passes(rows)}
        batch = {**online, "max_epochs": passes(rows // 4), "solver": "stochastic"}
        if whole and (features <= MOST_FEATURES or self.fourier or self.learner == "squared"):
            batch = {"solver": "batch", "tol": 1e-3 if at_once(rows, features) else 1e-4}
        if self.learner == "squared":
            return LinearRegressor(alpha=self.strength / rows, **batch)
        if self.learner == "log":
            return LinearClassifier(alpha=self.strength / rows, class_weight=class_weight, **batch)
        online |= {"bias_step": self.bias_step, "class_weight": class_weight}
        if self.learner == "AROW":
            return AROW(r=self.strength, **online)
        return PassiveAggressive(C=self.strength, variant=self.learner, keep=self.keep, **online)


NAMES = {
    "PA-I": ("passive-aggressive, PA-I", "C"),
    "PA-II": ("passive-aggressive, PA-II", "C"),
    "AROW": ("AROW", "r"),
    "log": ("logistic regression", "α·n"),
    "squared": ("least squares", "α·n"),
}


def at_once(rows: int, features: int) -> bool:
    """Whether rows are few and short enough for all penalties at once."""
    return features <= MOST_FEATURES and rows * features <= MOST_CELLS


def wave_count(rows: int, classes: int) -> int:
    """How many random Fourier features suit so many rows: with more rows more, as far as time and memory allow."""
    if rows <= FEW_ROWS:
        return FOURIER_COUNT
    planes = classes if classes > 2 else 1
    return max(FOURIER_COUNT // 2, min(MOST_WAVES, MOST_CELLS // rows, WAVE_CELLS // (rows * planes)))


def passes(rows: int, visits: int = VISITS) -> int:
    """The passes of an online learner over this many rows, for so many visits."""
    return max(LEAST_PASSES, min(PASSES, visits // max(rows, 1)))


DEFAULT = TableSetting("PA-I", 0.1, "average")
_ONLINE = [*(TableSetting("PA-I", C, keep) for C in (0.1, 0.3, 0.03) for keep in ("average", "last"))]
_LOG = [TableSetting("log", strength) for strength in (3.0, 0.3, 1.0, 10.0, 30.0)]
_AROW = [TableSetting("AROW", r) for r in (1.0, 0.3, 3.0, 10.0)]
_WAVES = (1.0, False), (0.3, False), (3.0, False), (0.2, True)  # widths of the kernel, alone and beside splines
# Settings that are learned together, in the order in which they spend the budget. Online learners are for tables with
# too many features for all penalties at once, such as text.
GROUPS: list[list[TableSetting]] = [
    _LOG,
    _AROW,
    [replace(one, splines=True) for one in _LOG],
    *([replace(one, fourier=width, splines=s) for one in (_LOG[0], _LOG[1], _LOG[4])] for width, s in _WAVES),
    _ONLINE,
]
_SQUARED = [TableSetting("squared", strength) for strength in (1.0, 0.1, 10.0, 100.0)]
NUMBER_GROUPS: list[list[TableSetting]] = [
    _SQUARED,
    [replace(one, splines=True) for one in _SQUARED],
    *([replace(one, fourier=width, splines=s) for one in _SQUARED] for width, s in _WAVES),
]
NUMBER_DEFAULT = TableSetting("squared", 1.0)
