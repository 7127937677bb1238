"""The arithmetic of an update, as written out in a lecture."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rosenblatt.lab.runs import FIRST_ROW, Run, RunSettings
from rosenblatt.learn.number_format import counted, format_number, format_vector

Array = np.ndarray[Any, Any]
MOST_PRODUCTS = 4  # products are written out for up to this many features


def _signed(value: float) -> str:
    return f"({format_number(value)})" if value < 0 else format_number(value)


def _score(w: Array, x: Array, b: float, bias: bool) -> str:
    """F = w·x + b = 1·0 + 2·(−1) + 3 = 1."""
    f = float(w @ x + b)
    head = "f = w·x + b" if bias else "f = w·x"
    if w.size > MOST_PRODUCTS:
        return f"{head} = {format_number(f)}"
    terms = " + ".join(f"{_signed(p)}·{_signed(q)}" for p, q in zip(w, x, strict=True))
    return f"{head} = {terms}{' + ' + _signed(b) if bias else ''} = {format_number(f)}"


def step_lines(run: Run, k: int, X: Array, y: Array, settings: RunSettings, radius2: float) -> str:
    """The lines for update k of a run as HTML; k = 0 is the start."""
    bias = settings.bias != "none" or bool(run.b[0])
    if k == 0:
        where = f"w = {format_vector(run.W[0])}" + (f", b = {format_number(run.b[0])}" if bias else "")
        lines = [f"<b>Start</b>: {where}"]
        if run.updates:
            lines.append(f"Row {run.rows[0] + FIRST_ROW} makes the first update.")
    else:
        row, side = int(run.rows[k - 1]), 1 if y[run.rows[k - 1]] else -1
        w, b, x = run.W[k - 1], float(run.b[k - 1]), X[run.rows[k - 1]]
        f, sign = float(w @ x + b), "+1" if side > 0 else "−1"
        eta = "" if settings.rate == 1 else f"{format_number(settings.rate)}·"
        shift = {"none": 0.0, "unit": 1.0, "radius": radius2}[settings.bias]
        lines = [
            f"<b>Update {k} of {run.updates}</b>: row {row + FIRST_ROW}, x = {format_vector(x)}, y = {sign}",
            _score(w, x, b, bias),
            f"y·f = {format_number(side * f)} ≤ {format_number(settings.margin)}: "
            + ("a mistake" if side * f <= 0 else "less than the required margin"),
            f"w ← {format_vector(w)} + {eta}({sign})·{format_vector(x)} = <b>{format_vector(run.W[k])}</b>",
        ]
        if shift:
            by = "" if settings.bias == "unit" else f"·{format_number(shift)}"
            lines.append(f"b ← {format_number(b)} + {eta}({sign}){by} = <b>{format_number(run.b[k])}</b>")
    if k == run.updates:
        end = "Every row is on its correct side: separated."
        lines.append(end if run.converged else "Not separated, and it never will if no plane separates the rows.")
    return "".join(f"<div>{line}</div>" for line in lines)


def bound_text(run: Run, k: int) -> str:
    """The number of updates so far and the bound, as text."""
    count = counted(k, "update")
    if run.bound is None:
        return escape(f"{count}; no bound holds for this run.")
    return escape(f"{count} of at most {format_number(run.bound)} by the bound.")
