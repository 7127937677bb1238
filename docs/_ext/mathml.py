"""Formulas in TeX become MathML when the book is built, so that no page needs a script or a font from elsewhere."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def converted(node: nodes.Element, *, block: bool) -> str:
    """The MathML of a formula; a warning, which fails the build, where TeX cannot be converted."""
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as problem:
        logger.warning("cannot convert %r to MathML: %s", node.astext(), problem, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(converted(node, block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{converted(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
