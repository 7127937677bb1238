"""One step of backpropagation in a small network, with all of its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.learn.number_format import format_number, format_vector, printed_fractions

Array = np.ndarray[Any, Any]
# F(s), and its slope as a function of s and F(s).
UNITS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "identity": (lambda s: s, lambda s, z: 1),
    "relu": (lambda s: max(s, 0 * s), lambda s, z: int(s > 0)),
    "logistic": (lambda s: 1 / (1 + math.exp(-s)), lambda s, z: z * (1 - z)),
    "tanh": (math.tanh, lambda s, z: 1 - z * z),
}
RATIONAL = ("identity", "relu")


@dataclass(frozen=True)
class Backpropagation:
    """A row sent forward through a network and its error sent back; prints both, layer by layer.

    Attributes
    ----------
    x, target : ndarray
        The row, and what the network should have answered: u.
    sums, outputs : tuple of ndarray
        s = zW + b and F(s), one per layer; the last outputs are o.
    loss : number
        ½‖o − u‖².
    deltas : tuple of ndarray
        ∂loss/∂s of each layer.
    coef_gradients, intercept_gradients : tuple of ndarray
        ∂loss/∂W = z·δ, z the input of the layer, and ∂loss/∂b = δ.
    coefs, intercepts : tuple of ndarray
        The weights after a step of gradient descent, W − η·∂loss/∂W.

    Examples
    --------
    >>> from rosenblatt import teaching
    >>> found = teaching.backpropagation([[[1], [2]]], [[0]], [1, 0.5], [1], activation="identity")
    >>> [str(value) for value in (found.loss, *found.deltas[0], *found.intercepts[0])]
    ['1/2', '1', '-1']
    """

    x: Array
    target: Array
    sums: tuple[Array, ...]
    outputs: tuple[Array, ...]
    loss: Any
    deltas: tuple[Array, ...]
    coef_gradients: tuple[Array, ...]
    intercept_gradients: tuple[Array, ...]
    coefs: tuple[Array, ...]
    intercepts: tuple[Array, ...]

    def __str__(self) -> str:
        """The pass forward, the pass back, and the new weights."""
        lines, depth = [f"forward   x = {format_vector(self.x)}"], len(self.sums)
        for k, (sums, outputs) in enumerate(zip(self.sums, self.outputs, strict=True), 1):
            name = "o" if k == depth else "F(s)"
            lines.append(f"  layer {k}  s = {format_vector(sums)}, {name} = {format_vector(outputs)}")
        lines.append(f"  loss     ½‖o − u‖² = {format_number(self.loss)}, u = {format_vector(self.target)}")
        lines.append("back")
        for k in range(depth, 0, -1):
            source = "(o − u)" if k == depth else f"W{k + 1}·δ{k + 1}"
            slopes = _rows(self.coef_gradients[k - 1])
            lines.append(f"  layer {k}  δ{k} = {source}·F′(s) = {format_vector(self.deltas[k - 1])}, ∂W{k} = {slopes}")
        lines.append("after the step")
        for k, (coef, intercept) in enumerate(zip(self.coefs, self.intercepts, strict=True), 1):
            lines.append(f"  layer {k}  W{k} = {_rows(coef)}, b{k} = {format_vector(intercept)}")
        return "\n".join(lines)


def _rows(W: Array) -> str:
    return "; ".join(map(format_vector, W))


def backpropagation(
    coefs: Sequence[Any],
    intercepts: Sequence[Any],
    x: Any,
    target: Any,
    *,
    activation: str = "logistic",
    learning_rate: Any = 1.0,
) -> Backpropagation:
    """Send one row through a network of given weights, and its squared error back: ½‖o − u‖².

    δ of the last layer is (o − u)·F′(s), that of another layer (Wδ)·F′(s), with W and δ of the layer above; then
    ∂loss/∂W = z·δ for the input z of the layer, and ∂loss/∂b = δ.

    Parameters
    ----------
    coefs : sequence of array-like of shape (from, to)
        W of each layer, as in `MultilayerPerceptron.coefs_`.
    intercepts : sequence of array-like of shape (to,)
    x : array-like of shape (d,)
    target : array-like
        u, one number per output.
    activation : {"logistic", "tanh", "relu", "identity"}, default="logistic"
        F, of all layers. With "relu" and "identity" the numbers are fractions.
    learning_rate : float, default=1.0
        η of the step.

    Returns
    -------
    Backpropagation

    Examples
    --------
    >>> from rosenblatt import teaching
    >>> W, b = [[[1, -1], [2, 1]], [[1], [2]]], [[0, 1], [-1]]
    >>> print(teaching.backpropagation(W, b, [1, 0.5], [1], activation="relu", learning_rate=0.1))
    forward   x = (1, 0.5)
      layer 1  s = (2, 0.5), F(s) = (2, 0.5)
      layer 2  s = (2), o = (2)
      loss     ½‖o − u‖² = 0.5, u = (1)
    back
      layer 2  δ2 = (o − u)·F′(s) = (1), ∂W2 = (2); (0.5)
      layer 1  δ1 = W2·δ2·F′(s) = (1, 2), ∂W1 = (1, 2); (0.5, 1)
    after the step
      layer 1  W1 = (0.9, −1.2); (1.95, 0.9), b1 = (−0.1, 0.8)
      layer 2  W2 = (0.8); (1.95), b2 = (−1.1)
    """
    if activation not in UNITS:
        raise ValueError(f"activation must be one of {', '.join(UNITS)}, got {activation!r}.")
    value, slope = UNITS[activation]
    exact = activation in RATIONAL

    def read(values: Any) -> Array:
        return np.asarray(printed_fractions(values) if exact else np.asarray(values, dtype=float))

    layers = [(read(W), read(b)) for W, b in zip(coefs, intercepts, strict=True)]
    x, u, eta = read(x), read(target), read(learning_rate)[()]
    shapes = [(len(x),), *(W.shape for W, _ in layers), (len(u),)]
    fits = all(below[-1] == above[0] for below, above in pairwise(shapes))
    if not layers or not fits or any(W.ndim != 2 or b.shape != W.shape[1:] for W, b in layers):
        raise ValueError("Weights have shape (from, to) and biases (to,), from x through each layer to the target.")
    sums, outputs = [], [x]
    for W, b in layers:
        sums.append(outputs[-1] @ W + b)
        outputs.append(np.array([value(s) for s in sums[-1]], dtype=x.dtype))
    error, half = outputs[-1] - u, Fraction(1, 2) if exact else 0.5
    deltas: list[Array] = []
    back = error
    for (W, _), s, z in zip(reversed(layers), reversed(sums), reversed(outputs), strict=False):
        delta = back * np.array([slope(one, other) for one, other in zip(s, z, strict=True)], dtype=x.dtype)
        deltas.insert(0, delta)
        back = W @ delta
    by_W = tuple(np.outer(z, delta) for z, delta in zip(outputs[:-1], deltas, strict=True))
    return Backpropagation(
        x=x,
        target=u,
        sums=tuple(sums),
        outputs=tuple(outputs[1:]),
        loss=half * (error @ error),
        deltas=tuple(deltas),
        coef_gradients=by_W,
        intercept_gradients=tuple(deltas),
        coefs=tuple(W - eta * g for (W, _), g in zip(layers, by_W, strict=True)),
        intercepts=tuple(b - eta * g for (_, b), g in zip(layers, deltas, strict=True)),
    )
