"""A trace as a table that a student can follow with pencil and paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rosenblatt.show.number_format import vector, written

if TYPE_CHECKING:
    from rosenblatt.show.recording import Step
    from rosenblatt.show.trace import Trace

SHOWN = 200  # steps printed at most
RIGHT = {"step", "epoch", "row", "f = w·x", "f = w·x + b", "y·f", "margin"}


def table(trace: Trace) -> str:
    """The start, one line a step, and how it ended."""
    bias = bool(trace.parameters.get("fit_intercept", True)) or any(trace.start[1])
    lines = [_line(trace, step, bias) for step in trace.steps[:SHOWN]]
    heads = ["step", "epoch", "row", "x", "y", "f = w·x + b" if bias else "f = w·x"]
    heads += ["y·f" if trace.binary else "margin", "", "w" if not bias else "w, b"]
    if len(trace.start[1]) > 1:
        heads[5] = "scores"
    if any(step.plane for step in trace.steps):
        heads[-1] += " of the pair that learned"
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    text = [f"{trace.learner}: {_planes(trace.start[0], trace.start[1], bias)} at the start", ""]
    for cells in ([*heads], *lines):
        pairs = zip(cells, widths, heads, strict=True)
        row = [cell.rjust(width) if head in RIGHT else cell.ljust(width) for cell, width, head in pairs]
        text.append("  ".join(row).rstrip())
    if len(trace.steps) > SHOWN:
        text.append(f"… and {len(trace.steps) - SHOWN:,} more steps")
    return "\n".join([*text, "", _ending(trace)])


def _line(trace: Trace, step: Step, bias: bool) -> list[str]:
    if step.row is None:
        seen = ["all", "", "", "", ""]
    else:
        assert step.scores is not None
        scores = written(step.scores[0]) if len(step.scores) == 1 else vector(step.scores)
        seen = [str(step.row), vector(trace.X[step.row]), _label(trace, step.label), scores, _compared(trace, step)]
    moved = ["→", _planes(step.coef, step.intercept, bias, name=False)] if step.updated else ["", ""]
    return [str(step.number), str(step.epoch), *seen, *moved]


def _label(trace: Trace, label: Any) -> str:
    if trace.binary and not isinstance(label, bool | str) and set(trace.y) <= {1, -1}:
        return "+1" if label == 1 else "−1"
    return str(label)


def _compared(trace: Trace, step: Step) -> str:
    """The margin against what the rule asks: "0 ≤ 0"."""
    asked = asked_of(trace, step.label)
    if asked is None:
        return written(step.margin)
    sign = "≤" if step.margin <= asked else ">"
    return f"{written(step.margin)} {sign} {written(asked)}"


def asked_of(trace: Trace, label: Any) -> Any:
    """The margin that the rule asks of a row with this label; None where it is not one number."""
    if trace.learner in ("PassiveAggressive", "AROW"):
        return 1
    margin = trace.parameters.get("margin", 0)
    if isinstance(margin, tuple | list):
        return margin[int(label == max(trace.y))] if trace.binary else None
    return None if trace.learner.endswith("Regressor") else margin


def _planes(coef: Any, intercept: Any, bias: bool, name: bool = True) -> str:
    parts = [vector(w) + (f", {written(b)}" if bias and not name else "") for w, b in zip(coef, intercept, strict=True)]
    if not name:
        return "; ".join(parts)
    parts = [f"w = {part}" for part in parts]
    return "; ".join(f"{p}, b = {written(b)}" if bias else p for p, b in zip(parts, intercept, strict=True))


def _ending(trace: Trace) -> str:
    updates = len(trace.updates)
    how = {"converged": "converged", "budget": "not converged", "early": "stopped early"}[trace.outcome]
    text = f"{how} after {updates} update{'' if updates == 1 else 's'} in {len(trace.steps)} steps"
    if trace.bound is not None:
        text += f"; by the bound there could be {written(trace.bound)}"
    return text
