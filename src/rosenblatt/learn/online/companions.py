"""What a setting keeps beside the weights, each in a part of its own.

    Average        Σ clock·Δ of all updates, for keep="average"
    Pocket         the weights with the fewest errors so far, for keep="pocket"
    Votes          the start and every update since, for keep="vote"
    L1Debt         what an L1 penalty has taken from each weight, and should have taken
    …Covariance    how sure a second-order rule is of its weights

A part is copied, laid out the other way, grown for new classes, and mixed over shards by its own methods. Arrays that
follow the weights are (K, d), or (d, K) where the weights lie by feature; a part writes into its arrays only where it
says so, and `mix` is a matrix whose rows say which old planes a new plane is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rosenblatt.learn.models import UpdateHistory, stacked
from rosenblatt.learn.online.first_order import UpdateLog

Array = np.ndarray[Any, Any]
Mean = Callable[[str], Array]  # of a term that shards were asked for, over all shards
LOG_ROOM = 1 << 13
NONE = np.zeros(0)
NO_LOG = UpdateLog(np.zeros(0, np.uint64), np.zeros(0, np.int32), NONE, NONE, NONE)


class Weights(NamedTuple):
    """Coefficients and intercepts, as they lie."""

    coef: Array
    intercept: Array


class LoggedUpdates(NamedTuple):
    """Updates that were logged together."""

    support: Any  # the rows that made them, an array or CSR
    log: UpdateLog  # its rows are those of `support`
    bias: float  # what a step of 1 adds to b


@dataclass
class Companion:
    """A part of the state: arrays that belong to the weights of one machine."""

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that is stored."""
        return tuple(getattr(self, one.name) for one in fields(self))

    def copy(self) -> Self:
        """A part that shares nothing that changes."""
        return type(self)(*(array.copy() for array in self.arrays))

    def transposed(self) -> Self:
        """The same, laid out the other way."""
        return type(self)(*(np.ascontiguousarray(one.T) if one.ndim == 2 else one for one in self.arrays))

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """What should hold of the arrays beside weights of this shape, where it does not."""
        raise NotImplementedError


# -- first order -----------------------------------------------------------------------------------------------------


