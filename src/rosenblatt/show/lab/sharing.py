"""The lab's state as a file or a link that restores it exactly, and the Python code that reproduces it."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rosenblatt.show.lab.runs import Settings

FORMAT = 1
LONGEST_LINK = 30_000  # characters; the server refuses longer ones
MOST_POINTS = 5_000


@dataclass(frozen=True)
class Snapshot:
    """All that the lab shows: points, settings, the step it stands at, and the many-class page.

    Attributes
    ----------
    x, y : tuple of float
    labels : tuple of int
    classes : tuple of str
    settings : Settings
    step : int
    page : int
    many : dict
        W, b, points and choices of the page of many classes.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...] = ("−", "+")
    settings: Settings = field(default_factory=Settings)
    step: int = 0
    page: int = 0
    many: dict[str, Any] = field(default_factory=dict)

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
                **found,
            )
            sizes = {len(shot.x), len(shot.y), len(shot.labels)}
            inside = all(0 <= label < len(shot.classes) for label in shot.labels)
            if len(sizes) != 1 or not inside or len(shot.x) > MOST_POINTS or not np.isfinite([*shot.x, *shot.y]).all():
                raise ValueError("with points that do not fit together")
            settings.sequence(1)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"This is no state of the lab: {error}.") from error
        return shot

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
        rows = ", ".join(f"[{a!r}, {b!r}]" for a, b in zip(self.x, self.y, strict=True))
        n = len(self.x)
        options = "".join(f", {name}={value!r}" for name, value in self.settings.parameters(n).items())
        if any(self.settings.start):
            *w, b = self.settings.start
            options += f", coef_init=[{w!r}], intercept_init=[{b!r}]"
        return (
            "from rosenblatt import plot_hulls, plot_run, trace\n\n"
            f"X = [{rows}]\n"
            f"y = {[int(label) for label in self.labels]!r}\n"
            f"run = trace(X, y{options})\n"
            "print(run)\n"
            "plot_run(run)\n"
            "plot_hulls(X, y)\n"
        )
