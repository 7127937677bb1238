"""What is raised when a file is not what it should be.

FileError               a file that cannot be read, understood or written: what was found, and where
  NewerFormatError      a file that a newer version of rosenblatt wrote
"""

from __future__ import annotations

from os import PathLike
from typing import Any


class FileError(ValueError):
    """A file that cannot be read, understood or written.

    Parameters
    ----------
    what : str
        What is wrong, and what was expected.
    path : path, optional
    line, column : int, optional
        Where, counted from 1.

    Examples
    --------
    >>> from rosenblatt import FileError
    >>> print(FileError("expected a number, found 'x'", "rows.svm", line=3, column=8))
    rows.svm, line 3, column 8: expected a number, found 'x'
    """

    def __init__(
        self,
        what: str,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        column: int | str | None = None,
    ) -> None:
        self.what, self.path, self.line, self.column = what, path, line, column
        place = [] if path is None else [str(path)]
        place += [] if line is None else [f"line {line:,}"]
        place += [] if column is None else [f"column {column:,}" if isinstance(column, int) else f"column {column!r}"]
        super().__init__(f"{', '.join(place)}: {what}" if place else what)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.path, self.line, self.column)


class NewerFormatError(FileError):
    """A file that a newer version of rosenblatt wrote.

    Examples
    --------
    >>> from rosenblatt import FileError, NewerFormatError
    >>> issubclass(NewerFormatError, FileError)
    True
    """