@dataclass
class Average(Companion):
    """Σ clock·Δ over all updates: after N visits the mean of all iterates is w − Σ/N. Training adds to the arrays."""

    coef: Array
    intercept: Array

    @classmethod
    def zeros(cls, weights: Weights) -> Average:
        """Before the first update."""
        return cls(np.zeros(weights.coef.shape), np.zeros(weights.intercept.shape))

    def mean(self, weights: Weights, clock: float) -> Weights:
        """(N·w − Σ)/N after N visits."""
        dtype, N = weights.coef.dtype, clock or 1.0
        coef = (weights.coef - self.coef / N).astype(dtype)
        return Weights(coef, (weights.intercept - self.intercept / N).astype(dtype))

    def grown(self, mix: Array) -> Average:
        """For the planes that `mix` makes of the old ones."""
        return Average(mix @ self.coef, mix @ self.intercept)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """What is summed over shards, which began these sums anew."""
        return {
            "average": self.coef,
            "average_b": self.intercept,
            "timed": clock * weights.coef,
            "timed_b": clock * weights.intercept,
        }

    def mixed(self, mean: Mean, weights: Weights, clock: float) -> Average:
        """The sums for mixed weights: those before this epoch, and the mean of what shards have added."""
        return Average(
            self.coef + mean("average") - mean("timed") + clock * weights.coef,
            self.intercept + mean("average_b") - mean("timed_b") + clock * weights.intercept,
        )

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Sums in double, shaped like the weights."""
        return None if _shaped(self, shape, K, np.float64) else f"sums of shape {shape} in float64"


@dataclass
class L1Debt(Companion):
    """What each weight has been pulled by, with its sign, and what it should have been, the same for all of a column.

    See `stochastic_visits`, which writes into both.
    """

    pulled: Array
    owed: Array

    @classmethod
    def zeros(cls, weights: Weights) -> L1Debt:
        """Nothing owed yet."""
        return cls(np.zeros(weights.coef.shape), np.zeros(weights.intercept.shape))

    def grown(self, mix: Array) -> L1Debt:
        """For the planes that `mix` makes of the old ones."""
        return L1Debt(mix @ self.pulled, mix @ self.owed)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """What is summed over shards."""
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
    """The weights with the fewest errors so far, (K, d), and the weight of the rows that they answer wrongly."""

    coef: Array
    intercept: Array
    errors: float

    @classmethod
    def of(cls, weights: Weights) -> Pocket:
        """These weights, whose errors are not known."""
        return cls(weights.coef.copy(), weights.intercept.copy(), np.inf)

    def copy(self) -> Pocket:
        """Itself: a pocket is replaced, never written to."""
        return self

    def transposed(self) -> Pocket:
        """Itself: it lies by class."""
        return self

    def grown(self, mix: Array) -> Pocket:
        """For the planes that `mix` makes of the old ones."""
        dtype = self.coef.dtype
        return Pocket((mix @ self.coef).astype(dtype), (mix @ self.intercept).astype(dtype), self.errors)


@dataclass
class Votes(Companion):
    """The weights at the start, (K, d), and every update since."""

    coef: Array
    intercept: Array
    log: tuple[LoggedUpdates, ...] = ()

    @classmethod
    def of(cls, weights: Weights) -> Votes:
        """Beginning at these weights."""
        return cls(weights.coef.copy(), weights.intercept.copy())

    def copy(self) -> Votes:
        """A part that shares what is never written to."""
        return replace(self)

    def transposed(self) -> Votes:
        """Itself: it lies by class."""
        return self

    def add(self, updates: LoggedUpdates) -> None:
        """Lengthen the log. As in a binary counter, equals are joined: few pieces, each copied a few times."""
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
        """For the planes that `mix` makes of the old ones."""
        log = tuple(one._replace(log=_grown_log(one.log, mix)) for one in self.log)
        return Votes(mix @ self.coef, mix @ self.intercept, log)

    def history(self, clock: float) -> UpdateHistory:
        """The log as one, its rows gathered once each."""
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
    """Each entry once for every new plane that its old plane goes into, entries of one update side by side."""
    targets = [np.flatnonzero(mix[:, column]) for column in range(mix.shape[1])]
    entries = np.repeat(np.arange(log.rows.size), [targets[column].size for column in log.columns])
    columns = np.concatenate([targets[column] for column in log.columns] or [np.zeros(0, np.int64)])
    steps = log.steps[entries] * mix[columns, log.columns[entries]]
    return UpdateLog(log.rows[entries], columns.astype(np.int32), steps, log.clocks[entries], log.shares[entries])


# -- second order ----------------------------------------------------------------------------------------------------


@dataclass
class Covariance(Companion):
    """How sure a second-order rule is of its weights. Training writes into the arrays."""

    full: ClassVar[bool] = False

    def planes(self, weights: Weights) -> Weights:
        """The weights that predict."""
        return Weights(weights.coef.copy(), weights.intercept.copy())

    def grown(self, mix: Array, fresh: Self) -> Self:
        """For the planes that `mix` makes of the old ones; a plane without an old one is as sure as at the start."""
        for new, old in zip(*np.nonzero(mix), strict=True):
            for into, array in zip(fresh.arrays, self.arrays, strict=True):
                into[new] = array[old]
        return fresh

    @property
    def variances(self) -> Array | None:
        """Those of the weights, which mixing divides by; None where it does not."""
        return None

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """What is summed over shards."""
        raise NotImplementedError

    def mixed(self, mean: Mean, weights: Weights) -> tuple[Covariance, Weights]:
        """The mean of what shards have learned, with its weights."""
        raise NotImplementedError


@dataclass
class DiagonalCovariance(Covariance):
    """σ² of each weight and intercept."""

    coef: Array
    intercept: Array

    @classmethod
    def start(cls, K: int, d: int, value: float, dtype: Any) -> Self:
        """All alike."""
        return cls(np.full((K, d), value, dtype), np.full(K, value, dtype))

    @property
    def variances(self) -> Array | None:
        """All of them."""
        return np.append(self.coef, self.intercept)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """Precisions, and the weights times them: Gaussians are mixed by their natural parameters."""
        coef, intercept = 1.0 / self.coef.astype(np.float64), 1.0 / self.intercept.astype(np.float64)
        return {
            "precision": coef,
            "precision_b": intercept,
            "coef": coef * weights.coef,
            "intercept": intercept * weights.intercept,
        }

    def mixed(self, mean: Mean, weights: Weights) -> tuple[DiagonalCovariance, Weights]:
        """The Gaussian of the mean natural parameters."""
        coef, intercept, dtype = mean("precision"), mean("precision_b"), self.coef.dtype
        mixed = DiagonalCovariance((1.0 / coef).astype(dtype), (1.0 / intercept).astype(dtype))
        return mixed, Weights(weights.coef / coef, weights.intercept / intercept)

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Shaped like the weights."""
        return None if _shaped(self, shape, K, dtype) else f"a covariance of shape {shape}"


