"""Checks the pages that make docs built: python docs/check.py [folder]

Links and anchors lead somewhere, no TeX is left, and in chromium, opened from disk, no page asks another host for
anything or has an error in a script, none is wider than a phone, and no code is cut on a screen of 1400 pixels. The
search finds the quick start by what a beginner would ask, with an excerpt.
"""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1400, "height": 1000}
CUT = "[...document.querySelectorAll('.bd-article pre')].filter((pre) => pre.scrollWidth > pre.clientWidth + 1).length"


class Page(HTMLParser):
    """The links, the anchors and the text outside code of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.anchors, self.words, self.code, self.errors = path, set(), set(), [], 0, 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        self.links |= {values[key] for key in ("href", "src") if values.get(key) and tag != "link"}
        self.code += tag in ("pre", "code", "script", "style")
        self.errors += tag == "merror"

    def handle_endtag(self, tag):
        self.code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data):
        if not self.code:
            self.words.append(data)


def broken_links(pages: dict[Path, Page]) -> list[str]:
    """Links within the book whose file or anchor does not exist."""
    found = []
    for page in pages.values():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            if not target.exists():
                found.append(f"{page.path}: {link} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{page.path}: {link} has no such anchor")
    return found


def unconverted(pages: dict[Path, Page]) -> list[str]:
    """Formulas that are still TeX."""
    tex = re.compile(r"\\[a-zA-Z]{2,}|\$\$|\\\(")
    found = [f"{page.path}: {page.errors} formulas that are no MathML" for page in pages.values() if page.errors]
    for page in pages.values():
        found += [f"{page.path}: TeX is left: {text.strip()[:60]!r}" for text in page.words if tex.search(text)]
    return found


def complaints(folder: Path, pages: list[Path], chromium: str) -> list[str]:
    """What goes wrong when each page is opened from disk, at the width of a phone."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_context(viewport=PHONE).new_page()
        here = [""]
        tab.on("pageerror", lambda error: found.append(f"{here[0]}: {error}"))
        tab.on("console", lambda line: found.append(f"{here[0]}: {line.text}") if line.type == "error" else None)
        tab.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else found.append(f"{here[0]}: {asked.url}"),
        )
        for page in pages:
            here[0] = str(page)
            tab.goto(page.as_uri())
            width = tab.evaluate("document.documentElement.scrollWidth")
            if width > PHONE["width"]:
                found.append(f"{page}: {width} pixels wide on a phone of {PHONE['width']}")
            tab.set_viewport_size(SCREEN)
            if cut := tab.evaluate(CUT):
                found.append(f"{page}: {cut} blocks of code are cut on a screen of {SCREEN['width']} pixels")
            tab.set_viewport_size(PHONE)
        here[0] = "search"
        for asked in ("quick start", "install", "first steps"):
            tab.goto((folder / "search.html").as_uri() + f"?q={asked}")
            tab.locator("#search-results li", has_text="Quick start").locator(".search-excerpt").first.wait_for()
        browser.close()
    return found


def main(folder: Path) -> int:
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = broken_links(pages) + unconverted(pages)
    chromium = os.environ.get("ROSENBLATT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium:
        found += complaints(folder, sorted(pages), chromium)
    else:
        print("No chromium: the pages were not opened (apt-get install chromium, or set ROSENBLATT_CHROMIUM).")
    print(*found, sep="\n")
    print(f"{len(pages)} pages, {len(found)} problems")
    return bool(found)


if __name__ == "__main__":
    default = Path(__file__).parent / "_build" / "html"
    sys.exit(main((Path(sys.argv[1]) if len(sys.argv) > 1 else default).resolve()))
