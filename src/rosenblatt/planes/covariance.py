"""The covariance of a second-order rule: diagonal or full; the second-order perceptron stores its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from rosenblatt.formats.declared_fields import floats
from rosenblatt.planes.companions import Array, Companion, Mean, Weights


@dataclass
class Covariance(Companion):
    """The covariance of a second-order rule. Training writes to the arrays."""

    full: ClassVar[bool] = False

    def planes(self, weights: Weights) -> Weights:
        """The weights used for prediction; they may share memory with those given."""
        return weights

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

    coef: Annotated[Array, floats("height", "width")]
    intercept: Annotated[Array, floats("K")]

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

    matrices: Annotated[Array, floats("K", "d+1", "d+1")]

    full: ClassVar[bool] = True

    @classmethod
    def start(cls, K: int, d: int, value: float, bias: float, dtype: Any) -> Self:
        """Diagonal, with equal variances but for the intercept, whose variance is c² = `bias` times as large."""
        return cls(np.stack([np.diag(_in_range([value] * d + [value * bias], dtype))] * K))

    def planes(self, weights: Weights) -> Weights:
        """Coefficients and, from the last column, intercepts."""
        return Weights(weights.coef[:, :-1], weights.coef[:, -1])

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
