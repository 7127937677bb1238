"""rosenblatt: perceptron learning made fast, proven and visible.

Names are loaded when they are first used, so that `import rosenblatt` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rosenblatt._version import __version__

if TYPE_CHECKING:
    from rosenblatt.estimators.aggressive import PassiveAggressive, PassiveAggressiveRegressor
    from rosenblatt.estimators.hierarchical import HierarchicalPerceptron
    from rosenblatt.estimators.kernel import KernelPerceptron, KernelSVM
    from rosenblatt.estimators.network import MarkI, MultilayerPerceptron, RandomWiring
    from rosenblatt.estimators.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
    from rosenblatt.estimators.report import Report
    from rosenblatt.estimators.second_order import AROW, SecondOrderPerceptron
    from rosenblatt.learn.network import Layer
    from rosenblatt.learn.training import EpochRecord

_HOMES = {
    "Perceptron": "estimators.perceptron",
    "AveragedPerceptron": "estimators.perceptron",
    "VotedPerceptron": "estimators.perceptron",
    "PAUM": "estimators.perceptron",
    "PassiveAggressive": "estimators.aggressive",
    "PassiveAggressiveRegressor": "estimators.aggressive",
    "AROW": "estimators.second_order",
    "SecondOrderPerceptron": "estimators.second_order",
    "HierarchicalPerceptron": "estimators.hierarchical",
    "KernelPerceptron": "estimators.kernel",
    "KernelSVM": "estimators.kernel",
    "MultilayerPerceptron": "estimators.network",
    "MarkI": "estimators.network",
    "RandomWiring": "estimators.network",
    "Layer": "learn.network",
    "Report": "estimators.report",
    "EpochRecord": "learn.training",
}

__all__ = [
    "AROW",
    "PAUM",
    "AveragedPerceptron",
    "EpochRecord",
    "HierarchicalPerceptron",
    "KernelPerceptron",
    "KernelSVM",
    "Layer",
    "MarkI",
    "MultilayerPerceptron",
    "PassiveAggressive",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "RandomWiring",
    "Report",
    "SecondOrderPerceptron",
    "VotedPerceptron",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(import_module(f"rosenblatt.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
