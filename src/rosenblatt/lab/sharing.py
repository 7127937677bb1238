"""The lab's state as a file or link that restores it exactly, and as Python code that reproduces it."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rosenblatt.lab import state_limits
from rosenblatt.lab.runs import RunSettings

FORMAT = 1
LONGEST_LINK = 30_000  # characters; the server refuses longer URLs
LONGEST_LINKED = 1_000_000  # characters that a link may unpack to
LONGEST_FILE = 12_500_000  # characters: as many values as a table may have, written out
LAST_STEP = 10**9  # a step beyond the end of a run means its last
LAST_PAGE = 6  # of those in app.py


@dataclass(frozen=True)
class Snapshot:
    """The state of the lab: points, settings, the current step, and the state of the other pages.

    Attributes
    ----------
    x, y : tuple of float
    labels : tuple of int
    classes : tuple of str
    settings : RunSettings
    step : int
    page : int
    axes : (str, str)
    note : str
    columns : tuple of tuple of float
        All columns, if the points are a projection of a table; else empty.
    pages : dict
        The state of each of the other pages, by name.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...] = ("−", "+")
    settings: RunSettings = field(default_factory=RunSettings)
    step: int = 0
    page: int = 0
    axes: tuple[str, str] = ("x₁", "x₂")
    note: str = ""
    columns: tuple[tuple[float, ...], ...] = ()
    pages: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The snapshot as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """A snapshot from JSON; ValueError if it is not valid."""
        try:
            if len(text) > LONGEST_FILE:
                raise ValueError(f"it has more than {LONGEST_FILE:,} characters")
            return cls._read(json.loads(text))
        except RecursionError:
            raise ValueError("This is not a lab state: it is nested too deeply.") from None
        except ValueError as error:
            raise ValueError(f"This is not a lab state: {error}.") from error

    @classmethod
    def _read(cls, given: Any) -> Snapshot:
        kept = state_limits.fields(given, "state", ["format", *(field.name for field in fields(cls))])
        if kept["format"] != FORMAT:
            raise ValueError(f"format: expected {FORMAT}, found {state_limits.shown(kept['format'])}")
        x = state_limits.numbers(kept["x"], "x")
        names = state_limits.sequence(kept["classes"], "classes", 2, state_limits.MOST_CLASSES)
        first, second = state_limits.sequence(kept["axes"], "axes", 2, 2)
        return cls(
            x=x,
            y=state_limits.numbers(kept["y"], "y", len(x), len(x)),
            labels=state_limits.labels(kept["labels"], "labels", len(x), len(names)),
            classes=tuple(state_limits.text(name, "classes") for name in names),
            settings=RunSettings.read(kept["settings"]),
            step=state_limits.integer(kept["step"], "step", 0, LAST_STEP),
            page=state_limits.integer(kept["page"], "page", 0, LAST_PAGE),
            axes=(state_limits.text(first, "axes"), state_limits.text(second, "axes")),
            note=state_limits.text(kept["note"], "note"),
            columns=_columns(kept["columns"], len(x)),
            pages=_pages(kept["pages"]),
        )

    def to_link(self) -> str | None:
        """The snapshot as the query of a link; None if it would be too long."""
        text = self.to_json()
        packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
        return f"?state={packed}" if len(packed) <= LONGEST_LINK and len(text) <= LONGEST_LINKED else None

    @classmethod
    def from_link(cls, packed: str) -> Snapshot:
        """A snapshot from the text after "?state="."""
        try:
            if len(packed) > LONGEST_LINK:
                raise ValueError(f"it has more than {LONGEST_LINK:,} characters")
            inflate = zlib.decompressobj()
            data = inflate.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LONGEST_LINKED)
            if not inflate.eof:  # guards against a small link that unpacks to gigabytes
                raise ValueError(f"it is cut short, or unpacks to more than {LONGEST_LINKED:,} characters")
            text = data.decode()
        except (ValueError, zlib.error) as error:
            raise ValueError(f"This is not a lab link: {error}.") from error
        return cls.from_json(text)

    def code(self) -> str:
        """Python code that repeats the run, prints it and draws it."""
        rows = self.columns or tuple(zip(self.x, self.y, strict=True))
        n, flat = len(rows), not self.columns
        options = {**self.settings.parameters(n), **self.settings.initial_plane(2 if flat else len(rows[0]))}
        many = f"  # {self.classes[0]!r} against the rest" if len(self.classes) > 2 else ""
        return (
            f"from rosenblatt import {'plot' if flat else 'separability'}, trace\n\n"
            f"X = {[list(row) for row in rows]!r}\n"
            f"y = {[int(label > 0) for label in self.labels]!r}{many}\n"
            f"run = trace(X, y{''.join(f', {name}={value!r}' for name, value in options.items())})\n"
            "print(run)\n" + ("plot.run(run)\nplot.hulls(X, y)\n" if flat else "print(separability(X, y))\n")
        )


def _columns(given: Any, points: int) -> tuple[tuple[float, ...], ...]:
    """Check the columns: empty, or one row of numbers per point, all of the same length."""
    rows = state_limits.sequence(given, "columns", 0, points)
    if not rows:
        return ()
    widest = min(state_limits.MOST_COLUMNS, state_limits.MOST_VALUES // points)
    width = len(state_limits.sequence(rows[0], "columns", 1, widest))
    state_limits.sequence(rows, "columns", points, points)
    return tuple(state_limits.numbers(row, "columns", width, width) for row in rows)


def _pages(given: Any) -> dict[str, Any]:
    """Check that pages are a dict; each page checks its own state."""
    if not isinstance(given, dict):
        raise ValueError(f"pages: expected an object, found {state_limits.shown(given)}")
    return given
