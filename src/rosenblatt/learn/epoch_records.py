"""A growing sequence of epoch records, which repeated calls extend without copying it each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class EpochRecords(Sequence[Any]):
    """An immutable sequence, like a tuple; a sequence that is one record longer shares all others with it."""

    __slots__ = ("_all", "_size")

    def __init__(self, records: Iterable[Any] = ()) -> None:
        self._all = list(records)
        self._size = len(self._all)

    @classmethod
    def of(cls, records: Iterable[Any]) -> EpochRecords:
        """These records as `EpochRecords`; returned as they are if they already are."""
        return records if isinstance(records, cls) else cls(records)

    def after(self, record: Any) -> EpochRecords:
        """These records and one more."""
        longer = EpochRecords.__new__(EpochRecords)
        # Another sequence may already have been extended from this one; its records are not ours.
        longer._all = self._all if len(self._all) == self._size else self._all[: self._size]
        longer._all.append(record)
        longer._size = self._size + 1
        return longer

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self._all[k] for k in range(*at.indices(self._size)))
        return self._all[range(self._size)[at]]

    def __iter__(self) -> Iterator[Any]:
        return (self._all[k] for k in range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochRecords | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return EpochRecords, (tuple(self),)


def frozen(records: Iterable[Any]) -> Sequence[Any]:
    """The records as an immutable sequence."""
    return records if isinstance(records, EpochRecords) else tuple(records)


def thinned(records: Sequence[Any], dense: int = 100, ratio: float = 1.05) -> Sequence[Any]:
    """The first `dense` records, then geometrically fewer, and the last: enough for thousands of iterations."""
    kept, wanted = list(records[:dense]), float(dense)
    for place in range(dense, len(records)):
        if place + 1 >= wanted * ratio or place == len(records) - 1:
            kept.append(records[place])
            wanted = place + 1
    return kept
