"""Random Fourier features: a linear function of them is a smooth function of all columns.

    φ(x) = √(2V/D)·cos(Ωx + p)          Ω ~ N(0, 2γ), p ~ U(0, 2π)

has φ(x)·φ(x′) ≈ V·exp(−γ‖x − x′‖²) (A. Rahimi, B. Recht, "Random features for large-scale kernel machines", 2007). V,
the total variance of the features, gives them the length of the rows, and γ = width/V suits rows of any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rosenblatt.formats.declared_fields import doubles, must

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FourierFeatures:
    """Ω of shape (d, D), p and √(2V/D)."""

    frequencies: Annotated[Array, doubles("d", "D")]
    phases: Annotated[Array, doubles("D")]
    scale: float

    def check(self) -> None:
        """Finite frequencies and phases."""
        must(self.phases.size and np.isfinite(self.frequencies).all() and np.isfinite(self.phases).all(), "frequencies")

    @classmethod
    def drawn(cls, X: Any, width: float, count: int, seed: int) -> FourierFeatures:
        """Draw `count` features for rows with the variance of these."""
        rng = np.random.default_rng(seed)
        mean = np.asarray(X.mean(axis=0)).ravel()
        variance = float(X.multiply(X).sum() / X.shape[0] - mean @ mean)
        variance = variance if variance > 0 else 1.0
        frequencies = rng.normal(size=(X.shape[1], count)) * np.sqrt(2 * width / variance)
        return cls(frequencies, rng.uniform(0, 2 * np.pi, count), float(np.sqrt(2 * variance / count)))

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.phases.size)

    def values(self, X: Any) -> Array:
        """These features of rows, in the precision of the rows."""
        waves = X @ self.frequencies.astype(X.dtype, copy=False)
        waves += self.phases.astype(X.dtype, copy=False)
        np.cos(waves, out=waves)
        waves *= self.scale
        found: Array = waves
        return found

    def beside(self, X: Any) -> Any:
        """The rows with these features after their own, as an array."""
        return np.hstack([X.toarray(), self.values(X)])
