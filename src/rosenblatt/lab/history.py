"""Undo and redo: the states of the lab, one per change."""

from __future__ import annotations

from dataclasses import replace

from rosenblatt.lab.sharing import Snapshot

MOST = 200  # states that are kept


class History:
    """The current state, those before it, and those that were undone."""

    def __init__(self, start: Snapshot) -> None:
        self.past, self.future = [start], list[Snapshot]()

    def note(self, shot: Snapshot) -> None:
        """Note the state after a change; showing another page is none."""
        if replace(shot, page=self.past[-1].page) != self.past[-1]:
            self.past, self.future = [*self.past[1 - MOST :], shot], []

    def undo(self) -> Snapshot | None:
        """The state before the last change, on the page of that change; None if there is none."""
        if len(self.past) < 2:
            return None
        undone = self.past.pop()
        self.future.append(undone)
        return replace(self.past[-1], page=undone.page)

    def redo(self) -> Snapshot | None:
        """The state after the change that was undone last; None if there is none."""
        if not self.future:
            return None
        self.past.append(self.future.pop())
        return self.past[-1]
