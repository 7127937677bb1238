"""The code of every page of the book runs, and prints what the page shows."""

import os
import warnings
from pathlib import Path

import pages
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if not {"_build", "gallery", "api"} & set(page.relative_to(DOCS).parts)
)
NOT_RUN = {"cluster.md"}  # these show code for machines that a test does not have


@pytest.mark.compiled  # at its own speed; make coverage has the tests of the parts
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_prints_what_the_page_shows(name, tmp_path, tmp_path_factory, monkeypatch):
    page = DOCS / name
    if "ROSENBLATT_DATA" not in os.environ and "needs: ROSENBLATT_DATA" in page.read_text(encoding="utf-8"):
        pytest.skip("the page works on data sets in the folder ROSENBLATT_DATA, which is not set")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path_factory.mktemp("caches")))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pages.run(page)


@pytest.mark.parametrize("name", PAGES)
def test_code_that_does_not_run_stands_only_where_it_cannot(name):
    shown = [block for block in pages.blocks(DOCS / name) if block.language == "{code-block} python"]
    assert not shown or name in NOT_RUN


BROKEN = {
    "a session": ("```python\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
    "code and output": ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "the page shows\n3"),
    "a command": ("```console\n$ rosenblatt --version\nrosenblatt 99\n```\n", "99"),
    "a command that fails": ("```console\n$ rosenblatt info none.model\n```\n", "none.model"),
    "a shell command": ("```console\n$ echo one\ntwo\n```\n", "one"),
    "what an earlier block made": ("```python\n>>> a = 1\n```\n```python\n>>> a\n2\n```\n", "Got:\n    1"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_page_that_shows_something_else_fails(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, why = BROKEN[kind]
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError) as found:
        pages.run(page)
    assert why in str(found.value)


def test_a_page_writes_files_with_a_caption_and_hides_its_setup(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- setup\n>>> b = 2\n-->\n```{code-block} text\n:caption: rows.csv\n\na,b\n1,2\n```\n"
        "```console\n$ cat rows.csv\na,b\n1,2\n```\n```python\n>>> b\n2\n```\n"
    )
    assert pages.run(page) == 4
