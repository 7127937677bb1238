"""rosenblatt: perceptron learning made fast, proven and visible.

Names are loaded when they are first used, so that `import rosenblatt` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rosenblatt._version import __version__

if TYPE_CHECKING:
    from rosenblatt.data.errors import FileError, NewerFormatError
    from rosenblatt.data.reading import Reading, read, stream
    from rosenblatt.estimators.aggressive import PassiveAggressive, PassiveAggressiveRegressor
    from rosenblatt.estimators.files import load, save
    from rosenblatt.estimators.hierarchical import HierarchicalPerceptron
    from rosenblatt.estimators.kernel import KernelPerceptron, KernelSVM
    from rosenblatt.estimators.linear import LinearClassifier, LinearRegressor
    from rosenblatt.estimators.max_margin import MaxMargin
    from rosenblatt.estimators.network import MarkI, MultilayerPerceptron, RandomWiring
    from rosenblatt.estimators.onnx_export import export_onnx
    from rosenblatt.estimators.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
    from rosenblatt.estimators.report import Report
    from rosenblatt.estimators.second_order import AROW, SecondOrderPerceptron
    from rosenblatt.estimators.svm import LinearSVM, Pegasos
    from rosenblatt.learn.epochs import EpochRecord
    from rosenblatt.learn.mixing import Sharding
    from rosenblatt.learn.network import Layer
    from rosenblatt.prove.bounds import MistakeBound, PAUMBounds, mistake_bounds, paum_bounds
    from rosenblatt.prove.certificates import CertificateError, Separability, SeparabilityByClass, WidestPlane
    from rosenblatt.prove.generalisation import GeneralisationBound, clopper_pearson, generalisation_bounds
    from rosenblatt.prove.margins import Margins, margins
    from rosenblatt.prove.separability import separability
    from rosenblatt.prove.widest import InseparableError, UndecidedError, max_margin
    from rosenblatt.scale.answers import predict, score
    from rosenblatt.scale.files import fit
    from rosenblatt.scale.progress import Progress
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
    from rosenblatt.show.pictures.labels import LogisticDisplay, NormalisedDisplay, plot_logistic, plot_normalised
    from rosenblatt.show.pictures.planes import RegionsDisplay, RunDisplay, animate, plot_regions, plot_run
    from rosenblatt.show.pictures.surface import SurfaceDisplay, plot_surface
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
    "MaxMargin": "estimators.max_margin",
    "LinearClassifier": "estimators.linear",
    "LinearRegressor": "estimators.linear",
    "LinearSVM": "estimators.svm",
    "Pegasos": "estimators.svm",
    "HierarchicalPerceptron": "estimators.hierarchical",
    "KernelPerceptron": "estimators.kernel",
    "KernelSVM": "estimators.kernel",
    "MultilayerPerceptron": "estimators.network",
    "MarkI": "estimators.network",
    "RandomWiring": "estimators.network",
    "Layer": "learn.network",
    "Report": "estimators.report",
    "Sharding": "learn.mixing",
    "separability": "prove.separability",
    "Separability": "prove.certificates",
    "SeparabilityByClass": "prove.certificates",
    "CertificateError": "prove.certificates",
    "WidestPlane": "prove.certificates",
    "max_margin": "prove.widest",
    "margins": "prove.margins",
    "Margins": "prove.margins",
    "mistake_bounds": "prove.bounds",
    "MistakeBound": "prove.bounds",
    "paum_bounds": "prove.bounds",
    "PAUMBounds": "prove.bounds",
    "clopper_pearson": "prove.generalisation",
    "generalisation_bounds": "prove.generalisation",
    "GeneralisationBound": "prove.generalisation",
    "InseparableError": "prove.widest",
    "UndecidedError": "prove.widest",
    "EpochRecord": "learn.epochs",
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
    "NormalisedDisplay": "show.pictures.labels",
    "LogisticDisplay": "show.pictures.labels",
    "plot_normalised": "show.pictures.labels",
    "plot_logistic": "show.pictures.labels",
    "SurfaceDisplay": "show.pictures.surface",
    "plot_surface": "show.pictures.surface",
    "WordsDisplay": "show.pictures.words",
    "plot_words": "show.pictures.words",
    "FileError": "data.errors",
    "NewerFormatError": "data.errors",
    "Reading": "data.reading",
    "read": "data.reading",
    "stream": "data.reading",
    "export_onnx": "estimators.onnx_export",
    "fit": "scale.files",
    "predict": "scale.answers",
    "score": "scale.answers",
    "Progress": "scale.progress",
    "save": "estimators.files",
    "load": "estimators.files",
}

__all__ = [
    "AROW",
    "PAUM",
    "AveragedPerceptron",
    "CertificateError",
    "EpochRecord",
    "EpochsDisplay",
    "FileError",
    "GeneralisationBound",
    "HierarchicalPerceptron",
    "HullsDisplay",
    "InseparableError",
    "KernelPerceptron",
    "KernelSVM",
    "Layer",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVM",
    "LogisticDisplay",
    "LossesDisplay",
    "Margins",
    "MarginsDisplay",
    "MarkI",
    "MaxMargin",
    "MistakeBound",
    "MistakesDisplay",
    "MultilayerPerceptron",
    "NewerFormatError",
    "NormalisedDisplay",
    "PAUMBounds",
    "PassiveAggressive",
    "PassiveAggressiveRegressor",
    "Pegasos",
    "Perceptron",
    "Progress",
    "RandomWiring",
    "Reading",
    "RegionsDisplay",
    "Report",
    "RunDisplay",
    "SecondOrderPerceptron",
    "Separability",
    "SeparabilityByClass",
    "Sharding",
    "Step",
    "SurfaceDisplay",
    "Trace",
    "UndecidedError",
    "VotedPerceptron",
    "WidestPlane",
    "WordsDisplay",
    "__version__",
    "animate",
    "clopper_pearson",
    "export_onnx",
    "fit",
    "generalisation_bounds",
    "load",
    "margins",
    "max_margin",
    "mistake_bounds",
    "paum_bounds",
    "plot_epochs",
    "plot_hulls",
    "plot_logistic",
    "plot_losses",
    "plot_margins",
    "plot_mistakes",
    "plot_normalised",
    "plot_regions",
    "plot_run",
    "plot_surface",
    "plot_words",
    "predict",
    "read",
    "save",
    "score",
    "separability",
    "stream",
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
