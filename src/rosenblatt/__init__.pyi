"""The public names of rosenblatt, each with its home: what `rosenblatt/__init__.py` resolves when it is first used."""

from . import losses as losses
from . import plot as plot
from . import records as records
from . import teaching as teaching
from ._version import __version__
from .formats.conll import read_conll
from .formats.errors import FileError, NewerFormatError
from .formats.read_and_stream import read, stream
from .kernel.estimators import KernelPerceptron, KernelSVM
from .model_files.onnx_export import export_onnx
from .model_files.save_and_load import load, save
from .network.backpropagation import Layer
from .network.estimators import MultilayerPerceptron
from .objective.linear import LinearClassifier, LinearRegressor
from .objective.max_margin import MaxMargin
from .objective.probe import LinearProbe
from .objective.svm import LinearSVM, Pegasos
from .online.hierarchical import HierarchicalPerceptron
from .online.mark_i import MarkI, RandomWiring
from .online.passive_aggressive import PassiveAggressive, PassiveAggressiveRegressor
from .online.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
from .online.second_order_learners import AROW, SecondOrderPerceptron
from .prove.exact.records import CertificateError
from .prove.generalisation_bounds import clopper_pearson, generalisation_bounds
from .prove.margins import margins
from .prove.max_margin.search import InseparableError, UndecidedError, max_margin
from .prove.mistake_bounds import mistake_bounds, paum_bounds
from .prove.separation.search import separability
from .scale.fit_from_files import fit
from .scale.one_by_one import OneByOne
from .scale.prediction import predict, score
from .search.grid_search import GridSearchCV
from .sequence.chunks import sequence_scores
from .sequence.sequence_perceptron import SequencePerceptron
from .sequence.tagger import Tagger
from .tables.classifier import TableClassifier
from .tables.encoder import TableEncoder
from .tables.regressor import TableRegressor
from .tables.text_encoder import TextEncoder
from .tracing.trace import trace

__all__ = [
    "AROW",
    "PAUM",
    "AveragedPerceptron",
    "CertificateError",
    "FileError",
    "GridSearchCV",
    "HierarchicalPerceptron",
    "InseparableError",
    "KernelPerceptron",
    "KernelSVM",
    "Layer",
    "LinearClassifier",
    "LinearProbe",
    "LinearRegressor",
    "LinearSVM",
    "MarkI",
    "MaxMargin",
    "MultilayerPerceptron",
    "NewerFormatError",
    "OneByOne",
    "PassiveAggressive",
    "PassiveAggressiveRegressor",
    "Pegasos",
    "Perceptron",
    "RandomWiring",
    "SecondOrderPerceptron",
    "SequencePerceptron",
    "TableClassifier",
    "TableEncoder",
    "TableRegressor",
    "Tagger",
    "TextEncoder",
    "UndecidedError",
    "VotedPerceptron",
    "__version__",
    "clopper_pearson",
    "export_onnx",
    "fit",
    "generalisation_bounds",
    "load",
    "losses",
    "margins",
    "max_margin",
    "mistake_bounds",
    "paum_bounds",
    "plot",
    "predict",
    "read",
    "read_conll",
    "records",
    "save",
    "score",
    "separability",
    "sequence_scores",
    "stream",
    "teaching",
    "trace",
]
