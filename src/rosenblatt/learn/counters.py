"""The names of what training counts: each is a place in an array of doubles (exact below 2⁵³), called a tally.

Compiled code takes a member for the integer that it is. A model file holds tallies: new names go at the end.
"""

from enum import IntEnum


class Count(IntEnum):
    """The places of a tally."""

    POSITION = 0  # where in the rows of this call the pass stands
    LEFT = 1  # weight left to the row at POSITION, 0 before its first visit
    CLOCK = 2  # visits so far, a row of weight s counting s: the time of averages
    UPDATES = 3
    VIOLATIONS = 4  # visits that show that the last iterate has not converged
    LOSS = 5
    LOGGED = 6  # entries in the log of updates
    WATCHED = 7  # 1 for the pocket: the loop returns when a run is the longest so far
    RUN = 8  # visits since the last update
    BEST = 9  # the longest run of the weights in the pocket
    HELD = 10  # 1 while w is in the pocket
    CHECKED = 11  # 1 when w was compared with the pocket and left out
    COLUMN = 12  # the column at which the pass stands within a row
    VISITS = 13  # visits that may still be made in this call
    SUPPORT = 14  # support vectors within the budget
    SHRINKAGE = 15  # what shrinking has cost the Forgetron so far: Q in its analysis
    MISTAKES = 16  # weight of the rows that were mistakes
