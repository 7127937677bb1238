"""A trace as a text table that a student can check with pencil and paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rosenblatt.learn.number_format import counted, format_number, format_vector

if TYPE_CHECKING:
    from rosenblatt.tracing.recording import Step
    from rosenblatt.tracing.trace import Trace

MOST_STEPS_SHOWN = 200
RIGHT_ALIGNED = {"step", "epoch", "row", "f = w·x", "f = w·x + b", "y·f", "margin"}


def format_trace(trace: Trace) -> str:
    """The start, one line per step, and the outcome."""
    bias = bool(trace.parameters.get("fit_intercept", True)) or any(trace.start[1])
    lines = [_line(trace, step, bias) for step in trace.steps[:MOST_STEPS_SHOWN]]
    heads = ["step", "epoch", "row", "x", "y", "f = w·x + b" if bias else "f = w·x"]
    heads += ["y·f" if trace.binary else "margin", "", "w" if not bias else "w, b"]
    if len(trace.start[1]) > 1:
        heads[5] = "scores"
    if any(step.plane for step in trace.steps):
        heads[-1] += " of the pair that was updated"
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    text = [f"{trace.learner}: {_planes(trace.start[0], trace.start[1], bias)} at the start", ""]
    for cells in ([*heads], *lines):
        pairs = zip(cells, widths, heads, strict=True)
        row = [cell.rjust(width) if head in RIGHT_ALIGNED else cell.ljust(width) for cell, width, head in pairs]
        text.append("  ".join(row).rstrip())
    if len(trace.steps) > MOST_STEPS_SHOWN:
        text.append(f"… and {len(trace.steps) - MOST_STEPS_SHOWN:,} more steps")
    return "\n".join([*text, "", _summary(trace)])


def _line(trace: Trace, step: Step, bias: bool) -> list[str]:
    if step.row is None:
        seen = [", ".join(str(row + trace.first) for row in step.rows) or "none", "", "", "", ""]
    else:
        assert step.scores is not None
        scores = format_number(step.scores[0]) if len(step.scores) == 1 else format_vector(step.scores)
        seen = [
            str(step.row + trace.first),
            format_vector(trace.X[step.row]),
            _label(trace, step.label),
            scores,
            _margin_comparison(trace, step),
        ]
    moved = ["→", _planes(step.coef, step.intercept, bias, name=False)] if step.updated else ["", ""]
    return [str(step.number), str(step.epoch), *seen, *moved]


def _label(trace: Trace, label: Any) -> str:
    if trace.binary and not isinstance(label, bool | str) and set(trace.y) <= {1, -1}:
        return "+1" if label == 1 else "−1"
    return str(label)


def _margin_comparison(trace: Trace, step: Step) -> str:
    """The margin compared with the required margin: "0 ≤ 0"."""
    required = _required_margin(trace, step.label)
    if required is None:
        return format_number(step.margin)
    if step.margin == required and not step.updated:
        # A passive-aggressive margin is just enough; of several classes that score alike the lowest is the answer.
        tie = ", wins the tie" if required == 0 and not trace.binary else ""
        return f"{format_number(step.margin)} = {format_number(required)}{tie}"
    sign = "≤" if step.margin <= required else ">"
    return f"{format_number(step.margin)} {sign} {format_number(required)}"


def _required_margin(trace: Trace, label: Any) -> Any:
    """The margin that the rule requires of a row with this label; None if it is not a single number."""
    if trace.learner in ("PassiveAggressive", "AROW"):
        return 1
    margin = trace.parameters.get("margin", 0)
    if isinstance(margin, tuple | list):
        return margin[int(label == max(trace.y))] if trace.binary else None
    return None if trace.learner.endswith("Regressor") else margin


def _planes(coef: Any, intercept: Any, bias: bool, name: bool = True) -> str:
    parts = [
        format_vector(w) + (f", {format_number(b)}" if bias and not name else "")
        for w, b in zip(coef, intercept, strict=True)
    ]
    if not name:
        return "; ".join(parts)
    parts = [f"w = {part}" for part in parts]
    return "; ".join(f"{p}, b = {format_number(b)}" if bias else p for p, b in zip(parts, intercept, strict=True))


def _summary(trace: Trace) -> str:
    unfinished = "not solved" if trace.learner.endswith("Regressor") else "not separated"
    how = {"budget": unfinished, "early": "stopped early"}.get(trace.outcome, trace.outcome)
    text = f"{how} after {counted(len(trace.updates), 'update')} in {counted(len(trace.steps), 'step')}"
    if trace.bound is not None:
        text += f"; the bound allows {format_number(trace.bound)}"
        text += " rows that move w" if trace.parameters.get("update") == "batch" else ""
    return text
