"""How a fit ended, as a frozen record that anyone can check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rosenblatt.learn.epochs import EpochRecord, Training, frozen, thinned
from rosenblatt.learn.sharding import Sharding


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a fit ended.

    Attributes
    ----------
    outcome : str
        "separated": the last iterate has y·f above the margin on every training row (for PA and AROW above 0);
        "solved": the objective is within its duality gap or gradient tolerance; "stalled": it stopped improving, and
        patience was spent; "budget": the epochs were spent first; "early": stopped by held-out rows or a callback;
        "interrupted": Ctrl-C; "inseparable": no plane separates the rows; "undecided": no plane in doubles was found,
        though one may exist.
    epochs : sequence of EpochRecord
        Read-only. Of dual methods, whose epochs are many and short, the first hundred, then ever fewer, and
        the last.
    updates : int
        Updates of w, summed over planes.
    errors : int or None
        Training rows that the returned model gets wrong; for regression those outside the tube. With two classes, f = 0
        is a mistake for learners that make an update there; those that minimise an objective (`LinearClassifier`,
        `Pegasos`, `LinearSVM`, `KernelSVM`, `MaxMargin`) count it as `predict` and `score` do, as the first class.
    margin : float or None
        Geometric margin of the returned model on the training rows, negative if a row is wrong; the smallest over all
        planes. None for a vote and for regression.
    radius : float
        R = max‖x‖.
    bound : float or None
        An upper bound on the updates, from the margin of the last iterate: see `prove.mistake_formula`.
        None if no such bound holds: the rows are not separated, weights are not whole numbers, the rate is not
        constant, the start was not zero, or the rule has none. For batch updates it counts the rows that moved w.
    gap : float or None
        Duality gap, for dual methods.
    seconds : float
        How long the fit took.
    rows : int
        Training rows that took part.
    witness : Separability or None
        The proof that no plane separates the rows, where the outcome is "inseparable".
    objective : float or None
        Mean loss + penalty of the returned model, for learners that minimise one.
    data_loss, penalty, gradient_norm : float or None
        The two parts of the objective, and the length of its gradient in `coef_` and `intercept_` over all rows, for
        solvers that compute them at the end.
    sharding : Sharding or None
        How training in shards went.
    moved : int or None
        For batch updates that have a bound: the rows that moved w, summed over updates, by weight.
    tokens, token_errors : int or None
        For sequences, whose rows are sentences: the training tokens, and those that the returned model gets wrong.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> report = Perceptron(fit_intercept=False, order="cyclic").fit(X, y).report_
    >>> print(report)
    separated: the last iterate has every training row on its right side
      epochs   2 in ... s
      updates  2
      errors   0 of 4 training rows, by the model returned
      margin   0.707107, radius 1
      bound    2 updates at most, 100 % of it used
    """

    outcome: str
    epochs: Sequence[EpochRecord]
    updates: int
    errors: int | None = None
    margin: float | None = None
    radius: float
    bound: float | None = None
    gap: float | None = None
    seconds: float
    rows: int
    witness: Any = None
    objective: float | None = None
    sharding: Sharding | None = None
    moved: int | None = None
    tokens: int | None = None
    token_errors: int | None = None
    data_loss: float | None = None
    penalty: float | None = None
    gradient_norm: float | None = None

    @property
    def n_epochs(self) -> int:
        """The number of epochs, including those whose records were not stored."""
        return self.epochs[-1].epoch if self.epochs else 0

    def __str__(self) -> str:
        """The report in words."""
        how = {
            "separated": "separated: the last iterate has every training row on its right side",
            "solved": "solved: the objective is at its minimum, within tolerance",
            "stalled": "stalled: the objective stopped improving",
            "budget": "stopped by its budget",
            "early": "stopped early; the best epoch is the model",
            "interrupted": "interrupted; the last whole epoch is the model",
            "inseparable": "no plane separates these rows",
            "undecided": "no plane in doubles was found, and none is ruled out",
        }[self.outcome]
        if self.gap is not None and self.outcome == "solved":
            how = "solved: stopped with its duality gap closed"
        if self.tokens is not None and self.outcome == "separated":
            how = "separated: the last iterate has the tags of every training sentence right"
        lines = [how, f"  epochs   {self.n_epochs} in {self.seconds:.3g} s", f"  updates  {self.updates:,}"]
        if self.errors is not None:
            what = f"{self.rows:,} training rows"
            if self.tokens is not None:
                what = f"{self.rows:,} training sentences, {self.token_errors:,} of {self.tokens:,} tokens"
            lines.append(f"  errors   {self.errors:,} of {what}, by the model returned")
        if self.margin is not None:
            lines.append(f"  margin   {self.margin:.6g}, radius {self.radius:.6g}")
        if self.bound is not None:
            counted, what = (self.updates, "updates") if self.moved is None else (self.moved, "rows that move w")
            share = 100 * counted / self.bound if self.bound else 0.0
            lines.append(f"  bound    {self.bound:,.0f} {what} at most, {share:.3g} % of it used")
        if self.objective is not None:
            lines.append(f"  objective {self.objective:.8g}")
        if self.gradient_norm is not None:
            lines.append(f"           data loss {self.data_loss:.6g}, penalty {self.penalty:.6g}")
            lines.append(f"  gradient {self.gradient_norm:.3g}")
        if self.gap is not None:
            lines.append(f"  gap      {self.gap:.3g}")
        if self.witness is not None:
            lines.append(f"  witness  {self.witness}")
        if self.sharding is not None:
            lines.append("  shards   " + str(self.sharding).replace("\n", "\n           "))
        return "\n".join(lines)


