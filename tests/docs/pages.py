"""Runs the code of a Markdown page: its Python blocks in one namespace, its commands in the folder of the run.

A fence of Python holds a session (`>>>`), or code with its output in a fence of text right after it. A fence of console
holds commands (`$ `) with their output, which is compared where it is shown. A fence with a caption is a file that the
commands read. An HTML comment that begins with "setup" is a session that the page does not show.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from typer.testing import CliRunner

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>```+)(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=marks) *$"
    r"|^<!-- setup\n(?P<hidden>.*?)-->",
    re.DOTALL | re.MULTILINE,
)
SECONDS = re.compile(r"\b(in|pass,|passes,) [\d.e-]+ s\b")  # "in 0.02 s", "10 passes, 0.3 s"


@dataclass(frozen=True)
class Block:
    """A fence of a page: its language, its text without indent and the line of that text, from 1."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fences of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        hidden = match["hidden"]
        body = hidden if hidden is not None else re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        language = "python" if hidden is not None else match["language"].strip()
        found.append(Block(language, body, text.count("\n", 0, match.start()) + 2))
    return found


def run(page: Path) -> int:
    """Run the code of a page in the current folder; the number of blocks that ran. AssertionError says what differs."""
    names: dict[str, object] = {"__name__": "__main__"}
    found, ran = blocks(page), 0
    for block, following in pairwise([*found, Block("", "", 0)]):
        where = f"{page.name}, line {block.line}"
        caption = re.match(r":caption: *(\S+)\n\n?", block.text)
        if caption and block.language.startswith("{code-block}"):
            Path(caption[1]).write_text(block.text[caption.end() :], encoding="utf-8")
        elif block.language in ("python", "pycon") and ">>>" in block.text:
            session(block, names, page)
        elif block.language == "python":
            shown = following.text if following.language == "text" else None
            script(block, shown, names, where)
        elif block.language == "console":
            commands(block, where)
        else:
            continue
        ran += 1
    return ran


def session(block: Block, names: dict[str, object], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line - 1)
    test.globs = names
    said = io.StringIO()
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.write, clear_globs=False)
    assert not said.getvalue(), said.getvalue()


def script(block: Block, shown: str | None, names: dict[str, object], where: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (block.line - 1) + block.text, where, "exec"), names)
    same(out.getvalue(), shown or "", where)


def commands(block: Block, where: str) -> None:
    parts = re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.MULTILINE)
    assert not parts[0].strip(), f"{where}: a block of commands begins with '$ '"
    for part in parts[1:]:
        command, _, shown = part.partition("\n")
        status, output = execute(command)
        assert status == 0, f"{where}: {command} ended with {status}:\n{output}"
        if shown.strip():
            same(output, shown, f"{where}: {command}")


def execute(command: str) -> tuple[int, str]:
    """The status and the output of a command: ours in this process, others in a shell."""
    words = shlex.split(command, comments=True)
    if words[0] != "rosenblatt" or {"|", "||"} & set(words):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # `rosenblatt` of this Python
        env = os.environ | {"PATH": path}
        ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, env=env)
        return ended.returncode, ended.stdout + ended.stderr
    from rosenblatt.cli.main import app

    streams = {}
    for mark in ("<", ">"):
        if mark in words:
            at = words.index(mark)
            streams[mark], words = words[at + 1], words[:at] + words[at + 2 :]
    given = Path(streams["<"]).read_bytes() if "<" in streams else None
    ended = CliRunner().invoke(app, words[1:], input=given)
    if ">" in streams:
        Path(streams[">"]).write_text(ended.stdout, encoding="utf-8")
        return ended.exit_code, ended.stderr
    return ended.exit_code, ended.output + (str(ended.exception) if ended.exception else "")


def same(output: str, shown: str, where: str) -> None:
    """The output is what the page shows, apart from seconds, white space and what an ellipsis stands for."""
    output, shown = (SECONDS.sub(r"\1 … s", text).strip() for text in (output, shown))
    if not doctest.OutputChecker().check_output(shown + "\n", output + "\n", FLAGS):
        raise AssertionError(f"{where}: the page shows\n{shown}\n\nand the code prints\n{output}")
