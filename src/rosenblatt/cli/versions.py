"""`rosenblatt --version --all`: what a bug report needs to say about the machine."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from rosenblatt._version import __version__
from rosenblatt.compiled.threads import thread_count

LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "llvmlite",
    "safetensors",
    "pyarrow",
    "narwhals",
    "pandas",
    "polars",
    "matplotlib",
    "panel",
    "bokeh",
    "dask",
    "distributed",
    "onnx",
    "torch",
)
VARIABLES = ("ROSENBLATT_THREADS", "ROSENBLATT_CACHE", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS")


def versions() -> str:
    """The versions of the package, of Python and of the libraries that are installed, and the settings that matter.

    >>> print(versions().splitlines()[0])
    rosenblatt      0...
    """
    rows = {
        "rosenblatt": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{os.cpu_count()}, {thread_count()} used",
        **{name: _installed(name) for name in LIBRARIES},
        **{name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    width = max(map(len, rows)) + 2
    return "\n".join(f"{name:<{width}}{value}" for name, value in rows.items())


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
