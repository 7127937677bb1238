"""List every file of the package with the first sentence of its docstring.

`python docs/map/files.py` renews the tables of docs/inside.md.
"""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, PAGE = ROOT / "src" / "rosenblatt", ROOT / "docs" / "inside.md"
HEADING = "## Where things are\n"


def summary(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    words = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    sentence = re.split(r"\.(?= [A-Z])", words)[0].removesuffix(".").removesuffix(":")
    return sentence.replace("|", "\\|").replace("*", "\\*")


def tables() -> str:
    """A table for each package, lowest first in the import contract, and one for the modules beside them."""
    from draw import layers

    order = [room for layer in reversed(layers()) for room in layer]
    paths = [path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "_version.py")]
    alone = [path for path in paths if path.parent == PACKAGE]
    inside = sorted(set(paths) - set(alone), key=lambda path: (order.index(path.relative_to(PACKAGE).parts[0]), path))
    groups = {room: list(found) for room, found in groupby(inside, lambda path: path.relative_to(PACKAGE).parts[0])}
    parts = []
    for room, found in [*groups.items(), ("Modules of one file", sorted(alone))]:
        rows = [f"| `{path.relative_to(PACKAGE).as_posix()}` | {summary(path)} |" for path in found]
        parts.append("\n".join([f"### {room}", "", "| file | what it has |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    before, heading, after = PAGE.read_text(encoding="utf-8").partition(HEADING)
    introduction = after.partition("\n### ")[0].strip("\n")
    PAGE.write_text(f"{before}{heading}\n{introduction}\n\n{tables()}", encoding="utf-8")
