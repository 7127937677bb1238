"""Several learners side by side on the same points, with their regions and errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.lab import state_limits
from rosenblatt.lab.canvas import Canvas
from rosenblatt.lab.runs import FIRST_ROW, renumbered
from rosenblatt.lab.session import Session
from rosenblatt.learn.models import Planes
from rosenblatt.learn.number_format import counted
from rosenblatt.objective.linear import ObjectiveLearner
from rosenblatt.registry import IN_LAB
from rosenblatt.shell.fitted import fitted

EPOCHS = 50
MOST_VISITS = EPOCHS * state_limits.MOST_POINTS  # of rows by one learner, however long the order
COARSE = 48  # points per side for a voted perceptron, which evaluates thousands of vectors at each
Array = np.ndarray[Any, Any]


DEFAULT = ["Perceptron", "Averaged", "Passive-aggressive", "Pegasos", "Logistic", "SVM"]


def new_learner(title: str, session: Session) -> Any:
    """The learner of this title, with the order and the seed of the perceptron page."""
    learner, parameters = IN_LAB[title], session.settings.parameters(len(session.y))
    shared: dict[str, Any] = {
        name: parameters[name] for name in ("order", "random_state", "fit_intercept") if name in parameters
    }
    if shared["order"] in ("first", "worst") and issubclass(learner.kind, ObjectiveLearner):
        shared["order"] = "cyclic"  # gradient descent uses every row
    shared["max_epochs"] = max(1, min(EPOCHS, MOST_VISITS // session.settings.visits_per_epoch(len(session.y))))
    known = learner.kind().get_params()
    taken = {name: value for name, value in shared.items() if name in known}
    return learner.kind(**{**taken, **learner.settings, **learner.lab_settings})


def fit_learner(title: str, session: Session) -> Any:
    """Fit the learner of this title to the points of the session."""
    model = new_learner(title, session)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(session.X, session.binary())


class RulesPage:
    """A small canvas for each selected learner."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.choice = pn.widgets.MultiChoice(
            label="Learners (same points, in the order set on the Perceptron page)",
            options=list(IN_LAB),
            value=DEFAULT,
            sizing_mode="stretch_width",
        )
        self.canvases: dict[str, Canvas] = {}
        self.words: dict[str, Any] = {}
        self.shown = False
        self.box = pn.FlexBox(css_classes=["page"], sizing_mode="stretch_width")
        self.hint = pn.pane.HTML("", css_classes=["hint"])
        self.view = pn.Column(self.choice, self.hint, self.box, sizing_mode="stretch_width")
        self.arranged: list[str] = []
        self.choice.param.watch(lambda event: self.draw(fit=True), "value")
        session.listeners.append(self.draw)

    def _make_canvases(self) -> None:
        """Make the canvases when the page is first shown: they take half the time in which the whole lab is made."""
        for name in self.choice.value:
            if name not in self.canvases:
                self.canvases[name] = Canvas(self.session.source, title=name, height=230)
                self.canvases[name].on_drag(self.session.moved)
                self.words[name] = pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width")

    def _arrange(self) -> None:
        """Put the selected canvases on the page, after they are drawn.

        The browser then gets new ones whole. Changes of a canvas could otherwise reach it before the canvas.
        """
        if self.arranged == self.choice.value:
            return
        self.arranged = list(self.choice.value)
        self.box.objects = [
            pn.Column(self.canvases[name].pane(), self.words[name], css_classes=["third"]) for name in self.choice.value
        ]

    def draw(self, fit: bool = False) -> None:
        """Fit and draw the selected learners, if the page is shown."""
        if not self.shown:
            return
        self._make_canvases()
        session = self.session
        projected = (
            "Learned from the two components that are shown, not from all columns." if session.projection else ""
        )
        self.hint.object = session.missing or f"{projected} {self._rows_in_order()}".strip()
        for name in self.choice.value:
            canvas = self.canvases[name]
            if session.missing is not None:
                self.words[name].object = ""
                canvas.clear_planes()
                continue
            if fit or session.loaded is not None:  # not during a drag: the window must not move under the pointer
                canvas.fit_window(session.X, session.axes)
            model = fit_learner(name, session)
            if isinstance(fitted(model).model, Planes):
                canvas.show_half_planes(model.coef_[0], float(model.intercept_[0]))
            else:  # a voted perceptron has no plane
                canvas.show_regions(model.predict, COARSE)
            wrong = int((model.predict(session.X) != session.binary()).sum())
            self.words[name].object = _result_text(model, wrong, len(session.y))
        self._arrange()

    def _rows_in_order(self) -> str:
        """What "these rows" means for the selected learners."""
        if self.session.settings.order != "these rows":
            return ""
        by_row = ["order" in IN_LAB[title].kind().get_params() for title in self.choice.value]
        whole = [title for title, some in zip(self.choice.value, by_row, strict=True) if not some]
        others = f"; the others ({', '.join(whole)}) learn from all rows" if whole else ""
        return (
            f"Learners that go row by row visit rows {renumbered(self.session.settings.rows, FIRST_ROW)} only{others}."
        )

    def state(self) -> dict[str, Any]:
        """The state of this page, for a snapshot."""
        return {"learners": list(self.choice.value)}

    def read(self, given: Any) -> dict[str, Any]:
        """Check the state of this page in a snapshot; ValueError if a value is out of bounds."""
        kept = state_limits.fields(given, "rules", self.state())
        return {"learners": state_limits.chosen(kept["learners"], "learners", IN_LAB)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the checked state of a snapshot."""
        self.choice.value = kept["learners"]


def _result_text(model: Any, wrong: int, n: int) -> str:
    report, epochs = model.report_, model.n_iter_
    text = f"<b>{wrong} of {n}</b> points wrong; "
    if report.outcome == "budget":
        return f"{text}not finished after {counted(epochs, 'epoch')}, {counted(report.updates, 'update')}."
    how = {
        "separated": "the last w separated them" if wrong else "separated",
        "solved": "solved to its tolerance" if report.gap is None else "solved to its duality gap",
        "stalled": "its objective stopped decreasing",
    }
    return f"{text}{how[report.outcome]} after {counted(epochs, 'epoch')}, {counted(report.updates, 'update')}."
