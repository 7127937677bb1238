"""The lab's state as a file or a link that restores it exactly, and the Python code that reproduces it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rosenblatt.show.lab.runs import Settings

FORMAT = 1
LONGEST_LINK = 30_000  # characters; the server refuses longer ones
MOST_POINTS = 5_000


def chosen(values: Any, options: Iterable[Any]) -> list[Any]:
    """The values, all of which must be among the options."""
    known = list(options)
    for value in values:
        if value not in known:
            raise ValueError(f"{value!r} is not among {', '.join(map(str, known))}")
    return list(values)


@dataclass(frozen=True)
class Snapshot:
    """All that the lab shows: points, settings, the step it stands at, and what the other pages are set to.

    Attributes
    ----------
    x, y : tuple of float
    labels : tuple of int
    classes : tuple of str
    settings : Settings
    step : int
    page : int
    axes : (str, str)
    note : str
    columns : tuple of tuple of float
        All columns of a table of which the points are a projection, else nothing.
    pages : dict
        By its name, what each of the other pages is set to.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...] = ("−", "+")
    settings: Settings = field(default_factory=Settings)
    step: int = 0
    page: int = 0
    axes: tuple[str, str] = ("x₁", "x₂")
    note: str = ""
    columns: tuple[tuple[float, ...], ...] = ()
    pages: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The snapshot as text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """A snapshot from text; a sentence where it is none."""
        try:
            found = json.loads(text)
            if found.pop("format") != FORMAT:
                raise ValueError("of another format")
            settings = Settings(**{**found.pop("settings")})
            settings = Settings(**{**asdict(settings), "start": tuple(float(v) for v in settings.start)})
            shot = cls(
                x=tuple(float(v) for v in found.pop("x")),
                y=tuple(float(v) for v in found.pop("y")),
                labels=tuple(int(v) for v in found.pop("labels")),
                classes=tuple(str(v) for v in found.pop("classes")),
                settings=settings,
                axes=(str(found["axes"][0]), str(found.pop("axes")[1])),
                columns=tuple(tuple(float(v) for v in row) for row in found.pop("columns")),
                **found,
            )
            settings.check()
            shot._check()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"This is no state of the lab: {error}.") from error
        return shot

    def _check(self) -> None:
        sizes = {len(self.x), len(self.y), len(self.labels), len(self.columns) or len(self.x)}
        inside = all(0 <= label < len(self.classes) for label in self.labels)
        flat = [*self.x, *self.y, *(value for row in self.columns for value in row)]
        even = len({len(row) for row in self.columns}) <= 1
        if len(sizes) != 1 or not inside or not even or len(self.x) > MOST_POINTS or not np.isfinite(flat).all():
            raise ValueError("with points that do not fit together")
        if not (isinstance(self.step, int) and isinstance(self.page, int) and isinstance(self.pages, dict)):
            raise ValueError("with a step or page that there is not")

    def to_link(self) -> str | None:
        """The snapshot as the query of a link; None when it would be too long."""
        packed = base64.urlsafe_b64encode(zlib.compress(self.to_json().encode(), 9)).decode().rstrip("=")
        return f"?state={packed}" if len(packed) <= LONGEST_LINK else None

    @classmethod
    def from_link(cls, packed: str) -> Snapshot:
        """A snapshot from the text after "?state="."""
        try:
            data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            inflate = zlib.decompressobj()
            text = inflate.decompress(data, 4_000_000).decode()  # a small link may not unpack to gigabytes
        except (ValueError, zlib.error) as error:
            raise ValueError(f"This is no link of the lab: {error}.") from error
        return cls.from_json(text)

    def code(self) -> str:
        """Python code that makes the same run, prints it and draws it."""
        rows = self.columns or tuple(zip(self.x, self.y, strict=True))
        n, flat = len(rows), not self.columns
        options = {**self.settings.parameters(n), **self.settings.initial(2 if flat else len(rows[0]))}
        many = f"  # {self.classes[0]!r} against the others" if len(self.classes) > 2 else ""
        return (
            f"from rosenblatt import {'plot_hulls, plot_run, ' if flat else 'separability, '}trace\n\n"
            f"X = {[list(row) for row in rows]!r}\n"
            f"y = {[int(label > 0) for label in self.labels]!r}{many}\n"
            f"run = trace(X, y{''.join(f', {name}={value!r}' for name, value in options.items())})\n"
            "print(run)\n" + ("plot_run(run)\nplot_hulls(X, y)\n" if flat else "print(separability(X, y))\n")
        )
