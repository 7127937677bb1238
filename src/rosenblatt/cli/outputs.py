"""Output of commands: JSON, and files that overwrite only files that rosenblatt wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any


def check_output(path: Path, inputs: Sequence[str], ours: Callable[[Path], bool], force: bool) -> None:
    """Refuse to overwrite an input, or, unless forced, an existing file that `ours` does not recognise."""
    from rosenblatt.formats.byte_sources import refuse_overwriting_inputs

    if path.is_dir():
        raise ValueError(f"{path}: this is a folder; name a file in it.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    refuse_overwriting_inputs(inputs, [path])
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"{path}: this is a device, a pipe or a socket; name a file.")
    if path.stat().st_size and not force and not ours(path):
        raise ValueError(f"{path}: this file exists and rosenblatt did not write it: name another, or give --force.")


def report_as_dict(model: Any) -> Any:
    """The report for JSON, with the number of epochs instead of their records."""
    if getattr(model, "report_", None) is None:
        return None
    report = asdict(model.report_)
    if "epochs" in report:
        report["epochs"] = len(report["epochs"])
    return report


def measures_as_dict(evaluation: Any) -> Any:
    """The measures on a test file for JSON."""
    from rosenblatt.cli.sequences import scores_as_dict
    from rosenblatt.sequence.chunks import SequenceScores

    if isinstance(evaluation, SequenceScores):
        return scores_as_dict(evaluation)
    return None if evaluation is None else asdict(evaluation)


def print_json(value: Any) -> None:
    """Print a value as JSON; null stands for numbers that JSON does not have."""

    def finite(node: Any) -> Any:
        if isinstance(node, dict):
            return {str(key): finite(item) for key, item in node.items()}
        if isinstance(node, list | tuple):
            return [finite(item) for item in node]
        if hasattr(node, "tolist"):  # an array
            return finite(node.tolist())
        if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
            return None
        return node if isinstance(node, str | int | float | bool | None) else str(node)

    print(json.dumps(finite(value), indent=2))
