"""One scan of all rows by a model with a kernel: its errors, and the smallest margin of each plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.learn.epochs import Source
from rosenblatt.learn.evaluation import Criterion, row_margins, whole_problem
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.overflow import check_scores
from rosenblatt.learn.schemes import TWO
from rosenblatt.prove.mistake_formula import Separator

if TYPE_CHECKING:
    from rosenblatt.kernel.perceptron import KernelModel

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class KernelScan:
    """Counts the misclassified rows and finds the smallest y·f of each plane."""

    kept: KernelModel
    criterion: Criterion

    def __call__(self, examples: Examples, shard: int) -> tuple[int, Array]:
        """Scan these examples."""
        kept, labels = self.kept, examples.target.ndim == 2
        problem = whole_problem(examples, kept.scheme)
        errors, lows = 0, np.full(1 if kept.scheme.joint else kept.coef.shape[1], np.inf)
        for index in problem.pieces(1):
            raw = check_scores(kept.raw(problem.rows, index, examples.n_features))
            truth = examples.target[index]
            if kept.scheme.joint:
                seen = row_margins(problem, index, raw, self.criterion)
                margins, bad = seen.margins[:, None], seen.wrong
            else:
                sides = kept.scheme.sides(truth, kept.classes)
                margins = np.where(sides != 0, sides * raw, np.inf)
                if labels or kept.scheme == TWO:
                    wrong = margins <= 0 if self.criterion.tie_is_mistake else (raw > 0) != (sides > 0)
                    bad = np.asarray(wrong.any(axis=1))
                else:
                    bad = np.asarray(np.argmax(kept.decided(raw), axis=1) != truth)
            errors += int(np.count_nonzero(bad))
            lows = np.minimum(lows, margins.min(axis=0))
        return errors, lows


def scan_kernel_model(source: Source, kept: KernelModel, criterion: Criterion) -> tuple[int, Array]:
    """The errors and the smallest y·f of each plane over all rows."""
    (found,) = source.ask(KernelScan(kept, criterion))
    return found[0], found[1]


def separators(kept: KernelModel, lows: Array) -> list[Separator]:
    """Each plane with its smallest y·f, or one for all planes if they decide jointly."""
    norms, biases = kept.norms2(), kept.kernel.shift * kept.coef.sum(axis=0) ** 2
    if kept.scheme.joint:
        return [Separator(float(lows[0]), float(norms.sum()), float(biases.sum()))]
    return [Separator(float(a), float(b), float(c)) for a, b, c in zip(lows, norms, biases, strict=True)]


def geometric(plane: Separator) -> float:
    """The geometric margin of a plane in the space of the kernel."""
    if plane.norm2 > 0:
        return plane.low / math.sqrt(plane.norm2)
    return math.inf if plane.low > 0 else min(plane.low, 0.0)
