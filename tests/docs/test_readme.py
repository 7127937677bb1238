"""The README is short, its code runs, its figures are those of the benchmarks, and the home page says the same."""

import importlib.util
import re
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
HOME = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_readme_can_be_read_at_once():
    assert len(TEXT.split()) <= 900


@pytest.mark.compiled  # 62 epochs, in seconds
def test_code_prints_what_the_readme_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.run(ROOT / "README.md") == TEXT.count("```python") >= 1


def test_the_home_page_shows_the_first_code_of_the_readme():
    shown = re.compile(r"```python\n.*?```\n\n```text\n.*?```", re.DOTALL)
    (code,) = shown.findall(HOME)
    assert shown.findall(TEXT)[0] == code
    assert len(code.split("```")[1].splitlines()) <= 12  # ten lines, the language and a blank


@pytest.mark.parametrize("text", [TEXT, HOME], ids=["README", "home page"])
def test_the_two_commands_exist(text):
    commands = re.findall(r"^(?: {4})?make (\w+)", text, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{one}:", MAKEFILE, re.MULTILINE) for one in [*commands, "docs", "bench"])


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_figures_of_the_readme_are_those_of_the_benchmarks():
    spec = importlib.util.spec_from_file_location("headline", ROOT / "benchmarks" / "headline.py")
    headline = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(headline)
    page = headline.PAGE.read_text(encoding="utf-8")
    table = TEXT[TEXT.index(headline.BEGIN) + len(headline.BEGIN) : TEXT.index(headline.END)]
    assert table.strip() == headline.table(page)
    assert len(headline.rows(page)) == len(headline.CHOSEN) == 6
    assert headline.seconds_or_speed("138.8 ms, processor 138.8 (PA-I C=0.01, average, 2 epochs: 0.9247)") == "0.14 s"
    assert headline.seconds_or_speed("linprog 0.97 s") == "0.97 s"
    assert headline.seconds_or_speed("load_svmlight_file 27 MB/s") == "27 MB/s"


def test_the_animation_is_small():
    assert (ROOT / "docs" / "lab" / "lab.gif").stat().st_size < 2_000_000


def test_the_citation_is_of_this_version():
    from rosenblatt import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_workflow_runs_targets_of_the_makefile():
    targets = re.findall(r"run: make ([\w-]+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert {"check", "test-all", "docs"} <= set(targets)
    assert all(re.search(rf"^{one}:", MAKEFILE, re.MULTILINE) for one in targets)
    local = re.findall(r"^make ([\w-]+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert targets == [*local, "fresh"]  # which needs the package index
