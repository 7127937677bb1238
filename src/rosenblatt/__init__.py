"""rosenblatt: fast linear classifiers that prove when your data are separable.

The stub next to this file lists the public names, each with its module. A name is imported when it is first used, so
that `import rosenblatt` loads neither scikit-learn nor numba.
"""

from importlib import import_module
from typing import Any

import lazy_loader

from rosenblatt._version import __version__ as __version__

_resolve, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _resolve(name)
    # Records and pictures are in modules of their own: Report, plot_regions and RegionsDisplay may be asked for here.
    if name in import_module("rosenblatt.records").__all__:
        raise AttributeError(f"{name} is rosenblatt.records.{name}")
    picture = name.removeprefix("plot_").removesuffix("Display").lower()
    if picture in import_module("rosenblatt.plot").__all__:
        where = f"rosenblatt.plot.{picture}"
        raise AttributeError(f"{name} is what {where} returns" if name.endswith("Display") else f"{name} is {where}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
