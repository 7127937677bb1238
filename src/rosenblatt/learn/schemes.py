"""Ways of handling several classes: how many planes there are, what each one learns, and how they decide on a class.

TWO     two classes, or numbers: one plane
JOINT   one plane per class, all in one problem: the true class against its best rival ("multinomial")
REST    one plane per class or label, each against the rest ("ovr")
PAIRS   one plane per pair of classes, each a problem of its own ("ovo")
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rosenblatt.learn.examples import Facts

Array = np.ndarray[Any, Any]


def signs(on: Array) -> Array:
    """1 where `on` is true, −1 elsewhere, in the same memory."""
    found = on.view(np.int8)
    found += found
    found -= 1
    return found


class Scheme:
    """One plane per class, each against the rest; subclasses override what differs.

    Attributes
    ----------
    name : str
        As in the parameters of estimators and in model files.
    joint : bool
        Whether planes are compared with each other: one margin per row, else one per plane.
    single : bool
        Whether a machine has a single plane.
    """

    name = "ovr"
    joint = single = False

    def columns(self, classes: int) -> int:
        """Planes of one machine."""
        return 1 if self.single else classes

    def machines(self, classes: int) -> int:
        """Machines, each with a problem of its own."""
        return 1

    def planes(self, classes: int) -> int:
        """Planes of all machines."""
        return self.machines(classes) * self.columns(classes)

    def problems(self, whole: Any, classes: int) -> Iterator[Any]:
        """The problem of each machine, one at a time, derived from the problem of all classes."""
        yield whole

    def totals(self, facts: Facts, found: Sequence[float]) -> Sequence[float]:
        """The weight of the rows that each machine learns from; `found` holds the weights counted during the pass."""
        return [facts.mass]

    def sides(self, truth: Array, classes: int) -> Array:
        """±1 for each row and plane; 0 where a row takes no part."""
        on = truth != 0 if truth.ndim == 2 else truth[:, None] == np.arange(classes)
        return np.where(on, np.int8(1), np.int8(-1))

    def scores(self, raw: Array, classes: int) -> Array:
        """Decision values from the scores f of all planes: (n,) for two classes, (n, K) for more."""
        return raw

    @property
    def alone(self) -> Scheme:
        """The scheme of a single machine."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scheme) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Two(Scheme):
    """Two classes, or numbers."""

    name, single = "one", True

    def problems(self, whole: Any, classes: int) -> Iterator[Any]:
        """Codes as ±1; numbers as they are."""
        yield whole if whole.truth.dtype.kind == "f" else whole._replace(truth=signs(whole.truth == 1))

    def sides(self, truth: Array, classes: int) -> Array:
        """±1 in one column."""
        return np.where(truth == 1, np.int8(1), np.int8(-1))[:, None]

    def scores(self, raw: Array, classes: int) -> Array:
        """The scores of the only plane."""
        return raw if raw.ndim == 1 else raw[:, 0]


class Joint(Scheme):
    """One plane per class, all in one problem."""

    name, joint = "multinomial", True


class Pairs(Scheme):
    """One plane per pair of classes; pair (a, b), a < b, is positive for b."""

    name, single = "ovo", True

    @staticmethod
    def of(classes: int) -> Iterator[tuple[int, int]]:
        """The pairs, in the order of their planes."""
        return itertools.combinations(range(classes), 2)

    def machines(self, classes: int) -> int:
        """One per pair."""
        return classes * (classes - 1) // 2

    def problems(self, whole: Any, classes: int) -> Iterator[Any]:
        """The rows of each pair."""
        every = whole.index(0, whole.size)
        codes = whole.truth[every]
        for a, b in self.of(classes):
            index = every[(codes == a) | (codes == b)]
            total = float(whole.mass(index).sum())
            truth = signs(whole.truth == b)
            yield whole._replace(truth=truth, present=index, size=index.size, total=total, scheme=TWO)

    def totals(self, facts: Facts, found: Sequence[float]) -> Sequence[float]:
        """The weight of both classes of each pair."""
        if facts.masses is None:
            return found
        return [float(facts.masses[a] + facts.masses[b]) for a, b in self.of(facts.masses.size)]

    def sides(self, truth: Array, classes: int) -> Array:
        """±1 for the rows of each pair, 0 for others."""
        found = np.zeros((truth.size, self.machines(classes)), np.int8)
        for k, (a, b) in enumerate(self.of(classes)):
            found[:, k] = (truth == b).astype(np.int8) - (truth == a).astype(np.int8)
        return found

    def scores(self, raw: Array, classes: int) -> Array:
        """Votes, with the summed scores as tie-breaker.

        A pair at exactly 0 abstains: if it voted for the lower class, untrained pairs would favour classes by their
        index alone, and a new class would change decisions between old ones. The sums are mapped into (−⅓, ⅓), so that
        they only break ties.
        """
        if classes <= 2:
            return raw
        votes, sums = np.zeros((raw.shape[0], classes)), np.zeros((raw.shape[0], classes))
        for column, (a, b) in enumerate(self.of(classes)):
            votes[:, b] += raw[:, column] > 0
            votes[:, a] += raw[:, column] < 0
            sums[:, b] += raw[:, column]
            sums[:, a] -= raw[:, column]
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    @property
    def alone(self) -> Scheme:
        """Two classes."""
        return TWO


TWO, JOINT, REST, PAIRS = Two(), Joint(), Scheme(), Pairs()
SCHEMES = {scheme.name: scheme for scheme in (TWO, JOINT, REST, PAIRS)}
