"""Docstrings as the book shows them: formulas in Unicode keep their lines, and only our own members are listed."""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

# "Attributes" is a list like "Parameters": napoleon's own would lose the underscore at the end of coef_.
NUMPYDOC = Config(napoleon_use_rtype=False, napoleon_custom_sections=[("Attributes", "params_style")])
UNDERLINE = re.compile(r"-{3,}$")


def sectioned(lines: list[str]) -> list[int]:
    """For each line the number of the last section heading at or above it, counted from 1; 0 before the first."""
    number, numbers = 0, []
    for at, line in enumerate(lines):
        number += at + 1 < len(lines) and bool(line.strip()) and bool(UNDERLINE.match(lines[at + 1]))
        numbers.append(number)
    return numbers


def rendered(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring in numpydoc's sections as reStructuredText.

    Indented lines before the first section are formulas: they become literal blocks. Bars are escaped elsewhere: |w| is
    an absolute value, never a substitution of reStructuredText.
    """
    made: list[str] = []
    inside = False
    for line, section in zip(list(lines), sectioned(lines), strict=True):
        formula = section == 0 and line.startswith("    ")
        if formula and not inside:
            made += [*([""] if made and made[-1].strip() else []), ".. code-block:: none", "   :class: formula", ""]
        elif inside and line.strip() and not formula:
            made += [] if not made[-1].strip() else [""]
        inside = formula or (inside and not line.strip())
        made.append(line if formula or ">>>" in line else re.sub(r"(?<!\\)\|", r"\\|", line))
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
