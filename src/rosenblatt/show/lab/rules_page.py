"""Rules side by side: several learners on the same points, regions and errors next to each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.estimators.linear import LinearClassifier, Minimiser
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
from rosenblatt.estimators.second_order import AROW, SecondOrderPerceptron
from rosenblatt.estimators.svm import LinearSVM, Pegasos
from rosenblatt.show.lab import state_limits
from rosenblatt.show.lab.canvas import Canvas
from rosenblatt.show.lab.session import Session

EPOCHS, DUAL_EPOCHS = 50, 1000
MOST_VISITS = EPOCHS * state_limits.MOST_POINTS  # of rows by one learner, however long the order is
COARSE = 48  # points a side of a picture of a vote: each of them asks thousands of vectors
Array = np.ndarray[Any, Any]


def _in_order(kind: Any, **settings: Any) -> Callable[[Session], Any]:
    """A learner that visits the points in the order of the first page, from its seed."""

    def model(session: Session) -> Any:
        parameters = session.settings.parameters(len(session.y))
        shared = {name: parameters[name] for name in ("order", "random_state", "fit_intercept") if name in parameters}
        if shared["order"] in ("first", "worst") and issubclass(kind, Minimiser):
            shared["order"] = "cyclic"  # gradient descent has no rows that it leaves alone
        epochs = max(1, min(EPOCHS, MOST_VISITS // session.settings.visits(len(session.y))))
        return kind(max_epochs=epochs, **shared, **settings)

    return model


LEARNERS: dict[str, Callable[[Session], Any]] = {
    "Perceptron": _in_order(Perceptron),
    "Averaged": _in_order(AveragedPerceptron),
    "Voted": _in_order(VotedPerceptron),
    "PAUM": _in_order(PAUM),
    "Passive-aggressive": _in_order(PassiveAggressive),
    "AROW": _in_order(AROW),
    "Second order": _in_order(SecondOrderPerceptron),
    "Pegasos": _in_order(Pegasos, alpha=1e-2),
    "Logistic": _in_order(LinearClassifier, loss="log", alpha=1e-3),
    "SVM": lambda session: LinearSVM(
        C=10.0, max_epochs=DUAL_EPOCHS, fit_intercept=session.settings.bias != "none", random_state=0
    ),
}
DEFAULT = ["Perceptron", "Averaged", "Passive-aggressive", "Pegasos", "Logistic", "SVM"]


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
            label="Learners, on the same points in the same order (the order of the first page)",
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
                self.canvases[name] = Canvas(self.session.source, title=name, height=230)
                self.canvases[name].listen(self.session.moved)
                self.words[name] = pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width")
        self.box.objects = [
            pn.Column(
                pn.pane.Bokeh(self.canvases[name].figure, sizing_mode="stretch_width"),
                self.words[name],
                css_classes=["third"],
            )
            for name in self.choice.value
        ]
        self.draw(fit=True)

    def draw(self, fit: bool = False) -> None:
        """Fit what is chosen; only while the page is looked at."""
        if not self.shown:
            return
        session = self.session
        shown = "Learned from the two components that are shown, not from all columns." if session.full else ""
        self.hint.object = session.ready or shown
        for name in self.choice.value:
            canvas = self.canvases[name]
            if session.ready is not None:
                self.words[name].object = ""
                canvas.show_nothing()
                continue
            if fit or session.loaded is not None:  # never under a pointer that drags
                canvas.fit_window(session.X, session.axes)
            model = fitted(name, session)
            if hasattr(model, "coef_"):
                canvas.show_halves(model.coef_[0], float(model.intercept_[0]))
            else:  # a vote has no plane
                canvas.show_regions(model.predict, COARSE)
            wrong = int((model.predict(session.X) != session.binary()).sum())
            self.words[name].object = _words(model, wrong, len(session.y))

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps of this page."""
        return {"learners": list(self.choice.value)}

    def read(self, given: Any) -> dict[str, Any]:
        """What a snapshot kept, with every value within its bounds."""
        kept = state_limits.fields(given, "rules", self.state())
        return {"learners": state_limits.chosen(kept["learners"], "learners", LEARNERS)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Show what a snapshot kept."""
        self.choice.value = kept["learners"]


def _words(model: Any, wrong: int, n: int) -> str:
    report, epochs = model.report_, model.n_iter_
    text = f"<b>{wrong} of {n}</b> points wrong; "
    if report.outcome == "budget":
        return f"{text}not finished after {epochs:,} epochs, {report.updates:,} updates."
    falls = "its objective no longer falls" if isinstance(model, Minimiser) else ""
    how = {
        "converged": falls or ("the last w converged" if wrong else "converged"),
        "gap": "solved to its duality gap",
    }
    return f"{text}{how[report.outcome]} after {epochs} epoch{'' if epochs == 1 else 's'}, {report.updates:,} updates."
