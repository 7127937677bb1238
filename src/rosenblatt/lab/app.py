"""The whole lab: tabs, keyboard, styles, and one session per visitor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import panel as pn
import panel.reactive
import panel.theme.base
from bokeh.models import ColumnDataSource, CustomJS
from panel.io.resources import LOCAL_DIST

from rosenblatt.lab import state_limits
from rosenblatt.lab.classes_page import ClassesPage
from rosenblatt.lab.history import History
from rosenblatt.lab.losses_page import LossesPage
from rosenblatt.lab.margins_page import MarginsPage
from rosenblatt.lab.network_page import NetworkPage
from rosenblatt.lab.perceptron_page import PerceptronPage
from rosenblatt.lab.rules_page import RulesPage
from rosenblatt.lab.session import Session
from rosenblatt.lab.share_page import SharePage
from rosenblatt.lab.sharing import Snapshot

PAGES = ("Perceptron", "Rules side by side", "Many classes", "Losses", "Network", "Margins", "Share")

PAGE_CSS = """
body { margin: 0; font-family: system-ui, sans-serif; background: #fbfbf9; color: #1d1d1b; }
"""
COMPONENT_CSS = """
:host { font-family: system-ui, sans-serif; font-size: var(--lab-size, 14px); }
.board, .bk-clearfix { line-height: 1.6; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93em; }
td, th { padding: 2px 5px; text-align: right; border-bottom: 1px solid #e2e2dc; }
.won { font-weight: 700; background: #eef3ee; }
.slope { color: #c00000; font-style: italic; font-size: 12px; }
.name { color: #777; font-size: 11px; }
h3 { margin: 0 0 4px; font-size: 15px; }
:host(.hint) { color: #555; min-height: 21px; }
:host(.keys) { color: #777; font-size: 12px; margin-top: 14px; }
:host(.message) { color: #b03a00; }
:host(.board) { background: #fff; border: 1px solid #e2e2dc; border-radius: 6px; padding: 8px 12px; }
:host(.verdict) { padding: 6px 12px; border-left: 4px solid #0072B2; background: #eef4f8; }
:host(.totals) { padding: 6px 0; }
:host(.card) { box-shadow: none; border: 1px solid #e2e2dc; border-radius: 6px; }
:host(.beside) { flex: 1 1 240px; min-width: 230px; }
:host(.side) { display: var(--lab-side, flex); flex: 1 1 230px; max-width: 300px; min-width: 220px; }
:host(.middle) { flex: 3 1 420px; min-width: 320px; }
:host(.half) { flex: 2 1 330px; min-width: 300px; }
:host(.table) { flex: 1 1 330px; min-width: 320px; max-width: 440px; }
:host(.weights) { flex: 1 1 370px; min-width: 370px; }
:host(.third) { flex: 1 1 350px; min-width: 280px; max-width: 620px; }
"""

# Keys reach Python through a data source, unless they are typed into a field. There is one listener per page, however
# often its tabs are redrawn.
KEYS = """
const known = ["ArrowLeft", "ArrowRight", "Home", "End", " ", "r", "R", "Delete"]
const command = (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return null
  const key = event.key.toLowerCase()
  return key == "y" || (key == "z" && event.shiftKey) ? "redo" : key == "z" ? "undo" : null
}
if (!window.rosenblattKeys) {
  document.addEventListener("keydown", (event) => {
    const path = event.composedPath()
    const inside = (names) => path.some((node) => names.includes(node.tagName))
    if (inside(["INPUT", "TEXTAREA", "SELECT"])) return
    if (command(event)) {
      event.preventDefault()
      window.rosenblattKeys.data = {key: [command(event)], at: [Date.now()]}
      return
    }
    if (!known.includes(event.key)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (path.some((node) => node.getAttribute?.("role") === "slider")) return
    if (event.key === " " && inside(["BUTTON"])) return
    event.preventDefault()
    window.rosenblattKeys.data = {key: [event.key], at: [Date.now()]}
  })
}
window.rosenblattKeys = keys
"""


# Large type, and the controls of the points are hidden.
PROJECTOR = """
const style = document.documentElement.style
if (cb_obj.active) {
  style.setProperty("--lab-size", "22px")
  style.setProperty("--lab-side", "none")
} else {
  style.removeProperty("--lab-size")
  style.removeProperty("--lab-side")
}
"""


class Lab:
    """The tabs of one visitor."""

    def __init__(self, text: str | None = None) -> None:
        self.session = Session()
        self.perceptron = PerceptronPage(self.session)
        self.rules = RulesPage(self.session)
        self.classes = ClassesPage()
        self.losses = LossesPage(self.session)
        self.network = NetworkPage(self.session)
        self.margins = MarginsPage(self.session)
        self.share = SharePage(self.session, self.snapshot, self.restore, self.address)
        pages: list[Any] = [self.perceptron, self.rules, self.classes, self.losses, self.network, self.margins]
        self.pages = [*pages, self.share]
        views = [(name, page.view) for name, page in zip(PAGES, self.pages, strict=True)]
        self.tabs = pn.Tabs(*views, dynamic=True, sizing_mode="stretch_width")
        self.tabs.param.watch(lambda event: self._show_tab(event.new), "active")
        self.keys = ColumnDataSource({"key": [], "at": []})
        self.keys.on_change("data", lambda name, old, new: self._key(new))
        listen = CustomJS(args={"keys": self.keys}, code=KEYS)
        self.perceptron.canvas.figure.js_on_change("inner_width", listen)
        title = pn.pane.HTML("<h2 style='margin:6px 0'>rosenblatt lab</h2>")
        self.undo = pn.widgets.Button(label="↶ Undo", css_classes=["undo"], disabled=True, margin=(10, 5))
        self.redo = pn.widgets.Button(label="↷ Redo", css_classes=["redo"], disabled=True, margin=(10, 5))
        self.projector = pn.widgets.Toggle(label="Projector", css_classes=["projector"], margin=(10, 5))
        self.projector.jscallback(value=PROJECTOR)
        self.projector.param.watch(lambda event: self._enlarge(event.new), "value")
        top = pn.FlexBox(title, self.undo, self.redo, self.projector)
        self.view = pn.Column(top, self.tabs, sizing_mode="stretch_width", margin=(0, 16))
        if text is not None:
            self.perceptron.open(text)
        self._remember_changes()

    def _enlarge(self, large: bool) -> None:
        """Projector mode: the figures of the pages with a single one are large."""
        for canvas in (self.perceptron.canvas, self.classes.canvas):
            canvas.enlarge(large)

    def _remember_changes(self) -> None:
        """Note the state after every use of a widget and every change of points, for undo and redo."""
        self.history, self._restoring = History(self.snapshot()), False
        for page in self.pages[:-1]:  # the last one shares the state
            for widget in page.view.select(pn.widgets.Widget):
                used = "clicks" if isinstance(widget, pn.widgets.Button) else "value"
                widget.param.watch(lambda event: self._changed(), used)
        for source in (self.session.source, self.classes.source):
            source.on_change("data", lambda name, old, new: self._changed())
        self.undo.on_click(lambda event: self.go_back())
        self.redo.on_click(lambda event: self.go_forth())

    def _changed(self) -> None:
        if not self._restoring:
            self.history.note(self.snapshot())
            self._show_history()

    def _show_history(self) -> None:
        self.undo.disabled, self.redo.disabled = len(self.history.past) < 2, not self.history.future

    def go_back(self) -> None:
        """Undo the last change."""
        self._return_to(self.history.undo())

    def go_forth(self) -> None:
        """Redo what was undone."""
        self._return_to(self.history.redo())

    def _return_to(self, shot: Snapshot | None) -> None:
        if shot is None:
            return
        pages = self._pages_with_state()
        changed = {name: one for name, one in shot.pages.items() if one != pages[name].state()}
        self._restoring = True
        try:
            self.restore(replace(shot, pages=changed))
        finally:
            self._restoring = False
        self._show_history()

    def _show_tab(self, number: int) -> None:
        for k, page in enumerate(self.pages):
            if isinstance(page, RulesPage | LossesPage | NetworkPage | MarginsPage | SharePage):
                page.shown = k == number
        active = self.pages[number]
        if isinstance(active, NetworkPage):
            active.on_show()
        elif isinstance(active, RulesPage | MarginsPage):
            active.draw(fit=True)
        elif isinstance(active, LossesPage | SharePage):
            active.draw()

    def _key(self, data: Any) -> None:
        key = str(data["key"][0])
        if key in ("undo", "redo"):
            self.go_back() if key == "undo" else self.go_forth()
        elif self.tabs.active == 0:
            self.perceptron.key(key)
            self._changed()

    def address(self) -> str:
        """The URL of this page, without its query."""
        location = pn.state.location
        if location is None or not location.href:
            return "/"
        return str(location.href).split("?")[0].split("#")[0]

    def snapshot(self) -> Snapshot:
        """The state of all pages."""
        pages = {name: page.state() for name, page in self._pages_with_state().items()}
        return self.session.snapshot(self.tabs.active, pages)

    def restore(self, shot: Snapshot) -> None:
        """Restore a snapshot; one that is not valid changes nothing."""
        pages = self._pages_with_state()
        try:
            state_limits.fields(dict.fromkeys(pages) | shot.pages, "pages", pages)
            shot = replace(shot, pages={name: pages[name].read(one) for name, one in shot.pages.items()})
        except ValueError as error:
            raise ValueError(f"This is not a lab state: {error}.") from error
        before = self.snapshot()
        try:
            self._apply(shot)
        except (ValueError, ArithmeticError) as error:
            self._apply(before)
            raise ValueError(f"The lab cannot show this state: {error}.") from error

    def _pages_with_state(self) -> dict[str, Any]:
        return {
            "rules": self.rules,
            "classes": self.classes,
            "losses": self.losses,
            "network": self.network,
            "margins": self.margins,
        }

    def _apply(self, shot: Snapshot) -> None:
        self.session.restore(shot)
        for name, page in self._pages_with_state().items():
            if name in shot.pages:
                page.restore(shot.pages[name])
        self.perceptron.draw(fit=True)
        self.tabs.active = shot.page


def new_page(shown: str | Snapshot | None = None) -> Any:
    """The page for a new visitor, with the CSV text or the state from the command line, or the state in the link."""
    lab = Lab(shown if isinstance(shown, str) else None)
    if isinstance(shown, Snapshot):
        lab.restore(shown)
    packed = pn.state.session_args.get("state") if pn.state.session_args else None
    if packed:
        try:
            lab.restore(Snapshot.from_link(packed[0].decode("ascii", "replace")))
        except ValueError as error:
            lab.perceptron.show_message(str(error))
    return lab.view


def configure_panel() -> None:
    """Set the styles of all pages, and serve every style sheet from this server.

    Panel refers to a content delivery network when it renders a widget that belongs to no document yet, such as one in
    a tab that has not been opened. The lab must not load anything from another host.
    """
    for module in (panel.reactive, panel.theme.base):
        if hasattr(module, "CDN_DIST"):
            module.CDN_DIST = LOCAL_DIST  # type: ignore[attr-defined]
    pn.extension(raw_css=[PAGE_CSS], notifications=False)
    for kind in (pn.pane.HTML, pn.Column, pn.FlexBox, pn.Card):
        if COMPONENT_CSS not in kind.param.stylesheets.default:
            kind.param.stylesheets.default = [*kind.param.stylesheets.default, COMPONENT_CSS]
