"""What some settings store in addition to the weights, one class each.

    Average        Σ clock·Δ of all updates, for keep="average"
    Pocket         the weights with the fewest errors so far, for keep="pocket"
    Votes          the initial weights and every update since, for keep="vote"
    L1Debt         the L1 penalty applied to each weight so far, and the penalty due
    …Covariance    the covariance of a second-order rule

Each class has methods to copy its arrays, to transpose them, to extend them for new classes, and to mix them over
shards. Arrays that follow the weights are (K, d), or (d, K) if the weights are stored by feature. Arrays are never
written to, except where a class says so. `mix` is a matrix: the new planes are `mix` @ the old planes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rosenblatt.learn.models import UpdateHistory, stacked
from rosenblatt.learn.online.first_order import UpdateLog

Array = np.ndarray[Any, Any]
Mean = Callable[[str], Array]  # the mean over all shards of the term with this name
LOG_ROOM = 1 << 13
NONE = np.zeros(0)
BLOCK = 1 << 16  # values computed at a time, so that what lies between stays in the cache
NO_LOG = UpdateLog(np.zeros(0, np.uint64), np.zeros(0, np.int32), NONE, NONE, NONE)


class Weights(NamedTuple):
    """Coefficients and intercepts, in the machine's layout."""

    coef: Array
    intercept: Array


class LoggedUpdates(NamedTuple):
    """A batch of logged updates."""

    support: Any  # the rows that made them, an array or CSR
    log: UpdateLog  # its rows are indices into `support`
    bias: float  # what a step of 1 adds to b


