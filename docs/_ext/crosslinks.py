"""Links between the pages and the reference, which the pages leave to the build so that they also read well as files.

A public name in backticks leads to its page, at its first occurrence in a section; the page of the name lists the pages
that use it. Links to the scripts of the gallery lead to their pages.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

API = "reference/api/"
# Pages about the library and its development; they use every name.
NO_USES = ("changelog", "contributing", "inside", "benchmarks", "security", "pictures", "reference/")
# Functions whose names are also common methods or words: linked only as `rosenblatt.fit` or in a call of a module.
COMMON = {"fit", "predict", "score", "read", "stream", "load", "save", "margins", "losses", "teaching"}
OTHERS = re.compile(r"(scikit-learn|sklearn|Vowpal Wabbit|LIBLINEAR|Python)['’]s\s*$|\bas in scikit-learn\b.*$")


@cache
def public_names() -> dict[str, str]:
    """What a page may call a public object: from "Perceptron", "plot.regions", "Report" to the full name."""
    import rosenblatt

    names = {name: f"rosenblatt.{name}" for name in rosenblatt.__all__ if name not in COMMON}
    for room in ("plot", "records"):
        names |= {f"{room}.{name}": f"rosenblatt.{room}.{name}" for name in getattr(rosenblatt, room).__all__}
    names |= {name: f"rosenblatt.records.{name}" for name in rosenblatt.records.__all__ if name not in names}
    return names | {full: full for full in [*names.values(), *(f"rosenblatt.{name}" for name in COMMON)]}


def full_name(text: str) -> str | None:
    """The public object that a literal names: `Perceptron`, `Perceptron(keep="vote")`, `plot.hulls(X, y)`."""
    match = re.match(r"([A-Za-z_][\w.]*)(\(.*\))?$", text, re.DOTALL)
    return public_names().get(match[1]) if match else None


def section_of(node: nodes.Node) -> nodes.Node:
    while node.parent is not None and not isinstance(node, nodes.section):
        node = node.parent
    return node


def of_another_library(literal: nodes.literal) -> bool:
    """Whether the words before say that the name is that of another library."""
    before = literal.parent.children[: literal.parent.index(literal)]
    return bool(OTHERS.search("".join(node.astext() for node in before)))


def literals(doctree: nodes.document) -> Iterator[tuple[nodes.literal, str]]:
    """The literals that name a public object, at its first occurrence in a section, with its full name."""
    seen = set()
    for literal in list(doctree.findall(nodes.literal)):
        name = full_name(literal.astext())
        inside = (nodes.reference, nodes.title, addnodes.pending_xref, addnodes.desc_signature)
        parent = literal.parent
        while parent is not None and not isinstance(parent, inside):
            parent = parent.parent
        place = (name, id(section_of(literal)))
        if name and parent is None and place not in seen and not of_another_library(literal):
            seen.add(place)
            yield literal, name


def imported(doctree: nodes.document) -> set[str]:
    """The public objects that the code of a page imports."""
    code = "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))
    found = re.findall(r"^(?:>>> )?from rosenblatt(\.\w+)? import (\([^)]*\)|[^\n#]*)", code, re.MULTILINE)
    return {
        full
        for room, names in found
        for name in re.findall(r"\w+", names)
        if (full := f"rosenblatt{room}.{name}") in public_names().values()
    }


def note_uses(app: Sphinx, doctree: nodes.document) -> None:
    """Note which public objects a page names or imports."""
    page = app.env.docname
    if page.startswith(NO_USES):
        return
    for name in imported(doctree) | {name for _, name in literals(doctree)}:
        uses(app.env).setdefault(name, set()).add(page)


def uses(env: Any) -> dict[str, set[str]]:
    if not hasattr(env, "rosenblatt_uses"):
        env.rosenblatt_uses = {}
    return env.rosenblatt_uses


def purge(app: Sphinx, env: Any, page: str) -> None:
    for pages in uses(env).values():
        pages.discard(page)


def merge(app: Sphinx, env: Any, pages: Any, other: Any) -> None:
    for name, found in uses(other).items():
        uses(env).setdefault(name, set()).update(found & set(pages))


def api_pages(app: Sphinx, env: Any) -> list[str]:
    """The pages of the reference are written anew: pages that use their names may have changed."""
    return [page for page in env.found_docs if page.startswith(API)]


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add the links to a page before it is written."""
    objects = app.env.get_domain("py").objects
    for literal, name in list(literals(doctree)):
        target = objects.get(name)
        if target and target.docname != page:
            parent, at = literal.parent, literal.parent.index(literal)
            parent.insert(
                at, make_refnode(app.builder, page, target.docname, target.node_id, [literal.deepcopy()], name)
            )
            parent.remove(literal)
    for script in list(doctree.findall(addnodes.download_reference)):
        path = PurePosixPath(script.get("reftarget", ""))
        if path.parent.name == "gallery" and not page.startswith("gallery/"):
            there = make_refnode(app.builder, page, f"gallery/{path.stem}", "", [nodes.Text(script.astext())])
            script.replace_self(there)
    used = sorted(uses(app.env).get(page.removeprefix(API), set())) if page.startswith(API) else []
    if used:
        links = nodes.paragraph("", "", nodes.strong("", "Used in"), nodes.Text(": "))
        for number, other in enumerate(used):
            title = app.env.titles[other].astext()
            links += [nodes.Text(", ")] if number else []
            links += make_refnode(app.builder, page, other, "", [nodes.Text(title)])
        doctree.children[0] += links


def tails(full: str) -> list[str]:
    """What a full name ends with, the longest first: "a.b.c", "b.c", "c"."""
    parts = full.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def backlinks(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Lead the links of a page of source code to the anchors where its names are described.

    Sphinx makes an anchor from the module by which the first name of a file was reached, and the names of one file are
    reached by several: `rosenblatt.plot.hulls` and `rosenblatt.records.Hulls` stand in one.
    """
    if not page.startswith("_modules/"):
        return
    anchors = {}
    for full, entry in app.env.get_domain("py").objects.items():
        there = app.builder.get_relative_uri(page, entry.docname)
        anchors |= {(there, tail): entry.node_id for tail in tails(full)}

    def mended(link: re.Match[str]) -> str:
        found = [anchors[link[1], tail] for tail in tails(link[2]) if (link[1], tail) in anchors]
        return f'<a class="viewcode-back" href="{link[1]}#{(found or [link[2]])[0]}">'

    context["body"] = re.sub(r'<a class="viewcode-back" href="([^"#]*)#([^"]*)">', mended, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", note_uses)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", api_pages)
    app.connect("doctree-resolved", link)
    app.connect("html-page-context", backlinks)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