@dataclass
class DiagonalCorrelation(DiagonalCovariance):
    """The diagonal of A = aI + Σ x xᵀ; the weights beside it are v, and predict as v/A (second-order perceptron)."""

    def planes(self, weights: Weights) -> Weights:
        """v/A."""
        return Weights(weights.coef / self.coef, weights.intercept / self.intercept)

    @property
    def variances(self) -> Array | None:
        """None: v and A are natural parameters already."""
        return None

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """A and, as they are, the weights."""
        return {"precision": self.coef.astype(np.float64), "precision_b": self.intercept.astype(np.float64)}

    def mixed(self, mean: Mean, weights: Weights) -> tuple[DiagonalCorrelation, Weights]:
        """The means."""
        dtype = self.coef.dtype
        return DiagonalCorrelation(mean("precision").astype(dtype), mean("precision_b").astype(dtype)), weights


@dataclass
class FullCovariance(Covariance):
    """Σ of each plane, (K, d + 1, d + 1), the bias last; the weights beside it are (K, d + 1) too."""

    matrices: Array

    full: ClassVar[bool] = True

    @classmethod
    def start(cls, K: int, d: int, value: float, dtype: Any) -> Self:
        """Multiples of the identity."""
        return cls(np.stack([np.eye(d + 1, dtype=dtype) * value] * K))

    def planes(self, weights: Weights) -> Weights:
        """Coefficients and, from the last column, intercepts."""
        return Weights(weights.coef[:, :-1].copy(), weights.coef[:, -1].copy())

    @property
    def variances(self) -> Array | None:
        """The diagonals."""
        return np.diagonal(self.matrices, axis1=1, axis2=2)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """Σ⁻¹ and Σ⁻¹w."""
        precision = np.linalg.inv(self.matrices.astype(np.float64))
        return {"precision": precision, "coef": np.einsum("kij,kj->ki", precision, weights.coef)}

    def mixed(self, mean: Mean, weights: Weights) -> tuple[FullCovariance, Weights]:
        """The Gaussian of the mean natural parameters."""
        precision = mean("precision")
        coef = np.stack([np.linalg.solve(P, q) for P, q in zip(precision, weights.coef, strict=True)])
        matrices = np.ascontiguousarray(np.linalg.inv(precision), dtype=self.matrices.dtype)
        return FullCovariance(matrices), Weights(coef, weights.intercept)

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """A matrix per plane."""
        wanted = (K, d + 1, d + 1)
        return None if self.matrices.shape == wanted and self.matrices.dtype == dtype else f"covariances of {wanted}"


def _shaped(part: Companion, shape: tuple[int, ...], K: int, dtype: Any) -> bool:
    """Whether a part is one array like the weights and one like the intercepts."""
    coef, intercept = part.arrays
    return bool(coef.shape == shape and intercept.shape == (K,) and coef.dtype == intercept.dtype == dtype)
