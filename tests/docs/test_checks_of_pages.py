"""make docs checks the pages it built (docs/check.py): each check finds what it is for."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = os.environ.get("ROSENBLATT_CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", DOCS / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(check, folder, **bodies):
    for name, body in bodies.items():
        (folder / f"{name}.html").write_text(f"<!doctype html><html><body>{body}</body></html>", encoding="utf-8")
    return {path: check.Page(path) for path in sorted(folder.glob("*.html"))}


@pytest.mark.parametrize(
    ("link", "broken"),
    [("other.html", 0), ("other.html#there", 0), ("#here", 0), ("gone.html", 1), ("other.html#gone", 1), ("#gone", 1)],
)
def test_a_broken_link_is_found(check, tmp_path, link, broken):
    pages = written(check, tmp_path, one=f'<p id="here"><a href="{link}">x</a></p>', other='<p id="there">')
    assert len(check.broken_links(pages)) == broken


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("<p>the margin γ</p>", 0),
        (r"<pre>\alpha</pre>", 0),
        (r"<p>\alpha</p>", 1),
        (r"<p>\(x\)</p>", 1),
        ("<math><merror><mtext>x</mtext></merror></math>", 1),
    ],
)
def test_tex_that_was_not_converted_is_found(check, tmp_path, body, left):
    assert len(check.unconverted(written(check, tmp_path, one=body))) == left


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or set ROSENBLATT_CHROMIUM")
def test_what_goes_wrong_in_a_browser_is_found(check, tmp_path):
    bodies = {
        "good": "<p>good</p>",
        "script": "<script>nothing.at.all</script>",
        "request": '<img src="http://127.0.0.1:9/picture.png">',
        "wide": '<div style="width: 900px">wide</div>',
        "cut": '<div class="bd-article"><pre style="overflow: auto">' + "x" * 400 + "</pre></div>",
        "search": '<ul id="search-results"><li>Quick start<p class="search-excerpt">good</p></li></ul>',
    }
    pages = written(check, tmp_path, **bodies)
    found = "\n".join(check.complaints(tmp_path, list(pages), CHROMIUM))
    assert all(f"{name}.html" in found for name in ("script", "request", "wide", "cut"))
    assert "good.html" not in found


def test_tex_becomes_mathml_or_a_warning(monkeypatch, caplog):
    nodes = pytest.importorskip("docutils.nodes", reason="the tools of the book are installed by make docs")
    pytest.importorskip("sphinx", reason="the tools of the book are installed by make docs")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import mathml

    warned = []
    monkeypatch.setattr(mathml.logger, "warning", lambda *words, **_: warned.append(words))
    made = mathml.converted(nodes.math("", r"\frac{R^2}{\gamma^2}"), block=False)
    assert "<mfrac>" in made
    assert "\\" not in made
    assert not warned
    mathml.converted(nodes.math("", r"\nosuchcommand x"), block=False)
    assert len(warned) == 1
