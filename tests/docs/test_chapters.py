"""Every chapter has what a chapter promises, and its state of the lab opens."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pages
import pytest

CHAPTERS = Path(__file__).parents[2] / "docs" / "chapters"
NAMES = sorted(page.stem for page in CHAPTERS.glob("*.md") if page.stem != "index")


@pytest.fixture
def states():
    pytest.importorskip("panel", reason="the lab is an extra")
    spec = spec_from_file_location("states_of_chapters", CHAPTERS / "states" / "make.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_formulas_code_a_picture_or_figure_questions_and_links(name):
    text = (CHAPTERS / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("$") >= 2
    assert any(">>>" in block.text for block in pages.blocks(CHAPTERS / f"{name}.md"))
    assert "](../pictures/" in text
    assert 2 <= text.count(":::{question}") <= 3
    assert "\n$ rosenblatt lab " in text
    assert "**Reference**: `" in text
    for picture in re.findall(r"\]\(\.\./pictures/([^)]*)\)", text):
        assert (CHAPTERS.parent / "pictures" / picture).exists()


def test_the_index_lists_every_chapter_in_the_order_of_its_table():
    text = (CHAPTERS / "index.md").read_text(encoding="utf-8")
    table, themes = text.split("## Where each theme")
    order = text.split(":hidden:")[1].split("```")[0].split()
    assert order == re.findall(r"\]\((\w+)\.md\)", table)
    assert sorted(order) == NAMES
    assert set(re.findall(r"\]\((\w+)\.md", themes)) == set(NAMES)


def test_the_states_are_those_of_the_figures_and_the_lab_shows_them(states):
    from rosenblatt.lab import app
    from rosenblatt.lab.sharing import Snapshot

    app.configure_panel()
    lab = app.Lab()
    for name in states.STATES:
        stored = Snapshot.from_json((CHAPTERS / "states" / f"{name}.json").read_text(encoding="utf-8"))
        assert stored == states.state(name)
        assert f"$ rosenblatt lab docs/chapters/states/{name}.json" in (CHAPTERS / f"{name}.md").read_text(
            encoding="utf-8"
        )
        lab.restore(stored)
        assert lab.tabs.active == stored.page
        assert lab.session.X.tolist() == [list(point) for point in zip(stored.x, stored.y, strict=True)]
    assert {path.stem for path in (CHAPTERS / "states").glob("*.json")} == set(states.STATES)
