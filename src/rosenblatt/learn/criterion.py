"""What counts as wrong, for scans and reports: a mistake, a decision, a tube. A criterion has no step."""

from __future__ import annotations

from typing import NamedTuple


class Criterion(NamedTuple):
    """When a row is wrong, and when it shows that the learner has not converged."""

    low: float = 0.0  # the required margin of the negative class
    high: float = 0.0  # of the positive class, and between classes
    tube: float = -1.0  # for numbers: how far f may be from y; below 0 for classes
    learns_at_margin: bool = True  # whether a row exactly at its required margin is learned from
    clears_margin: bool = True  # whether rows must be above their margin at the end, or only above 0
    tie_is_mistake: bool = True  # False for learners that minimise an objective: f = 0 counts as in `predict`

    @property
    def numbers(self) -> bool:
        """Whether rows have numbers instead of classes."""
        return self.tube >= 0.0


MISTAKE = Criterion()
DECISION = Criterion(tie_is_mistake=False)