@dataclass
class Companion:
    """Arrays that belong to the weights of one machine."""

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All stored arrays."""
        return tuple(getattr(self, one.name) for one in fields(self))

    def copy(self) -> Self:
        """An independent copy."""
        return type(self)(*(array.copy() for array in self.arrays))

    def transposed(self) -> Self:
        """The same in the other layout."""
        return type(self)(*(in_other_layout(one) if one.ndim == 2 else one for one in self.arrays))

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """What was expected of the arrays for weights of this shape; None if they are valid."""
        raise NotImplementedError


def in_other_layout(array: Array) -> Array:
    """The transposed array, contiguous; zeros, as at the start of training, are made anew, and take no memory yet."""
    return np.ascontiguousarray(array.T) if array.any() else np.zeros(array.T.shape, array.dtype)


# -- first order -----------------------------------------------------------------------------------------------------


@dataclass
class Average(Companion):
    """Σ clock·Δ over all updates: after N visits the mean of all iterates is w − Σ/N. Training writes to the arrays."""

    coef: Array
    intercept: Array

    @classmethod
    def zeros(cls, weights: Weights) -> Average:
        """Before the first update."""
        return cls(np.zeros(weights.coef.shape), np.zeros(weights.intercept.shape))

    def mean(self, weights: Weights, clock: float) -> Weights:
        """(N·w − Σ)/N after N visits."""
        N = clock or 1.0
        coef = np.empty(weights.coef.shape, weights.coef.dtype)
        out, w, total = (one.reshape(-1) for one in (coef, weights.coef, self.coef))
        for begin in range(0, out.size, BLOCK):
            here = slice(begin, begin + BLOCK)
            out[here] = w[here] - total[here] / N
        return Weights(coef, (weights.intercept - self.intercept / N).astype(coef.dtype))

    def grown(self, mix: Array) -> Average:
        """Extended to the new planes."""
        return Average(mix @ self.coef, mix @ self.intercept)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards, whose averages started at zero."""
        return {
            "average": self.coef,
            "average_b": self.intercept,
            "timed": clock * weights.coef,
            "timed_b": clock * weights.intercept,
        }

    def mixed(self, mean: Mean, weights: Weights, clock: float) -> Average:
        """The sums for mixed weights: those before this epoch, plus the mean of what the shards added."""
        return Average(
            self.coef + mean("average") - mean("timed") + clock * weights.coef,
            self.intercept + mean("average_b") - mean("timed_b") + clock * weights.intercept,
        )

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Sums in double, shaped like the weights."""
        return None if _shaped(self, shape, K, np.float64) else f"sums of shape {shape} in float64"


@dataclass
class L1Debt(Companion):
    """The L1 penalty applied to each weight so far, with its sign, and the penalty due, one number per column.

    See `stochastic_visits`, which writes to both.
    """

    pulled: Array
    owed: Array

    @classmethod
    def zeros(cls, weights: Weights) -> L1Debt:
        """No penalty due yet."""
        return cls(np.zeros(weights.coef.shape), np.zeros(weights.intercept.shape))

    def grown(self, mix: Array) -> L1Debt:
        """Extended to the new planes."""
        return L1Debt(mix @ self.pulled, mix @ self.owed)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards."""
        return {"pulled": self.pulled, "owed": self.owed}

    @staticmethod
    def mixed(mean: Mean) -> L1Debt:
        """The mean of the debts of all shards."""
        return L1Debt(mean("pulled"), mean("owed"))

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Debts in double, shaped like the weights."""
        return None if _shaped(self, shape, K, np.float64) else f"debts of shape {shape} in float64"


@dataclass
class Pocket(Companion):
    """The weights with the fewest errors so far, (K, d), and the total weight of the rows they misclassify."""

    coef: Array
    intercept: Array
    errors: float

    @classmethod
    def of(cls, weights: Weights) -> Pocket:
        """These weights, with their errors not counted yet."""
        return cls(weights.coef.copy(), weights.intercept.copy(), np.inf)

    def copy(self) -> Pocket:
        """Itself, because a pocket is replaced and never written to."""
        return self

    def transposed(self) -> Pocket:
        """Itself, because it is always stored by class."""
        return self

    def grown(self, mix: Array) -> Pocket:
        """Extended to the new planes."""
        dtype = self.coef.dtype
        return Pocket((mix @ self.coef).astype(dtype), (mix @ self.intercept).astype(dtype), self.errors)


@dataclass
class Votes(Companion):
    """The initial weights, (K, d), and every update since."""

    coef: Array
    intercept: Array
    log: tuple[LoggedUpdates, ...] = ()

    @classmethod
    def of(cls, weights: Weights) -> Votes:
        """Starting from these weights."""
        return cls(weights.coef.copy(), weights.intercept.copy())

    def copy(self) -> Votes:
        """A copy that shares the arrays, which are never written to."""
        return replace(self)

    def transposed(self) -> Votes:
        """Itself, because it is always stored by class."""
        return self

    def add(self, updates: LoggedUpdates) -> None:
        """Append to the log. As in a binary counter, pieces of similar size are joined, so that there are few."""
        log = self.log
        while log and log[-1].log.rows.size <= updates.log.rows.size < LOG_ROOM // 4:
            last = log[-1]
            if last.bias != updates.bias or isinstance(last.support, np.ndarray) != isinstance(
                updates.support, np.ndarray
            ):
                break
            rows = updates.log.rows + np.uint64(last.support.shape[0])
            joined = (np.concatenate(pair) for pair in zip(last.log, updates.log._replace(rows=rows), strict=True))
            support = stacked((last.support, updates.support))
            updates, log = LoggedUpdates(support, UpdateLog(*joined), updates.bias), log[:-1]
        self.log = (*log, updates)

    def grown(self, mix: Array) -> Votes:
        """Extended to the new planes."""
        log = tuple(one._replace(log=_grown_log(one.log, mix)) for one in self.log)
        return Votes(mix @ self.coef, mix @ self.intercept, log)

    def history(self, clock: float) -> UpdateHistory:
        """The log in one piece."""
        if not self.log:
            empty = (np.zeros((0, self.coef.shape[1])),)
            return UpdateHistory(empty, np.zeros(0, np.int64), *NO_LOG[1:], clock, self.coef, self.intercept, NONE)
        support = tuple(one.support for one in self.log)
        offsets = np.cumsum([0, *(one.support.shape[0] for one in self.log)])[:-1]
        which = [one.log.rows.astype(np.int64) + offset for one, offset in zip(self.log, offsets, strict=True)]
        _, columns, steps, clocks, shares = (
            np.concatenate(column) for column in zip(*(one.log for one in self.log), strict=True)
        )
        bias = np.concatenate([np.full(one.log.rows.size, one.bias) for one in self.log])
        return UpdateHistory(
            support, np.concatenate(which), columns, steps, clocks, shares, clock, self.coef, self.intercept, bias
        )


def _grown_log(log: UpdateLog, mix: Array) -> UpdateLog:
    """Each entry once for every new plane that its old plane contributes to, entries of one update adjacent."""
    targets = [np.flatnonzero(mix[:, column]) for column in range(mix.shape[1])]
    entries = np.repeat(np.arange(log.rows.size), [targets[column].size for column in log.columns])
    columns = np.concatenate([targets[column] for column in log.columns] or [np.zeros(0, np.int64)])
    steps = log.steps[entries] * mix[columns, log.columns[entries]]
    return UpdateLog(log.rows[entries], columns.astype(np.int32), steps, log.clocks[entries], log.shares[entries])


# -- second order ----------------------------------------------------------------------------------------------------


@dataclass
class Covariance(Companion):
    """The covariance of a second-order rule. Training writes to the arrays."""

    full: ClassVar[bool] = False

    def planes(self, weights: Weights) -> Weights:
        """The weights used for prediction."""
        return Weights(weights.coef.copy(), weights.intercept.copy())

    def weights(self, planes: Weights) -> Weights:
        """The inverse of `planes`: what a machine with this covariance stores of these planes, (K, d) and (K,)."""
        return planes

    def grown(self, mix: Array, fresh: Self) -> Self:
        """Extended to the new planes; a plane without an old one has the initial covariance of `fresh`."""
        for new, old in zip(*np.nonzero(mix), strict=True):
            for into, array in zip(fresh.arrays, self.arrays, strict=True):
                into[new] = array[old]
        return fresh

    @property
    def variances(self) -> Array | None:
        """The variances of the weights, if mixing divides by them; else None."""
        return None

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards."""
        raise NotImplementedError

    def mixed(self, mean: Mean, weights: Weights) -> tuple[Covariance, Weights]:
        """The mixed covariance and weights of all shards."""
        raise NotImplementedError


