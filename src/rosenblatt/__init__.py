"""rosenblatt: perceptron learning made fast, proven and visible.

Names are loaded when they are first used, so that `import rosenblatt` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rosenblatt._version import __version__

if TYPE_CHECKING:
    from rosenblatt.estimators.aggressive import PassiveAggressive, PassiveAggressiveRegressor
    from rosenblatt.estimators.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
    from rosenblatt.estimators.report import Report
    from rosenblatt.estimators.second_order import AROW, SecondOrderPerceptron
    from rosenblatt.learn.training import EpochRecord
    from rosenblatt.show.pictures.curves import (
        EpochsDisplay,
        LossesDisplay,
        MarginsDisplay,
        MistakesDisplay,
        plot_epochs,
        plot_losses,
        plot_margins,
        plot_mistakes,
    )
    from rosenblatt.show.pictures.hulls import HullsDisplay, plot_hulls
    from rosenblatt.show.pictures.planes import RegionsDisplay, RunDisplay, animate, plot_regions, plot_run
    from rosenblatt.show.pictures.words import WordsDisplay, plot_words
    from rosenblatt.show.recording import Step
    from rosenblatt.show.trace import Trace, trace

_HOMES = {
    "Perceptron": "estimators.perceptron",
    "AveragedPerceptron": "estimators.perceptron",
    "VotedPerceptron": "estimators.perceptron",
    "PAUM": "estimators.perceptron",
    "PassiveAggressive": "estimators.aggressive",
    "PassiveAggressiveRegressor": "estimators.aggressive",
    "AROW": "estimators.second_order",
    "SecondOrderPerceptron": "estimators.second_order",
    "Report": "estimators.report",
    "EpochRecord": "learn.training",
    "trace": "show.trace",
    "Trace": "show.trace",
    "Step": "show.recording",
    "RegionsDisplay": "show.pictures.planes",
    "RunDisplay": "show.pictures.planes",
    "plot_regions": "show.pictures.planes",
    "plot_run": "show.pictures.planes",
    "animate": "show.pictures.planes",
    "EpochsDisplay": "show.pictures.curves",
    "MistakesDisplay": "show.pictures.curves",
    "MarginsDisplay": "show.pictures.curves",
    "LossesDisplay": "show.pictures.curves",
    "plot_epochs": "show.pictures.curves",
    "plot_mistakes": "show.pictures.curves",
    "plot_margins": "show.pictures.curves",
    "plot_losses": "show.pictures.curves",
    "HullsDisplay": "show.pictures.hulls",
    "plot_hulls": "show.pictures.hulls",
    "WordsDisplay": "show.pictures.words",
    "plot_words": "show.pictures.words",
}

__all__ = [
    "AROW",
    "PAUM",
    "AveragedPerceptron",
    "EpochRecord",
    "EpochsDisplay",
    "HullsDisplay",
    "LossesDisplay",
    "MarginsDisplay",
    "MistakesDisplay",
    "PassiveAggressive",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "RegionsDisplay",
    "Report",
    "RunDisplay",
    "SecondOrderPerceptron",
    "Step",
    "Trace",
    "VotedPerceptron",
    "WordsDisplay",
    "__version__",
    "animate",
    "plot_epochs",
    "plot_hulls",
    "plot_losses",
    "plot_margins",
    "plot_mistakes",
    "plot_regions",
    "plot_run",
    "plot_words",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(import_module(f"rosenblatt.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
