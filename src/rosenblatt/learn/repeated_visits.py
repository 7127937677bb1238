"""How often an epoch may visit rows again.

A row of weight s is visited ⌈s⌉ times in a row, as if it were there s times, and no more once a visit changes nothing.
That is meant for counts and for classes of unequal size. Weights of millions would make an epoch last for hours where
every visit changes something; only their ratios matter, so they are refused with the advice to scale them.
"""

from __future__ import annotations

MOST = 1_000_000  # repeated visits that every epoch may make
PER_ROW = 100  # and for each row of the epoch, where that is more


def allowed(rows: int, most: int | None = None) -> int:
    """Repeated visits that an epoch over so many rows may make."""
    return max(MOST if most is None else most, PER_ROW * rows)


def check_total(total: float, rows: int) -> None:
    """Refuse weights that sum to too much, for a learner that makes all visits of every row."""
    if total - rows > allowed(rows):
        raise too_many(allowed(rows))


def too_many(limit: int) -> ValueError:
    """That the weights ask for more repeated visits than are allowed."""
    return ValueError(
        f"The weights of rows (sample_weight, class_weight) ask for more than {limit:,} repeated visits in an epoch: "
        "a row of weight s is visited ⌈s⌉ times in a row. Scale them down, for example "
        "sample_weight / np.mean(sample_weight)."
    )


class VisitLimit:
    """Counts the visits of an epoch over so many rows, the first to each row left out."""

    def __init__(self, rows: int, most: int | None = None) -> None:
        self.limit = self.left = allowed(rows, most)

    def begin(self, rows: int) -> None:
        """A piece of so many rows follows."""
        self.left += rows

    def few(self, most: int) -> int:
        """How many visits to make in one go, at most so many: one too many is enough to tell."""
        return min(most, self.left + 1)

    def spend(self, visits: int) -> None:
        """So many visits were made."""
        self.left -= visits
        if self.left < 0:
            raise too_many(self.limit)
