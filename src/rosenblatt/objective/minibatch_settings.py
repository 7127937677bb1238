"""The settings of a fit by matrix products: its objective and its budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The objective of a fit, its penalties and its budget.

    Attributes
    ----------
    loss : str
        A name of `LOSSES`; "softmax" is the log loss of several classes.
    columns : int
        K: one per class, or 1 for two classes and for numbers.
    alphas : tuple of float
        The penalties, each a model of its own.
    l1_ratio : float
        ρ of ρΣ|w| + ½(1 − ρ)Σw².
    standardised : bool
        Whether the penalty applies to the weights of standardised features; else to those of the features as given.
    intercept : bool
    width : float
        The ε of losses that have one.
    epochs : int
        The budget, over which the step size falls to 0.
    batch : int or None
        Rows per step; None: by the number of rows and the device.
    seed : int
    """

    loss: str
    columns: int
    alphas: tuple[float, ...] = (1e-4,)
    l1_ratio: float = 0.0
    standardised: bool = False
    intercept: bool = True
    width: float = 0.1
    epochs: int = 3
    batch: int | None = None
    seed: int = 0
