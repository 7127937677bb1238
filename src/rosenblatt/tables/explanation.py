"""Why a row has its score: what each column, and each feature, adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.tables.columns.encoding import ColumnEncoding
from rosenblatt.tables.columns.fourier import FourierFeatures

Array = np.ndarray[Any, Any]
SHOWN = 6  # features of a row in words
MOST_CHARACTERS = 40  # of the name of a column in words


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each column adds to the scores of rows: `base` plus the contributions of a row is its score, up to rounding.

    Attributes
    ----------
    columns : tuple of str
        The columns; random Fourier features are one term more, "interaction of …", of all columns together.
    contributions : ndarray of shape (n, columns), or (n, columns, K) for several classes
        What each column adds to the score of each row, or to those of all classes.
    base : ndarray of shape () or (K,)
        The score of a row whose features are all 0: of a table of numbers one with all means.
    scores : ndarray of shape (n,) or (n, K)
        The log odds of the second of two classes, the score of each of several classes (`decision_function`), or the
        predicted number.
    features : tuple of tuple of (str, float)
        For each row the features that add the most, such as words, with what they add; for several classes to the
        score of the predicted one.

    Examples
    --------
    >>> import polars as pl
    >>> from rosenblatt import TableRegressor
    >>> table = pl.DataFrame({"size": [k / 2 for k in range(30)], "rooms": [float(k % 3) for k in range(30)]})
    >>> model = TableRegressor(learner="linear", random_state=0).fit(table, [3.0 * k for k in range(30)])
    >>> why = model.explain(table[20:21])
    >>> why.columns
    ('size', 'rooms')
    >>> bool(abs(why.base + why.contributions.sum() - model.predict(table[20:21])[0]) < 1e-9)
    True
    >>> print(why)
    score +59.56 = base +43.50, size +15.96, rooms +0.09
    """

    columns: tuple[str, ...]
    contributions: Array
    base: Array
    scores: Array
    features: tuple[tuple[tuple[str, float], ...], ...]

    def __str__(self) -> str:
        """The rows in words, one line per row whatever the columns are called."""
        return "\n".join(" ".join(self._row(k).split()) for k in range(len(self.features)))

    def _row(self, k: int) -> str:
        score, base, parts = self.scores[k], self.base, self.contributions[k]
        if score.ndim:
            best = int(score.argmax())
            score, base, parts = score[best], base[best], parts[:, best]
        order = np.argsort(-np.abs(parts), kind="stable").tolist()
        added = ", ".join(f"{_short(self.columns[j])} {_signed(parts[j])}" for j in order[:SHOWN])
        return f"score {_signed(score)} = base {_signed(base)}, {added}{', …' if len(order) > SHOWN else ''}"


def explained(
    columns: tuple[ColumnEncoding, ...], fourier: FourierFeatures | None, X: Any, coef: Array, base: Array
) -> Explanation:
    """The contributions of columns to the scores of encoded rows.

    Parameters
    ----------
    columns : tuple of ColumnEncoding
    fourier : FourierFeatures or None
    X : csr_matrix of shape (n, d)
        Without random features.
    coef : ndarray of shape (planes, d), or with the weights of random features after them
    base : ndarray of shape (planes,)
    """
    names, parts, begin = [one.name for one in columns], [], 0
    for one in columns:
        end = begin + one.encoding.width
        parts.append(X[:, begin:end] @ coef[:, begin:end].T)
        begin = end
    if fourier is not None:
        names.append(f"interaction of {', '.join(names)}")
        parts.append(fourier.values(X) @ coef[:, begin:].T)
    contributions = np.stack(parts, axis=1) if parts else np.zeros((X.shape[0], 0, coef.shape[0]))
    scores = contributions.sum(axis=1) + base
    features = [name for one in columns for name in one.feature_names()]
    plane = scores.argmax(axis=1)
    told = tuple(_largest(features, X[k], coef[plane[k]]) for k in range(X.shape[0]))
    if coef.shape[0] == 1:
        contributions, scores, base = contributions[..., 0], scores[:, 0], base[0]
    return Explanation(tuple(names), contributions, np.asarray(base), scores, told)


def _largest(names: list[str], row: Any, weights: Array) -> tuple[tuple[str, float], ...]:
    """The features of a row that add the most."""
    added = row.data * weights[row.indices]
    order = np.argsort(-np.abs(added), kind="stable")[:SHOWN].tolist()
    return tuple((names[row.indices[j]], float(added[j])) for j in order if added[j])


def _short(name: str) -> str:
    return name if len(name) <= MOST_CHARACTERS else f"{name[: MOST_CHARACTERS - 1]}…"


def _signed(value: Any) -> str:
    return f"{'−' if value < 0 else '+'}{abs(float(value)):.2f}"
