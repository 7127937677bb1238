"""Questions whose answers unfold: a directive `question` with the question as argument and the answer as content."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Question(nodes.General, nodes.Element):
    """A question, its first child, and its answer."""


class Asked(nodes.Part, nodes.TextElement):
    """The text of a question."""


class QuestionDirective(SphinxDirective):
    """:::{question} Why? and lines of answer."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        words, messages = self.parse_inline(self.arguments[0])
        return [Question("", Asked("", "", *words), *messages, *self.parse_content_to_nodes())]


def start(tag: str, **attributes: str) -> Any:
    return lambda self, node: self.body.append(self.starttag(node, tag, **attributes))


def end(tag: str) -> Any:
    return lambda self, node: self.body.append(f"</{tag}>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(Question, html=(start("details", CLASS="question"), end("details")))
    app.add_node(Asked, html=(start("summary"), end("summary")))
    app.add_directive("question", QuestionDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