@dataclass
class DiagonalCovariance(Covariance):
    """σ² of each weight and intercept."""

    coef: Array
    intercept: Array

    @classmethod
    def start(cls, K: int, d: int, value: float, bias: float, dtype: Any) -> Self:
        """The initial variances, all equal but for the intercept, whose variance is c² = `bias` times as large."""
        first, of_bias = _in_range([value, value * bias], dtype)
        return cls(np.full((K, d), first), np.full(K, of_bias))

    @property
    def variances(self) -> Array | None:
        """All variances."""
        return np.append(self.coef, self.intercept)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The precisions, and the weights times them: Gaussians are mixed by their natural parameters."""
        coef, intercept = 1.0 / self.coef.astype(np.float64), 1.0 / self.intercept.astype(np.float64)
        return {
            "precision": coef,
            "precision_b": intercept,
            "coef": coef * weights.coef,
            "intercept": intercept * weights.intercept,
        }

    def mixed(self, mean: Mean, weights: Weights) -> tuple[DiagonalCovariance, Weights]:
        """The Gaussian with the mean of the natural parameters."""
        coef, intercept, dtype = mean("precision"), mean("precision_b"), self.coef.dtype
        mixed = DiagonalCovariance((1.0 / coef).astype(dtype), (1.0 / intercept).astype(dtype))
        return mixed, Weights(weights.coef / coef, weights.intercept / intercept)

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Shaped like the weights."""
        return None if _shaped(self, shape, K, dtype) else f"a covariance of shape {shape}"


