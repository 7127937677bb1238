"""Measures what each extra takes on disk, and writes the table of docs/install.md: python docs/extras.py

It reads the environment in which it runs, where all extras must be installed (make test).
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

WHAT = {
    "": "learners, proofs, tables, files, the command line",
    "plot": "pictures, with matplotlib",
    "lab": "the page on which to drag points and step through updates, with Panel and Bokeh",
    "cluster": "Dask workers, on one machine or many",
    "onnx": "writing ONNX files, and running them",
}
PAGE = Path(__file__).with_name("install.md")


def closure(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """A distribution and all it needs."""
    found, waiting = set(), [(name, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (wanted or {""})):
                waiting.append((re.sub(r"[-_.]+", "-", need.name).lower(), frozenset(need.extras)))
    return {name for name, _ in found}


def megabytes(names: set[str]) -> float:
    """What their files take."""
    files = (metadata.distribution(name).locate_file(file) for name in names for file in metadata.files(name) or ())
    return sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).is_file()) / 1e6


def table() -> str:
    core = closure("rosenblatt")
    lines = ["| extra | what it adds | size |", "|---|---|--:|"]
    for extra, what in WHAT.items():
        names = closure("rosenblatt", (extra,)) - core if extra else core
        lines.append(f"| {f'`{extra}`' if extra else '(core)'} | {what} | {megabytes(names):,.0f} MB |")
    lines.append("| `gpu` | PyTorch, for probes on a graphics card | several GB, less for a build without CUDA |")
    lines.append("| `all` | `plot`, `lab`, `cluster` and `onnx` | |")
    return "\n".join(lines)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    new = re.sub(r"(?s)(<!-- extras: begin -->\n).*?(<!-- extras: end -->)", rf"\g<1>{table()}\n\g<2>", text)
    PAGE.write_text(new, encoding="utf-8")
    sys.stdout.write(table() + "\n")


if __name__ == "__main__":
    main()