def unseen(outcome: str, run: Training, records: Sequence[EpochRecord], seconds: float) -> Report:
    """The report without a scan: errors and margin are not known."""
    solver, facts = run.solver, run.source.facts
    return Report(
        outcome=outcome,
        epochs=frozen(thinned(records) if solver.iterates else records),
        updates=solver.state.updates,
        radius=solver.radius(facts),
        seconds=seconds,
        rows=facts.rows,
        sharding=solver.sharding,
    )


@dataclass(frozen=True, kw_only=True)
class ProbeReport:
    """How the penalties did on held-out rows, and how near the chosen model is to the minimum of its objective.

    Attributes
    ----------
    outcome : str
        "solved" if the gradient over all rows is small enough for a minimum, otherwise "budget".
    rows, held_out : int
        Rows of the last fit, and rows on which the penalties were compared.
    alphas, accuracies, losses : tuple of float
        The penalties, with their accuracy (of labels: the share of right ones) and their mean loss on held-out rows.
    alpha : float
        The penalty that was chosen.
    accuracy : float or None
        The accuracy on held-out rows, of which each half is scored by the penalty that is best on the other half: the
        best of several accuracies is too high on the rows that chose it. None if no rows were held out.
    interval : (float, float) or None
        The 95 % confidence interval of as many rows with this accuracy (Clopper and Pearson), if rows have no weights.
    scale : float
        The factor by which scores are multiplied before they become probabilities.
    errors : int
        Rows of the last fit that the model gets wrong.
    data_loss, penalty, gradient_norm : float
        The parts of the objective in standardised features, and the length of its gradient in `coef_` and `intercept_`.
    n_epochs : int
        Passes of each fit.
    seconds : float
    """

    outcome: str
    rows: int
    held_out: int
    alphas: tuple[float, ...]
    accuracies: tuple[float, ...]
    losses: tuple[float, ...]
    alpha: float
    accuracy: float | None
    interval: tuple[float, float] | None
    scale: float
    errors: int
    data_loss: float
    penalty: float
    gradient_norm: float
    n_epochs: int
    seconds: float

    def __str__(self) -> str:
        """The report in words."""
        lines = []
        if self.accuracy is not None:
            lines.append(f"accuracy {self.accuracy:.4f} on {self.held_out:,} held-out rows")
            if self.interval is not None:
                lines[0] += f" (95 %: {self.interval[0]:.4f} to {self.interval[1]:.4f})"
            for alpha, accuracy, loss in zip(self.alphas, self.accuracies, self.losses, strict=True):
                chosen = "  ← chosen" if alpha == self.alpha else ""
                lines.append(f"  alpha {alpha:<8.3g} accuracy {accuracy:.4f}  loss {loss:.4f}{chosen}")
        if len(self.alphas) > 1 and self.accuracy is not None and self.alpha in (min(self.alphas), max(self.alphas)):
            end = "smallest" if self.alpha == min(self.alphas) else "largest"
            lines.append(f"  the chosen alpha is the {end} that was tried: others may do better")
        how = "solved: the objective is at its minimum" if self.outcome == "solved" else "stopped by its budget"
        lines.append(f"{how}, {self.n_epochs} epochs, {self.seconds:.3g} s")
        lines.append(f"  errors   {self.errors:,} of {self.rows:,} training rows")
        lines.append(f"  data loss {self.data_loss:.6g}, penalty {self.penalty:.6g}, gradient {self.gradient_norm:.3g}")
        return "\n".join(lines)
