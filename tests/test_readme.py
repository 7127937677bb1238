"""The README's code runs, and prints what the README says it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


SHOWN = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_shows_code_and_right_after_it_its_output() -> None:
    assert len(SHOWN) == README.read_text(encoding="utf-8").count("```python") >= 2


@pytest.mark.parametrize(("code", "shown"), SHOWN, ids=range(len(SHOWN)))
def test_code_prints_what_the_readme_shows(code: str, shown: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})

    # The time taken is the only thing that may differ from machine to machine.
    def without_seconds(lines: str) -> str:
        return re.sub(r"in [\d.e-]+ s", "in … s", lines)

    assert without_seconds(out.getvalue()).rstrip() == without_seconds(shown).rstrip()


@pytest.mark.parametrize("command", ["make demo", "make test", "make bench"])
def test_commands_of_the_readme_exist(command: str) -> None:
    assert command in README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)
