"""The animation of the README, docs/lab/lab.gif: python docs/lab/animate.py

It opens the lab in chromium, steps through a run, and drags a point until no plane separates the classes.
"""

import io
import os
import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from rosenblatt import lab
from rosenblatt.lab.points import GENERATORS

HERE = Path(__file__).parent
CHROMIUM = os.environ.get("ROSENBLATT_CHROMIUM") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
SIZE = {"width": 1240, "height": 700}
WIDTH = 930  # of the animation
PLACE = """([x, y]) => {
    const figures = Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
        .filter((model) => model.type == "Figure").map((model) => Bokeh.index.find_one(model))
        .filter((view) => view != null)
    const view = figures[0], box = view.el.getBoundingClientRect()
    return [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)]
}"""

WATCH = """() => {
    const models = Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
    const live = models.find((model) => model.name == "live")
    window.reports = 0
    live.connect(live.properties.data.change, () => { window.reports += 1 })
}"""
Array = np.ndarray


class Film:
    """Pictures of a page, each with the milliseconds for which it is shown."""

    def __init__(self, page: Page) -> None:
        self.page, self.pictures, self.times = page, [], []

    def shoot(self, milliseconds: int, wait: int = 250) -> None:
        self.page.wait_for_timeout(wait)
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        height = round(picture.height * WIDTH / picture.width)
        self.pictures.append(picture.resize((WIDTH, height), Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def save(self, path: Path) -> None:
        palette = self.pictures[-1].quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in self.pictures]
        first.save(path, save_all=True, append_images=others, duration=self.times, loop=0, optimize=True)
        print(f"{path}: {len(self.pictures)} pictures, {path.stat().st_size:,} bytes")


def grab(page: Page, place: tuple[float, float]) -> Array:
    """Press the mouse on a point and begin to drag it; again, if the point has not been drawn yet."""
    page.evaluate(WATCH)
    for _ in range(20):
        begin = np.array(page.evaluate(PLACE, place))
        page.mouse.move(*begin)
        page.mouse.down()
        page.mouse.move(*(begin - 8), steps=8)
        page.wait_for_timeout(700)
        if page.evaluate("window.reports > 0"):
            return begin
        page.mouse.up()
    raise SystemExit("the point cannot be dragged")


def play(page: Page) -> Film:
    film = Film(page)
    page.get_by_text("Generate points").first.click()
    page.get_by_label("Generator").first.select_option("separable")
    page.get_by_role("button", name="Generate", exact=True).last.click()
    page.get_by_text("Separable, with").first.wait_for()
    page.get_by_text("Generate points").first.click()
    page.wait_for_timeout(2000)
    film.shoot(1200)
    while "Every row is on its correct side" not in page.inner_text("body") and len(film.times) < 30:
        page.get_by_role("button", name="Step").first.click()
        film.shoot(700, wait=700)
    film.times[-1] = 2200
    points = GENERATORS["separable"](40)
    one, other = (points.X[points.y == label] for label in np.unique(points.y))
    begin = tuple(map(float, one[np.argmin(((one - other.mean(axis=0)) ** 2).sum(axis=1))]))
    start, end = grab(page, begin), np.array(page.evaluate(PLACE, other.mean(axis=0).tolist()))
    for share in np.linspace(0, 1, 20):
        page.mouse.move(*(start + share * (end - start)), steps=3)
        film.shoot(150, wait=450)
    film.shoot(3000, wait=1500)
    page.mouse.up()
    return film


def main() -> None:
    server = lab.serve(open_browser=False, block=False)
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(120_000)
        page.goto(server.address)
        page.get_by_text("The arithmetic").first.wait_for()
        play(page).save(HERE / "lab.gif")
        browser.close()
    server.stop()


if __name__ == "__main__":
    main()
