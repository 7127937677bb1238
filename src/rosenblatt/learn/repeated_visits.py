"""The limit on repeated visits in an epoch.

A row of weight s is visited ⌈s⌉ times in succession, as if it occurred s times, and no more once a visit changes
nothing. That is meant for counts and for unbalanced classes. With weights in the millions an epoch could take hours
if every visit changes something; since only their ratios matter, such weights are refused with the advice to scale
them down.
"""

from __future__ import annotations

MOST = 1_000_000  # repeated visits that any epoch may make
PER_ROW = 100  # repeated visits per row of the epoch, if that is more


def allowed(rows: int, most: int | None = None) -> int:
    """The repeated visits allowed in an epoch over this many rows."""
    return max(MOST if most is None else most, PER_ROW * rows)


def check_total(total: float, rows: int) -> None:
    """Refuse weights whose sum is too large, for a learner that makes every visit of every row."""
    if total - rows > allowed(rows):
        raise too_many(allowed(rows))


def too_many(limit: int) -> ValueError:
    """The error for weights that require more repeated visits than are allowed."""
    return ValueError(
        f"The weights of rows (sample_weight, class_weight) require more than {limit:,} repeated visits in an epoch: "
        "a row of weight s is visited ⌈s⌉ times in a row. Scale them down, for example "
        "sample_weight / np.mean(sample_weight)."
    )


class VisitLimit:
    """Counts the repeated visits of an epoch: all except the first to each row."""

    def __init__(self, rows: int, most: int | None = None) -> None:
        self.limit = self.left = allowed(rows, most)

    def begin(self, rows: int) -> None:
        """Allow the first visits of the next piece, of this many rows."""
        self.left += rows

    def few(self, most: int) -> int:
        """How many visits to make in one call, at most `most`: one beyond the limit is enough to detect it."""
        return min(most, self.left + 1)

    def spend(self, visits: int) -> None:
        """Count visits that were made."""
        self.left -= visits
        if self.left < 0:
            raise too_many(self.limit)