@dataclass
class DiagonalCorrelation(DiagonalCovariance):
    """The diagonal of A = aI + Σ x xᵀ (second-order perceptron); the machine's weights are v, prediction uses v/A."""

    @classmethod
    def start(cls, K: int, d: int, value: float, bias: float, dtype: Any) -> Self:
        """The initial diagonal; A is an inverse covariance."""
        return super().start(K, d, value, 1.0 / bias, dtype)

    def planes(self, weights: Weights) -> Weights:
        """v/A."""
        return Weights(weights.coef / self.coef, weights.intercept / self.intercept)

    def weights(self, planes: Weights) -> Weights:
        """The planes times A."""
        return Weights(planes.coef * self.coef, planes.intercept * self.intercept)

    @property
    def variances(self) -> Array | None:
        """None, because v and A are natural parameters already."""
        return None

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """A; the weights are mixed unchanged."""
        return {"precision": self.coef.astype(np.float64), "precision_b": self.intercept.astype(np.float64)}

    def mixed(self, mean: Mean, weights: Weights) -> tuple[DiagonalCorrelation, Weights]:
        """The means."""
        dtype = self.coef.dtype
        return DiagonalCorrelation(mean("precision").astype(dtype), mean("precision_b").astype(dtype)), weights


@dataclass
class FullCovariance(Covariance):
    """Σ of each plane, (K, d + 1, d + 1), the bias last; the machine's weights are (K, d + 1) too."""

    matrices: Array

    full: ClassVar[bool] = True

    @classmethod
    def start(cls, K: int, d: int, value: float, bias: float, dtype: Any) -> Self:
        """Diagonal, with equal variances but for the intercept, whose variance is c² = `bias` times as large."""
        return cls(np.stack([np.diag(_in_range([value] * d + [value * bias], dtype))] * K))

    def planes(self, weights: Weights) -> Weights:
        """Coefficients and, from the last column, intercepts."""
        return Weights(weights.coef[:, :-1].copy(), weights.coef[:, -1].copy())

    def weights(self, planes: Weights) -> Weights:
        """Intercepts as the last column."""
        return Weights(np.column_stack(planes), np.zeros_like(planes.intercept))

    @property
    def variances(self) -> Array | None:
        """The diagonals."""
        return np.diagonal(self.matrices, axis1=1, axis2=2)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """Σ⁻¹ and Σ⁻¹w."""
        precision = np.linalg.inv(self.matrices.astype(np.float64))
        return {"precision": precision, "coef": np.einsum("kij,kj->ki", precision, weights.coef)}

    def mixed(self, mean: Mean, weights: Weights) -> tuple[FullCovariance, Weights]:
        """The Gaussian with the mean of the natural parameters."""
        precision = mean("precision")
        coef = np.stack([np.linalg.solve(P, q) for P, q in zip(precision, weights.coef, strict=True)])
        matrices = np.ascontiguousarray(np.linalg.inv(precision), dtype=self.matrices.dtype)
        return FullCovariance(matrices), Weights(coef, weights.intercept)

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """One matrix per plane."""
        wanted = (K, d + 1, d + 1)
        return None if self.matrices.shape == wanted and self.matrices.dtype == dtype else f"covariances of {wanted}"


def _in_range(variances: list[float], dtype: Any) -> Array:
    """Initial variances, or their inverses, in the type of the weights; refuse those that are 0 or infinite there."""
    with np.errstate(over="ignore", under="ignore"):
        found = np.array(variances).astype(dtype)
    if not (found.min() > 0 and found.max() < np.inf):
        raise ValueError(
            f"The initial variance of a weight or of the bias leaves the range of {found.dtype}: bias_step, or a, is "
            "too small or too large."
        )
    return found


def _shaped(part: Companion, shape: tuple[int, ...], K: int, dtype: Any) -> bool:
    """Whether there is one array shaped like the weights and one shaped like the intercepts."""
    coef, intercept = part.arrays
    return bool(coef.shape == shape and intercept.shape == (K,) and coef.dtype == intercept.dtype == dtype)
