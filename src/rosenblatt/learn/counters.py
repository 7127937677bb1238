"""The names of the counters of training: each is an index into an array of doubles (exact below 2⁵³), the tally.

Compiled code sees a member as its integer. Model files store tallies, so new names go at the end.
"""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import such_that


class Count(IntEnum):
    """The indices of a tally."""

    POSITION = 0  # the current place in the rows of this call
    LEFT = 1  # remaining weight of the row at POSITION, 0 before its first visit
    CLOCK = 2  # visits so far, a row of weight s counting as s: the time used by averages
    UPDATES = 3
    VIOLATIONS = 4  # visits that show that the last iterate has not converged
    LOSS = 5
    LOGGED = 6  # entries in the log of updates
    WATCHED = 7  # 1 with a pocket: the loop returns when a run is the longest so far
    RUN = 8  # visits since the last update
    BEST = 9  # the longest run of the weights in the pocket
    HELD = 10  # 1 while the pocket holds the current w
    CHECKED = 11  # 1 after w was compared with the pocket and rejected
    COLUMN = 12  # the current column within a row
    VISITS = 13  # visits that may still be made in this call
    SUPPORT = 14  # support vectors within the budget
    SHRINKAGE = 15  # the cost of shrinking so far, for the Forgetron: Q in its analysis
    MISTAKES = 16  # total weight of the mistakes


NEVER_NEGATIVE = [count for count in Count if count not in (Count.LOSS, Count.SHRINKAGE)]
FLAGS = (Count.WATCHED, Count.HELD, Count.CHECKED)


def _is_between_passes(tally: Any) -> bool:
    """Whether training may have left this tally: compiled code takes counters as indices, sizes and branches.

    Between calls nothing is left of a row, and the log of updates is empty.
    """
    good = isinstance(tally, np.ndarray) and tally.shape == (len(Count),) and tally.dtype == np.float64
    held = tally.tolist() if good else [math.nan]  # a list, because there is a tally per machine
    return (
        all(map(math.isfinite, held))
        and min(held[count] for count in NEVER_NEGATIVE) >= 0
        and held[Count.LEFT] == held[Count.LOGGED] == 0
        and all(held[count] in (0.0, 1.0) for count in FLAGS)
    )


TALLY = such_that(_is_between_passes, "finite counters between two passes")
