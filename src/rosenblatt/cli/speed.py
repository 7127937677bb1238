"""`rosenblatt bench`: the speed of reading and training on this machine."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.formats.byte_sources import expand_paths, spooled
from rosenblatt.formats.contents import with_layout
from rosenblatt.formats.read_and_stream import rereadable
from rosenblatt.formats.reading import make_reading

SYNTHETIC_ROWS = 20_000  # used if no file is given


def measure_speed(source: Any, settings: dict[str, Any]) -> dict[str, float]:
    """The speed of reading and training on this machine."""
    import rosenblatt

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = source if source is not None else str(_write_synthetic_rows(Path(folder) / "rows.svm"))
        path = stack.enter_context(spooled(path, stdin=False))
        how = make_reading(path, **settings)
        with rereadable(path, how, scan=True) as files:
            how, paths = with_layout(files, how), expand_paths(files)
            rosenblatt.read(files, like=how)  # compiles the reader
            megabytes = sum(os.path.getsize(one) for one in paths) / 1e6
            began = time.perf_counter()
            X, y = rosenblatt.read(files, like=how)
            found = {"read, MB/s": megabytes / (time.perf_counter() - began)}
            if how.format == "svmlight" and len(paths) == 1 and not paths[0].endswith(".zst") and y.ndim == 1:
                found["scikit-learn reads, MB/s"] = megabytes / _sklearn_seconds(paths[0])
        model = rosenblatt.AveragedPerceptron(max_epochs=1, random_state=0)
        model.partial_fit(X[:100], y[:100], classes=np.unique(y) if y.ndim == 1 else np.arange(y.shape[1]))
        began = time.perf_counter()
        model.partial_fit(X, y)
        seconds = time.perf_counter() - began
    return {**found, "one epoch, million values/s": getattr(X, "nnz", X.size) / seconds / 1e6}


def _sklearn_seconds(path: str) -> float:
    """The time that scikit-learn takes to read the file."""
    from sklearn.datasets import load_svmlight_file

    began = time.perf_counter()
    load_svmlight_file(path)
    return time.perf_counter() - began


def _write_synthetic_rows(path: Path) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for label in rng.integers(0, 2, SYNTHETIC_ROWS):
            columns = np.unique(rng.integers(1, 50_000, 60))
            file.write(
                f"{label} " + " ".join(f"{c}:{v:.4f}" for c, v in zip(columns, rng.random(60), strict=False)) + "\n"
            )
    return path
