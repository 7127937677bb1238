"""What `LinearProbe` reports."""

from __future__ import annotations

from dataclasses import dataclass


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
