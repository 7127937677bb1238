"""How the fit of a model of tables ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rosenblatt.learn.epochs import EpochRecord
from rosenblatt.tables.summary import TableSummary


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """How the fit of a table ended: the end of its learner's training. `summary_` has everything else.

    Attributes
    ----------
    outcome : str
        That of the learner's report, such as "separated", "solved" or "budget"; "fitted" for a learner of another
        package; "no columns" if there was none to learn from.
    ending : str
        The same in words.
    learner : str
        Its name, with its settings if they were chosen.
    rows : int
        The rows that it learned from.
    epochs : sequence of EpochRecord
        Of the learner.
    updates, errors : int or None
        The learner's updates, and the rows that it gets wrong among those that it learned from.
    seconds : float
        For everything: encoding, search, scores and training.
    """

    outcome: str
    ending: str
    learner: str
    rows: int
    epochs: Sequence[EpochRecord] = ()
    updates: int | None = None
    errors: int | None = None
    seconds: float

    @classmethod
    def of(cls, summary: TableSummary, learner: Any) -> TableReport:
        """The report of a fit with this summary and this learner."""
        said: dict[str, Any] = {"learner": summary.learner, "seconds": summary.seconds}
        told = None if learner is None else getattr(learner, "report_", None)  # which another package's lacks
        if told is None:
            said |= {"outcome": "no columns", "ending": "no column can be used"}
            if learner is not None:
                said |= {"outcome": "fitted", "ending": "fitted; the learner does not report how it ended"}
            return cls(rows=summary.rows - summary.held_out, **said)
        said |= {name: value for name, value in vars(told).items() if name in ("epochs", "updates", "errors")}
        return cls(outcome=told.outcome, ending=str(told).partition("\n")[0], rows=told.rows, **said)

    def __str__(self) -> str:
        """The report in words."""
        lines = [self.ending, f"  learner  {self.learner}"]
        lines += [f"  epochs   {self.epochs[-1].epoch} in {self.seconds:.3g} s"] if self.epochs else []
        lines += [f"  updates  {self.updates:,}"] if self.updates is not None else []
        lines += [f"  errors   {self.errors:,} of {self.rows:,} training rows"] if self.errors is not None else []
        return "\n".join(lines)
