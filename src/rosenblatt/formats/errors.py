"""The errors raised for bad files and for training that overflows.

FileError               a file cannot be read, understood or written: what was found, and where
  NewerFormatError      a file was written by a newer version of rosenblatt
NotFiniteError          a weight, score, step or loss overflowed: which input value is the largest, and where
NonFiniteInputError     a value of X is NaN or infinity
"""

from __future__ import annotations

from os import PathLike
from typing import Any


class FileError(ValueError):
    """A file that cannot be read, understood or written.

    Parameters
    ----------
    what : str
        What was expected and what was found.
    path : path, optional
        The file.
    line : int, optional
        The line of the error, counted from 1.
    column : int or str, optional
        The position of the error, counted from 1; a column may also be a name.

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
    """A file that was written by a newer version of rosenblatt.

    Examples
    --------
    >>> from rosenblatt import FileError, NewerFormatError
    >>> issubclass(NewerFormatError, FileError)
    True
    """


class NotFiniteError(ValueError):
    """Training overflowed the range of floating-point numbers.

    Parameters
    ----------
    what : str
        What overflowed, as a sentence without its full stop.
    place : (int, int, float), optional
        Row, column and value of the entry of X with the largest absolute value. Code that detects the overflow may not
        know it; `at` adds it where all rows are at hand.
    remedy : str, default="Scale the features."
        What the user can do.

    Examples
    --------
    >>> from rosenblatt.formats.errors import NotFiniteError
    >>> print(NotFiniteError("The loss overflowed in epoch 1").at((4, 2, -3.4e38)))
    The loss overflowed in epoch 1: the largest value is -3.4e+38, at row 4, column 2. Scale the features.
    """

    def __init__(
        self, what: str, place: tuple[int, int, float] | None = None, remedy: str = "Scale the features."
    ) -> None:
        self.what, self.place, self.remedy = what, place, remedy
        where = ""
        if place is not None:
            row, column, value = place
            where = f": the largest value is {value:.6g}, at row {row}, column {column}"
        super().__init__(f"{what}{where}. {remedy}")

    def at(self, place: tuple[int, int, float]) -> NotFiniteError:
        """The same error with the position of the largest value added."""
        return NotFiniteError(self.what, place, self.remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        return NotFiniteError, (self.what, self.place, self.remedy)


class NonFiniteInputError(ValueError):
    """A value of X that is NaN or infinity, and where it is.

    Examples
    --------
    >>> from rosenblatt.formats.errors import NonFiniteInputError
    >>> print(NonFiniteInputError("NaN", 7, 0))
    Input X contains NaN at row 7, column 0.
    """

    def __init__(self, what: str, row: int, column: int) -> None:
        self.what, self.row, self.column = what, row, column
        super().__init__(f"Input X contains {what} at row {row}, column {column}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.row, self.column)
