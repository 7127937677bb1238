"""Docstrings as the book shows them: formulas in Unicode keep their lines, and only our own members are listed."""

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

# "Attributes" is a list like "Parameters": napoleon's own would lose the underscore at the end of coef_.
NUMPYDOC = Config(napoleon_use_rtype=False, napoleon_custom_sections=[("Attributes", "params_style")])
UNDERLINE = re.compile(r"-{3,}$")


def sectioned(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each line with the heading of its section; "" before the first."""
    heading = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        heading = line if line.strip() and UNDERLINE.match(below) else heading
        yield line, heading


def escaped(line: str) -> str:
    """A line of prose in which |w|, coef_ and A. Author are no markup; `names` in backticks stay."""
    parts = re.sub(r"^([A-Z])\. ", r"\1\\. ", line).split("`")
    parts[::2] = [re.sub(r"\||(?<=[a-z])_(?=[\s,.;:)ᵀ]|$)", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def rendered(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring in numpydoc's sections as reStructuredText.

    Indented lines before the first section are formulas: they become literal blocks.
    """
    made: list[str] = []
    inside = False
    for line, heading in sectioned(list(lines)):
        formula = not heading and line.startswith("    ")
        if formula and not inside:
            made += [*([""] if made and made[-1].strip() else []), ".. code-block:: none", "   :class: formula", ""]
        elif inside and line.strip() and not formula:
            made += [] if not made[-1].strip() else [""]
        inside = formula or (inside and not line.strip())
        # napoleon escapes the names that begin the lines of a section itself.
        prose = heading != "Examples" and not formula and (heading in ("", "References") or line.startswith(" "))
        made.append(escaped(line) if prose else line)
    # The summary of a property is a sentence, in which napoleon would take the words before a colon for a type.
    kind = "method" if what in ("property", "attribute", "data") else what
    lines[:] = NumpyDocstring(made, NUMPYDOC, app, kind, name, obj, options).lines()


def others(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn, the standard library or Python itself documents."""
    target = obj.fget if isinstance(obj, property) else getattr(obj, "__func__", obj)
    home = getattr(target, "__module__", None) or "rosenblatt"
    return True if not home.startswith("rosenblatt") else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", rendered)
    app.connect("autodoc-skip-member", others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
