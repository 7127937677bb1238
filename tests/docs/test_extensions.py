"""What the book adds to its pages: links from names to the reference, and buttons that copy code without prompts."""

import os
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = os.environ.get("ROSENBLATT_CHROMIUM") or shutil.which("chromium")


@pytest.fixture
def crosslinks(monkeypatch):
    pytest.importorskip("sphinx", reason="the tools of the book are installed by make docs")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import crosslinks

    return crosslinks


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Perceptron", "rosenblatt.Perceptron"),
        ('Perceptron(keep="vote")', "rosenblatt.Perceptron"),
        ("plot.hulls(X, y)", "rosenblatt.plot.hulls"),
        ("Report", "rosenblatt.records.Report"),
        ("rosenblatt.fit", "rosenblatt.fit"),
        ("fit", None),  # a method of every estimator
        ("predict_proba", None),
        ("X @ w", None),
    ],
)
def test_a_name_in_backticks_is_that_of_a_public_object(crosslinks, text, full):
    assert crosslinks.full_name(text) == full


def test_the_first_name_of_a_section_is_linked_and_no_name_of_another_library(crosslinks):
    from docutils import nodes
    from docutils.utils import new_document

    page = new_document("page")
    first = nodes.paragraph(
        "", "", nodes.literal("", "Perceptron"), nodes.Text(" and "), nodes.literal("", "Perceptron")
    )
    other = nodes.paragraph("", "", nodes.Text("scikit-learn's "), nodes.literal("", "GridSearchCV"))
    page += nodes.section("", nodes.title("", "", nodes.literal("", "PAUM")), first, other)
    page += nodes.section("", nodes.title("", "Next"), nodes.paragraph("", "", nodes.literal("", "Perceptron")))
    assert [name for _, name in crosslinks.literals(page)] == ["rosenblatt.Perceptron"] * 2


def test_what_the_code_of_a_page_imports(crosslinks):
    from docutils import nodes
    from docutils.utils import new_document

    page = new_document("page")
    code = ">>> import numpy\n>>> from rosenblatt import PAUM, read\n>>> from rosenblatt.records import Report\n"
    page += nodes.literal_block(code, code)
    assert crosslinks.imported(page) == {"rosenblatt.PAUM", "rosenblatt.read", "rosenblatt.records.Report"}


def test_the_gallery_has_every_script_once(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    from gallery_order import ORDER

    scripts = (DOCS.parent / "examples" / "gallery").glob("plot_*.py")
    assert sorted(f"plot_{name}.py" for name in ORDER) == sorted(script.name for script in scripts)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or set ROSENBLATT_CHROMIUM")
def test_code_is_copied_without_prompts_and_output(tmp_path):
    from playwright.sync_api import sync_playwright

    shutil.copy(DOCS / "_static" / "copy.js", tmp_path)
    session = "&gt;&gt;&gt; for i in range(2):\n...     print(i)\n0\n1\n&gt;&gt;&gt; f(i)\n"
    block = '<div class="highlight-python"><div class="highlight"><pre>{}</pre></div></div>'
    page = f'<meta charset="utf-8"><script defer src="copy.js"></script>{block.format(session)}'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        tab = context.new_page()
        tab.goto((tmp_path / "page.html").as_uri())
        tab.get_by_role("button", name="Copy this code").click()
        tab.get_by_text("Copied").wait_for()
        assert tab.evaluate("navigator.clipboard.readText()") == "for i in range(2):\n    print(i)\nf(i)"
        console = "$ rosenblatt train \\\n    rows.svm\ntrained\n$ ls\nm.model\n"
        assert tab.evaluate("text => bookCopy.typed(text)", console) == "rosenblatt train \\\n    rows.svm\nls"
        assert tab.evaluate("text => bookCopy.typed(text)", "x = 1\n") == "x = 1"
        browser.close()
