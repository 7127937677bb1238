"""Rules side by side: several learners on the same points, regions and errors next to each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import rosenblatt
from rosenblatt.show.lab.canvas import Canvas
from rosenblatt.show.lab.session import Session

EPOCHS = 50
Array = np.ndarray[Any, Any]


def _order(session: Session) -> dict[str, Any]:
    parameters = session.settings.parameters(len(session.y))
    return {name: parameters[name] for name in ("order", "random_state", "fit_intercept") if name in parameters}


def _ours(name: str, **settings: Any) -> Callable[[Session], Any]:
    return lambda session: getattr(rosenblatt, name)(max_epochs=EPOCHS, **_order(session), **settings)


def _one_of(name: str, make: Callable[[Any], Any], other: Callable[[], Any]) -> Callable[[Session], Any]:
    """Ours where this version has it, else scikit-learn's."""

    def model(session: Session) -> Any:
        return make(getattr(rosenblatt, name)) if hasattr(rosenblatt, name) else other()

    return model


LEARNERS: dict[str, Callable[[Session], Any]] = {
    "Perceptron": _ours("Perceptron"),
    "Averaged": _ours("AveragedPerceptron"),
    "Voted": _ours("VotedPerceptron"),
    "PAUM": _ours("PAUM"),
    "Passive-aggressive": _ours("PassiveAggressive"),
    "AROW": _ours("AROW"),
    "Second order": _ours("SecondOrderPerceptron"),
    "Pegasos": _one_of("Pegasos", lambda kind: kind(random_state=0), lambda: LinearSVC(C=10.0)),
    "Logistic": _one_of(
        "LinearClassifier",
        lambda kind: kind(loss="log", alpha=1e-3, random_state=0),
        lambda: LogisticRegression(C=10.0),
    ),
    "SVM": _one_of("LinearSVM", lambda kind: kind(C=10.0), lambda: LinearSVC(C=10.0, loss="hinge", max_iter=20_000)),
}
DEFAULT = ["Perceptron", "Averaged", "Passive-aggressive"]


def fitted(name: str, session: Session) -> Any:
    """A learner of this name, fitted to the points of the session."""
    model = LEARNERS[name](session)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(session.X, session.binary())


class RulesPage:
    """A small canvas for each learner that is chosen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.choice = pn.widgets.MultiChoice(
            name="Learners, on the same points in the same order",
            options=list(LEARNERS),
            value=DEFAULT,
            sizing_mode="stretch_width",
        )
        self.canvases: dict[str, Canvas] = {}
        self.words: dict[str, Any] = {}
        self.shown = False
        self.box = pn.FlexBox(css_classes=["page"], sizing_mode="stretch_width")
        self.hint = pn.pane.HTML("", css_classes=["hint"])
        self.view = pn.Column(self.choice, self.hint, self.box, sizing_mode="stretch_width")
        self.choice.param.watch(lambda event: self._arrange(), "value")
        session.listeners.append(self.draw)
        self._arrange()

    def _arrange(self) -> None:
        for name in self.choice.value:
            if name not in self.canvases:
                self.canvases[name] = Canvas(self.session.source, title=name, height=330)
                self.canvases[name].live.on_change("data", lambda attr, old, new: self.session.moved(new))
                self.words[name] = pn.pane.HTML("", css_classes=["board"])
        self.box.objects = [
            pn.Column(
                pn.pane.Bokeh(self.canvases[name].figure, sizing_mode="stretch_width"),
                self.words[name],
                css_classes=["third"],
            )
            for name in self.choice.value
        ]
        self.draw()

    def draw(self) -> None:
        """Fit what is chosen; only while the page is looked at."""
        if not self.shown:
            return
        session = self.session
        self.hint.object = session.ready or ""
        for name in self.choice.value:
            canvas = self.canvases[name]
            if session.ready is not None:
                self.words[name].object = ""
                continue
            canvas.fit_window(session.X)
            model = fitted(name, session)
            canvas.show_regions(model.predict)
            wrong = int((model.predict(session.X) != session.binary()).sum())
            self.words[name].object = _words(model, wrong, len(session.y))


def _words(model: Any, wrong: int, n: int) -> str:
    text = f"<b>{wrong} of {n}</b> points wrong"
    report = getattr(model, "report_", None)
    if report is not None:
        text += f"; {report.outcome} after {len(report.epochs)} epochs, {report.updates:,} updates"
    elif not type(model).__module__.startswith("rosenblatt"):
        text += "; by scikit-learn's " + type(model).__name__
    return text + "."
