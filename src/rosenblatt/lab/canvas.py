"""A Bokeh figure on which points can be moved, and the scripts that report a drag while it happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Pan
from bokeh.models import BasicTickFormatter, ColumnDataSource, CustomJS, LinearColorMapper, PointDrawTool, Range1d
from bokeh.plotting import figure
from bokeh.transform import factor_cmap, factor_mark

from rosenblatt.plot.drawing import COLOURS, MOST_RANGE_RATIO, foot_and_ends, perpendicular

Array = np.ndarray[Any, Any]
CODES = [str(k) for k in range(6)]
SHAPES = ["circle", "square", "triangle", "diamond", "inverted_triangle", "plus"]
GRID = 80  # points per side of a picture of regions with curved borders; the picture is WIDE times as wide as high
WIDE = 3
SMALL = 300  # figures up to this height have smaller points
LARGE = 760  # the height of a figure for a projector
FAR = 1e3  # how far a line extends to both sides, in window sizes

# PointDrawTool moves points in the browser and reports them to Python when they are dropped. These scripts also report
# them during the drag, through a second source, so that Python never writes to the points under the pointer. While a
# reply is pending only the latest position is kept, so a slow machine redraws less often but does not lag.
SEND = """
const send = () => {
  live.asked = Date.now()
  live.late = false
  live.data = {x: Array.from(points.data.x), y: Array.from(points.data.y), label: Array.from(points.data.label)}
}
"""
LIVE = f"""{SEND}
if (live.asked && Date.now() - live.asked < 2000) live.late = true
else send()
"""
ANSWERED = f"""{SEND}
live.asked = 0
if (live.late) send()
"""

# Give both axes the same scale, whatever the shape of the figure: otherwise w would not look perpendicular to its line.
EQUAL = """
const [w, h] = [plot.inner_width, plot.inner_height]
if (!w || !h || plot.tags.includes("separate-scales")) return
const half = (plot.y_range.end - plot.y_range.start) / 2 * w / h
const middle = (plot.x_range.end + plot.x_range.start) / 2
if (Math.abs(plot.x_range.end - middle - half) < 1e-6 * half) return
plot.x_range.setv({start: middle - half, end: middle + half})
"""

# A new window arrives one end at a time, and the script above then takes a wrong middle for the middle. So the whole
# window is sent once more, last.
FITTED = """
const {x, y} = fitted.data
plot.y_range.setv({start: y[0], end: y[1]})
plot.x_range.setv({start: x[0], end: x[1]})
"""


def points_source(X: Array, y: Array) -> ColumnDataSource:
    """Points as a Bokeh data source; a label is a class code as text."""
    return ColumnDataSource({"x": list(X[:, 0]), "y": list(X[:, 1]), "label": [str(int(k)) for k in y]})


def arrays(data: Any) -> tuple[Array, Array]:
    """Rows and class codes from the data of a source; a missing label counts as 0."""
    X = np.column_stack([np.asarray(data["x"], dtype=float), np.asarray(data["y"], dtype=float)]).reshape(-1, 2)
    return X, np.array([int(label) if str(label) in CODES else 0 for label in data["label"]], dtype=int)


def paths(lines: Sequence[Array], colours: Sequence[str]) -> dict[str, list[Any]]:
    """Lines or polygons, as a data source holds them."""
    xs, ys = ([list(one[:, k]) for one in lines] for k in (0, 1))
    return {"xs": xs, "ys": ys, "colour": list(colours[: len(lines)])}


class Canvas:
    """A figure with points that can be dragged, added and deleted, and the layers drawn beneath them."""

    def __init__(self, points: ColumnDataSource, title: str = "", draggable: bool = True, height: int = 520) -> None:
        self.points = points
        self.live = ColumnDataSource({"x": [], "y": [], "label": []}, name="live")
        self.answers = ColumnDataSource({"count": [0]})
        self.figure: Any = figure(
            height=height,
            sizing_mode="stretch_width",
            x_range=Range1d(start=-3, end=3),
            y_range=Range1d(start=-3, end=3),
            title=title,
            tools="wheel_zoom,reset,save",
            toolbar_location="above",
            x_axis_label="x₁",
            y_axis_label="x₂",
            min_width=280,
        )
        self.figure.toolbar.logo = None
        self.figure.axis.formatter = BasicTickFormatter(use_scientific=False)
        self.mapper = LinearColorMapper(palette=list(COLOURS[:6]), low=-0.5, high=5.5)
        self.image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []}, name="image")
        self.regions = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name="regions")
        self.hulls = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name="hulls")
        self.lines = ColumnDataSource({"xs": [], "ys": [], "colour": [], "dash": [], "width": []}, name="lines")
        self.arrows = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name="arrows")
        self.marks = ColumnDataSource({"x": [], "y": [], "colour": [], "size": []}, name="marks")
        self.cross = ColumnDataSource({"x": [], "y": []}, name="cross")
        self.numbers = ColumnDataSource({"x": [], "y": [], "text": []}, name="numbers")
        self.height, self.size, self.ring = height, 13 if height > SMALL else 9, 26
        self._draw(self.size)
        if draggable:
            self._make_draggable()
        self.fitted = ColumnDataSource({"x": [], "y": [], "count": []}, name="fitted")
        self.fitted.js_on_change("data", CustomJS(args={"plot": self.figure, "fitted": self.fitted}, code=FITTED))
        script = CustomJS(args={"plot": self.figure, "fitted": self.fitted}, code=EQUAL)  # which puts it on the page
        for name in ("inner_width", "inner_height"):
            self.figure.js_on_change(name, script)
        for axis in (self.figure.x_range, self.figure.y_range):  # either may change alone
            axis.js_on_change("start", script)
            axis.js_on_change("end", script)
        self.fits = 0

    def enlarge(self, large: bool) -> None:
        """Make the figure, its points and its type large, for a projector, or as they were."""
        self.figure.height, type_size, self.ring = (LARGE, "18pt", 40) if large else (self.height, "11px", 26)
        self.marks.data = {**self.marks.data, "size": [self.ring] * len(self.marks.data["x"])}
        self.dots.glyph.size = self.size * (1.7 if large else 1.0)
        for axis in self.figure.axis:
            axis.major_label_text_font_size = axis.axis_label_text_font_size = type_size
        self.labels.glyph.text_font_size = type_size

    def pane(self) -> Any:
        """The figure as part of a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")

    def _draw(self, size: int) -> None:
        plot = self.figure
        plot.image(source=self.image, color_mapper=self.mapper, alpha=0.22, level="underlay")
        plot.patches("xs", "ys", source=self.regions, fill_color="colour", fill_alpha=0.14, line_color=None)
        plot.patches("xs", "ys", source=self.hulls, fill_color="colour", fill_alpha=0.22, line_color="colour")
        plot.multi_line("xs", "ys", source=self.lines, color="colour", line_dash="dash", line_width="width")
        plot.multi_line("xs", "ys", source=self.arrows, color="colour", line_width=3)
        plot.scatter("x", "y", source=self.marks, size="size", fill_color=None, line_color="colour", line_width=3)
        self.dots = plot.scatter(
            "x",
            "y",
            source=self.points,
            size=size,
            fill_color=factor_cmap("label", list(COLOURS[:6]), CODES),
            marker=factor_mark("label", SHAPES, CODES),
            line_color="white",
            nonselection_fill_alpha=0.9,
            selection_line_color="black",
            selection_line_width=3,
        )
        plot.scatter("x", "y", source=self.cross, marker="x", size=18, line_color="#D55E00", line_width=4)
        self.labels = plot.text(
            "x", "y", "text", source=self.numbers, x_offset=9, y_offset=-7, text_font_size="11px", text_color="#444"
        )

    def _make_draggable(self) -> None:
        self.tool: Any = PointDrawTool(renderers=[self.dots], empty_value="0", add=True)
        self.figure.add_tools(self.tool)
        self.figure.toolbar.active_drag = self.tool
        self.figure.toolbar.active_tap = self.tool
        both = {"points": self.points, "live": self.live}
        self.figure.js_on_event(Pan, CustomJS(args={**both, "answers": self.answers}, code=LIVE))
        self.answers.js_on_change("data", CustomJS(args=both, code=ANSWERED))

    def on_drag(self, moved: Callable[[Any], None]) -> None:
        """Call `moved` with the data of the points while they are being dragged."""

        def answer(attr: str, old: Any, new: Any) -> None:
            try:
                moved(new)
            finally:
                self.answers.data = {"count": [self.answers.data["count"][0] + 1]}

        self.live.on_change("data", answer)

    def fit_window(self, X: Array, axes: tuple[str, str] = ("x₁", "x₂")) -> None:
        """Fit the window to the points, with some room around them, and name the axes."""
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = axes
        if not len(X):
            return
        low, high = X.min(axis=0), X.max(axis=0)
        middle, halves = (low + high) / 2, (high - low) / 2
        unlike = halves.min() > 0 and halves.max() > MOST_RANGE_RATIO * halves.min()
        halves = 1.35 * (halves if unlike else np.full(2, halves.max() or 0.45))
        self.figure.tags = ["separate-scales"] if unlike else []
        for axis, centre, half in zip((self.figure.x_range, self.figure.y_range), middle, halves, strict=True):
            axis.update(start=float(centre - half), end=float(centre + half))
            axis.update(reset_start=float(centre - half), reset_end=float(centre + half))
        ends = np.stack([middle - halves, middle + halves], axis=1).tolist()
        self.fits += 1
        self.fitted.data = {"x": ends[0], "y": ends[1], "count": [self.fits, self.fits]}

    @property
    def window(self) -> tuple[float, float, float, float]:
        """The limits of the window: left, right, bottom, top."""
        across, up = self.figure.x_range, self.figure.y_range
        return float(across.start), float(across.end), float(up.start), float(up.end)

    @property
    def separate_scales(self) -> bool:
        """Whether the axes have separate scales."""
        return "separate-scales" in self.figure.tags

    def _centre_and_half_sizes(self) -> tuple[Array, Array]:
        """The centre of the window, and half its extent in each direction."""
        left, right, bottom, top = self.window
        up = (top - bottom) / 2
        across = (right - left) / 2 if self.separate_scales else up
        return np.array([(left + right) / 2, (bottom + top) / 2]), np.array([across, up])

    def line(self, w: Array, b: float) -> tuple[Array, Array]:
        """The point of the line w·x + b = 0 nearest to the centre of the window, and two points of it far outside."""
        return foot_and_ends(w, b, *self._centre_and_half_sizes(), far=FAR)

    def show_half_planes(self, w: Array, b: float, band: float = 0.0) -> None:
        """Draw the two sides of a plane, the line between them, its margin band and the arrow w."""
        size = float(np.linalg.norm(w))
        if not size:
            self.clear_planes()
            return
        unit = w / size
        foot, ends = self.line(w, b)
        far = FAR * float(self._centre_and_half_sizes()[1].max())
        sides = [np.vstack([ends, ends[::-1] + sign * far * unit]) for sign in (-1, 1)]
        self._show_polygons(sides)
        shifts = [0.0, band, -band] if band > 0 else [0.0]
        lines = [ends + shift * unit for shift in shifts]
        self.lines.data = {
            **paths(lines, ["black"] * len(lines)),
            "dash": ["solid", "dashed", "dashed"][: len(lines)],
            "width": [2.5, 1.2, 1.2][: len(lines)],
        }
        self.show_arrows([foot], [w], ["black"])

    def clear_planes(self) -> None:
        """Draw no plane and no regions."""
        self.regions.data = self.arrows.data = paths([], [])
        self.lines.data = {**paths([], []), "dash": [], "width": []}
        self.image.data = {"image": [], "x": [], "y": [], "dw": [], "dh": []}

    def _show_polygons(self, polygons: list[Array]) -> None:
        self.regions.data = paths(polygons, COLOURS)

    def show_class_regions(self, W: Array, b: Array) -> None:
        """Draw the region in which each of several planes scores highest; a tie goes to the lowest index."""
        middle, sizes = self._centre_and_half_sizes()
        corners = middle + FAR * sizes * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        cells = []
        for k in range(len(b)):
            cell = corners
            for j in range(len(b)):
                if j != k and len(cell):
                    cell = _clipped(cell, W[k] - W[j], float(b[k] - b[j]), first=k < j)
            cells.append(cell)
        self._show_polygons(cells)

    def show_arrows(
        self, feet: list[Array], normals: list[Array], colours: list[str], lengths: Sequence[float] = ()
    ) -> None:
        """Draw arrows, each from its foot and perpendicular to its line as drawn; of equal length by default."""
        _, sizes = self._centre_and_half_sizes()
        arrows = []
        for foot, w, length in zip(feet, normals, lengths or [1.0] * len(feet), strict=True):
            unit = perpendicular(w, sizes) / sizes
            side = np.array([-unit[1], unit[0]])
            path = np.array([0 * unit, unit, 0.75 * unit + 0.15 * side, unit, 0.75 * unit - 0.15 * side])
            arrows.append(foot + 0.32 * length * path * sizes)
        self.arrows.data = paths(arrows, colours)

    def show_regions(self, predict: Any, grid: int = GRID) -> None:
        """Draw the regions of any model: `predict` gives the class codes of rows of a grid over the window."""
        middle, sizes = self._centre_and_half_sizes()
        reach = sizes if self.separate_scales else sizes * [WIDE, 1]
        (left, bottom), (right, top) = middle - reach, middle + reach
        across, up = np.linspace(left, right, WIDE * grid), np.linspace(bottom, top, grid)
        places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        codes = np.asarray(predict(places), dtype=np.uint8).reshape(grid, WIDE * grid)
        self.image.data = {"image": [codes], "x": [left], "y": [bottom], "dw": [right - left], "dh": [top - bottom]}

    def show_rings(self, places: Array, colours: list[str]) -> None:
        """Draw rings around positions."""
        self.marks.data = {
            "x": list(places[:, 0]),
            "y": list(places[:, 1]),
            "colour": colours,
            "size": [self.ring] * len(places),
        }

    def show_row_numbers(self, X: Array, first: int, most: int = 40) -> None:
        """Write the number of each row, from `first`, next to its point, unless there are more than `most`."""
        few = X if len(X) <= most else X[:0]
        self.numbers.data = {
            "x": list(few[:, 0]),
            "y": list(few[:, 1]),
            "text": [str(k + first) for k in range(len(few))],
        }


def _clipped(polygon: Array, w: Array, b: float, first: bool) -> Array:
    """The part of a convex polygon with w·x + b ≥ 0 (Sutherland and Hodgman); all or none of it if w = 0."""
    f = polygon @ w + b
    if not w.any():
        return polygon if b > 0 or (b == 0 and first) else polygon[:0]
    kept = []
    for k in range(len(polygon)):
        before, here = f[k - 1], f[k]
        if (before < 0) != (here < 0):
            kept.append(polygon[k - 1] + before / (before - here) * (polygon[k] - polygon[k - 1]))
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)
