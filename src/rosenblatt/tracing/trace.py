"""`trace`: a record of every visit of a training run.

In floats, the learner itself runs and reports each visit, so the trace equals the run of `fit` to the last bit; in
fractions, `exact_learners` runs instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from rosenblatt.formats.arrow import check_buffers
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.number_format import printed_fractions
from rosenblatt.learn.plan import default_epochs
from rosenblatt.online.perceptron import Perceptron
from rosenblatt.plot.verdict import separability_verdict
from rosenblatt.registry import TRACED
from rosenblatt.sequence.sequence_perceptron import SequencePerceptron
from rosenblatt.shell.online_learner import plan_of, state_now
from rosenblatt.shell.parameters import new_seed
from rosenblatt.tracing.recording import Step, as_tuples, record_in_floats, record_in_fractions
from rosenblatt.tracing.sequence_trace import trace_sentences
from rosenblatt.tracing.trace_table import format_trace
from rosenblatt.tracing.worked_steps import WORKED, trace_worked

Array = np.ndarray[Any, Any]
DEFAULT_VISITS = 20_000  # about where a trace ends if max_epochs is not given
FORMAT = 1


@dataclass(frozen=True)
class Trace:
    """Every step of a training run. Made by `trace`; prints as a table that can be checked by hand.

    Attributes
    ----------
    learner : str
        The class of the learner.
    parameters : dict
        Its parameters; `random_state` is a number, so that the run can be repeated.
    X : tuple of rows
        The training rows.
    y : tuple of labels
        Their labels.
    sample_weight : tuple or None
        Their weights; None if all are 1.
    start : (coef, intercept)
        The planes before the first step.
    exact : bool
        Whether the numbers are fractions.
    steps : tuple of Step
        The visits, in order.
    outcome : str
        "separated", "solved" (regression: every row in its tube), "budget" or "early", as in `Report`.
    coef, intercept : tuples or None
        The resulting model: the last w, the average or the pocket. None for a voted perceptron.
    bound : number or None
        The upper bound on the number of updates, from the margin of the last w; as in `Report`.
    classes : tuple or None
        The classes of the given weights that the run started from; None if all classes are those of y.
    first : int
        The number of the first row where rows are printed; `Step.row` always counts from 0.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> run = trace(X, y, fit_intercept=False)
    >>> len(run), run.outcome, run.coef, run.bound
    (8, 'separated', ((1.0, 1.0),), 2.0)
    """

    learner: str
    parameters: dict[str, Any]
    X: tuple[tuple[Any, ...], ...]
    y: tuple[Any, ...]
    sample_weight: tuple[Any, ...] | None
    start: tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...]]
    exact: bool
    steps: tuple[Step, ...]
    outcome: str
    coef: tuple[tuple[Any, ...], ...] | None
    intercept: tuple[Any, ...] | None
    bound: Any
    classes: tuple[Any, ...] | None = None
    first: int = 0

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def updates(self) -> tuple[Step, ...]:
        """The steps that changed w."""
        return tuple(step for step in self.steps if step.updated)

    @property
    def binary(self) -> bool:
        """Whether two classes are learned by one plane."""
        return len(self.start[1]) == 1 and not self.learner.endswith("Regressor")

    def planes(self) -> tuple[Array, Array]:
        """All planes as floats, W (k, P, d) and b (k, P): at the start, then after each update."""
        W, b = [np.array(self.start[0], dtype=float)], [np.array(self.start[1], dtype=float)]
        for step in self.updates:
            w, c = W[-1].copy(), b[-1].copy()
            mine = slice(step.plane, step.plane + len(step.intercept))
            w[mine], c[mine] = np.array(step.coef, dtype=float), np.array(step.intercept, dtype=float)
            W.append(w)
            b.append(c)
        return np.array(W), np.array(b)

    def angles(self, to: str = "final") -> Array:
        """The angle, in degrees, between w after each step and another w.

        Parameters
        ----------
        to : {"final", "widest"}, default="final"
            The last w of the run, or w of the widest plane between two classes.

        Returns
        -------
        ndarray of shape (steps,)
            NaN where w is zero, or where no plane separates the rows.
        """
        if to not in ("final", "widest"):
            raise ValueError(f'to must be "final" or "widest", got {to!r}.')
        W = self.planes()[0].reshape(len(self.updates) + 1, -1)
        goal = W[-1] if to == "final" else self._widest()
        with np.errstate(invalid="ignore", divide="ignore"):
            units, goal = W / np.linalg.norm(W, axis=1, keepdims=True), goal / np.linalg.norm(goal)
        # The arc tangent is accurate for small angles; the arc cosine loses them to rounding.
        angles = np.degrees(2 * np.arctan2(np.linalg.norm(units - goal, axis=1), np.linalg.norm(units + goal, axis=1)))
        made = {step.number: k for k, step in enumerate(self.updates, 1)}
        at = np.maximum.accumulate([0, *(made.get(step.number, 0) for step in self.steps)])[1:]
        return np.asarray(angles[at], dtype=float)

    def _widest(self) -> Array:
        if self.binary:
            fit_intercept = bool(self.parameters.get("fit_intercept", True))
            verdict = separability_verdict(np.array(self.X, dtype=float), np.array(self.y), fit_intercept)
            if verdict.coef is not None:
                return verdict.coef
        return np.full(np.size(np.array(self.start[0], dtype=float)), np.nan)

    def frame(self) -> Any:
        """The steps as a pandas DataFrame, one row per visit.

        Returns
        -------
        pandas.DataFrame
            Columns step, epoch, row, label, updated, updates, margin, margin_after, score, w1, change1, …, b,
            angle_final and angle_widest. With several planes there is one column of score, w, change and b per plane:
            score_0, w1_0, ….
        """
        try:
            import pandas as pd
        except ImportError as error:  # pragma: no cover
            raise ImportError("Trace.frame needs pandas: pip install pandas") from error
        columns: dict[str, list[Any]] = {
            "step": [step.number for step in self.steps],
            "epoch": [step.epoch for step in self.steps],
            "row": [step.row for step in self.steps],
            "label": [step.label for step in self.steps],
            "updated": [step.updated for step in self.steps],
            "updates": [step.updates for step in self.steps],
            "margin": [step.margin for step in self.steps],
            "margin_after": [step.margin_after for step in self.steps],
        }
        planes = max((len(step.intercept) for step in self.steps), default=len(self.start[1]))
        for k in range(planes):
            mark = "" if planes == 1 else f"_{k}"
            columns[f"score{mark}"] = [None if step.scores is None else step.scores[k] for step in self.steps]
            for j in range(len(self.start[0][0])):
                columns[f"w{j + 1}{mark}"] = [step.coef[k][j] for step in self.steps]
                columns[f"change{j + 1}{mark}"] = [step.change[k][j] for step in self.steps]
            columns[f"b{mark}"] = [step.intercept[k] for step in self.steps]
        columns["angle_final"] = list(self.angles())
        columns["angle_widest"] = list(self.angles("widest"))
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        """The run as a table, and how it ended."""
        return format_trace(self)

    # -- files -------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The trace as JSON text: data, settings and steps.

        Returns
        -------
        str
            `Trace.from_json` reads it, repeats the run and checks every step.
        """
        document = {field.name: _encode(getattr(self, field.name), field.name) for field in fields(self)}
        return json.dumps({"format": FORMAT, **document}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read a trace from JSON, repeat the run and check every step against it.

        Parameters
        ----------
        text : str
            What `to_json` wrote.

        Returns
        -------
        Trace

        Raises
        ------
        ValueError
            If the text is not a trace, or a step differs from the run.
        """
        try:
            document = json.loads(text)
            if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
                raise ValueError(f"it is not of format {FORMAT}")
            document = {name: _decode(value) for name, value in document.items()}
            if document["outcome"] == "converged":  # as version 0.1 said
                document["outcome"] = "solved" if document["learner"].endswith("Regressor") else "separated"
            steps = tuple(Step(**step) for step in document.pop("steps"))
            stored = cls(**document, steps=steps)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"This text is not a trace: {error}.") from error
        stored._check()
        return stored

    def _check(self) -> None:
        if self.learner not in TRACED:
            raise ValueError(f"This trace is of {self.learner!r}, which `trace` does not support.")
        kind, (coef, intercept) = TRACED[self.learner].kind, self.start
        start: dict[str, Any] = {}
        if self.classes is not None:
            model = kind.from_weights(coef, intercept, classes=self.classes, **self.parameters)
        else:
            model = kind(**self.parameters)
            if any(map(any, coef)) or any(intercept):
                start = {"coef_init": coef, "intercept_init": intercept}
        y, weights = np.array(self.y), self.sample_weight
        again = trace(self.X, y, model, exact=self.exact, sample_weight=weights, **start)
        for mine, other in zip(self.steps, again.steps, strict=False):
            if not _equal_up_to_rounding(mine, other):
                raise ValueError(
                    f"Step {mine.number} of this trace differs from the run: {mine}, but the run gives {other}."
                )
        for name in ("outcome", "coef", "intercept", "bound"):
            if not _equal_up_to_rounding(getattr(self, name), getattr(again, name)):
                raise ValueError(f"The {name} of this trace differs from the run.")
        if len(self.steps) != len(again.steps):
            raise ValueError(f"This trace has {len(self.steps)} steps, the run {len(again.steps)}.")


def _encode(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, tuple | list | np.ndarray):
        return [_encode(item, name) for item in value]
    if isinstance(value, Step):
        return {field.name: _encode(getattr(value, field.name), field.name) for field in fields(Step)}
    if isinstance(value, dict):
        return {key: _encode(item, key) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name}={value!r} cannot be written as JSON: only numbers, text and sequences can.")


def _decode(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["fraction"]:
        return Fraction(value["fraction"])
    if isinstance(value, dict):
        return {key: _decode(item) for key, item in value.items()}
    return tuple(_decode(item) for item in value) if isinstance(value, list) else value


def _equal_up_to_rounding(mine: Any, other: Any) -> bool:
    """Whether values are equal, floats up to rounding, which differs slightly between processors."""
    if isinstance(mine, Step) and isinstance(other, Step):
        return all(
            _equal_up_to_rounding(getattr(mine, field.name), getattr(other, field.name)) for field in fields(Step)
        )
    if isinstance(mine, tuple) and isinstance(other, tuple):
        return len(mine) == len(other) and all(_equal_up_to_rounding(a, b) for a, b in zip(mine, other, strict=True))
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-12)
    return type(mine) is type(other) and bool(mine == other)


def trace(
    X: Any,
    y: Any,
    model: Any = None,
    *,
    exact: bool = False,
    first: int = 0,
    coef_init: Any = None,
    intercept_init: Any = None,
    sample_weight: Any = None,
    **settings: Any,
) -> Any:
    """Record every step of a training run.

    The learner, the order of the rows and the result are those of `model.fit`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or sentences for a `SequencePerceptron`
        The training rows, or sentences.
    y : array-like of shape (n,), or tags of the sentences
        Their labels, or tags.
    model : estimator, optional
        A perceptron (last, averaged, voted, PAUM), passive-aggressive, AROW or second-order learner; `Pegasos`, a
        `LinearClassifier` or `LinearRegressor` that descends row by row, or a `KernelPerceptron` of two classes, whose
        α is shown per row; or a `SequencePerceptron`. It is copied, not changed. By default
        `Perceptron(order="cyclic", **settings)`; to visit given rows, use `order=[4, 2, 0]`. One made by
        `from_weights` is a start: the run begins at its weights, and
        its classes need not all be in y.
    exact : bool, default=False
        Compute with fractions: a float counts as the number it prints as, so 0.2 is 1/5. Not available for rules with
        square roots.
    first : int, default=0
        The number of the first row in what is printed: 1, as on slides. `order` and `Step.row` count from 0.
    coef_init, intercept_init : array-like, optional
        w(0) and b(0), in the shapes of `coef_` and `intercept_`; zero by default.
    sample_weight : array-like of shape (n,), optional
        The weights of the rows; by default 1.
    **settings
        Parameters of the default `Perceptron`, or parameters to set on the copy of `model`.

    Returns
    -------
    Trace, WorkedTrace for learners with an arithmetic of their own, or SequenceTrace for sentences
        Without `max_epochs` it ends after about 20,000 visits, even if `fit` would continue.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> print(trace(X, y, fit_intercept=False, exact=True))
    Perceptron: w = (0, 0) at the start
    <BLANKLINE>
    step  epoch  row  x        y   f = w·x    y·f     w
       1      1    0  (1, 0)   +1        0  0 ≤ 0  →  (1, 0)
       2      1    1  (0, −1)  −1        0  0 ≤ 0  →  (1, 1)
       3      1    2  (0, 1)   +1        1  1 > 0
       4      1    3  (−1, 0)  −1       −1  1 > 0
       5      2    0  (1, 0)   +1        1  1 > 0
       6      2    1  (0, −1)  −1       −1  1 > 0
       7      2    2  (0, 1)   +1        1  1 > 0
       8      2    3  (−1, 0)  −1       −1  1 > 0
    <BLANKLINE>
    separated after 2 updates in 8 steps; the bound allows 2
    """
    if isinstance(model, SequencePerceptron):
        if exact or any(start is not None for start in (coef_init, intercept_init, sample_weight)):
            raise ValueError("exact, coef_init, intercept_init and sample_weight are not for sequences.")
        return trace_sentences(X, y, clone(model).set_params(**settings))
    if type(model) in WORKED:
        if any(start is not None for start in (coef_init, intercept_init, sample_weight)):
            raise ValueError(f"{type(model).__name__} is traced from zero, with equal weights.")
        return trace_worked(X, y, clone(model).set_params(**settings), exact=exact, first=first)
    learner, known = _as_learner(model, settings), None
    if (
        coef_init is None
        and intercept_init is None
        and model is not None
        and vars(model).get("report_", learner) is None
    ):
        start = state_now(model, plan_of(model)).last()  # given weights are a start
        coef_init, intercept_init, known = start.coef, start.intercept, vars(model).get("classes_")
    check_buffers(X, "X")
    check_buffers(y, "y")
    rows = well_formed(X).toarray() if sp.issparse(X) else np.asarray(X)
    exact_rows: Any = printed_fractions(rows) if exact else None
    X = np.array(exact_rows, dtype=float) if exact else X
    if learner.max_epochs is None:
        cap = max(1, DEFAULT_VISITS // max(len(rows), 1))
        learner.set_params(max_epochs=min(default_epochs(rows.size, learner.keep), cap))
    learner.set_params(random_state=new_seed(learner.random_state))
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if exact:
        run = record_in_fractions(learner, exact_rows, X, y, coef_init, intercept_init, weights, known)
        data = as_tuples(exact_rows)
    else:
        run = record_in_floats(learner, X, rows, y, coef_init, intercept_init, weights, known)
        data = as_tuples(rows.astype(float))
    return Trace(
        learner=type(learner).__name__,
        parameters={
            name: as_tuples(np.asarray(value)) if isinstance(value, list | tuple | np.ndarray) else value
            for name, value in learner.get_params(deep=False).items()
        },
        X=data,
        y=as_tuples(np.asarray(y)),
        sample_weight=None if weights is None else as_tuples(weights),
        exact=bool(exact),
        classes=None if known is None else as_tuples(np.asarray(known)),
        first=first,
        **run,
    )


def _as_learner(model: Any, settings: dict[str, Any]) -> Any:
    if model is None:
        return Perceptron(**{"order": "cyclic", **settings})
    if type(model) not in [learner.kind for learner in TRACED.values()]:
        supported = [*TRACED, *(kind.__name__ for kind in WORKED)]
        raise TypeError(f"trace supports {', '.join(supported)}, not {type(model).__name__}.")
    return clone(model).set_params(**settings)
