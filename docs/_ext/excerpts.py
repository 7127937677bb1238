"""The words of every page for the page of search results, which opened from disk may not fetch the pages themselves."""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MOST = 30_000  # characters of a page


def prose(doctree: nodes.document) -> str:
    """The paragraphs and headings of a page, in one line; of the gallery without the notes of its maker."""
    kept = (node for node in doctree.findall(lambda node: isinstance(node, nodes.paragraph | nodes.title)))
    parts = [node.astext() for node in kept if "sphx-glr" not in " ".join(node.parent.get("classes", []))]
    return re.sub(r"\s+", " ", " ".join(parts))[:MOST]


def on_search_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == "search":
        app.add_js_file("excerpts.js")
        app.add_js_file("search_excerpts.js", loading_method="defer")


def write(app: Sphinx, problem: Exception | None) -> None:
    if problem is None and app.builder.name == "html":
        words = {page: prose(app.env.get_doctree(page)) for page in sorted(app.env.found_docs)}
        text = f"window.bookWords = {json.dumps(words, ensure_ascii=False)};\n"
        Path(app.outdir, "_static", "excerpts.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", on_search_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
