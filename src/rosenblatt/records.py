"""Records: what fits, proofs, bounds, traces and readers return, for annotations, and to read from JSON.

The stub next to this file lists them, each with its module, which is imported when its record is first used.

Examples
--------
>>> from rosenblatt import separability
>>> from rosenblatt.records import Separability
>>> verdict = separability([[0.0], [1.0]], [0, 1])
>>> Separability.from_json(verdict.to_json()) == verdict
True
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

# lazy_loader's stubs are for packages: it would put the records among the names of rosenblatt itself.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {one.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for one in node.names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"rosenblatt.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__.copy()
