"""The page of the command line, made of what each command prints with --help."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def page() -> str:
    """The page as Markdown."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from rosenblatt.cli.main import app

    parts = [
        "# The command line\n",
        "What `rosenblatt` and each of its commands print with `--help` (`train` with `--help-all`). They end with"
        " status 0 if all went well, with 1 where `check` finds that no plane separates, 2 for bad input, 3 where"
        " `check` cannot decide, and 130 after Ctrl-C.\n",
    ]
    for name in ("", *get_command(app).commands):
        words = [*([name] if name else []), "--help-all" if name == "train" else "--help"]
        said = CliRunner().invoke(app, words, prog_name="rosenblatt", env={"COLUMNS": "90", "TERM": "dumb"})
        lines = "\n".join(line.rstrip() for line in said.stdout.strip("\n").splitlines())
        parts.append(f"## rosenblatt {name}".rstrip() + f"\n\n```text\n{lines.strip()}\n```\n")
    return "\n".join(parts)


def write(app: Sphinx) -> None:
    folder = Path(app.srcdir, "reference", "api")
    folder.mkdir(parents=True, exist_ok=True)
    path, text = folder / "commands.md", page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write, priority=100)  # before autosummary lists the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
