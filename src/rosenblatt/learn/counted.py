"""A count with its noun, as messages write it: 1 update, 2 updates."""


def counted(count: int, noun: str) -> str:
    """The count and its noun, which gets an s unless there is exactly one.

    >>> counted(1, "update"), counted(2, "update"), counted(12345, "row")
    ('1 update', '2 updates', '12,345 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
