"""The public names of rosenblatt, each with its home: what `rosenblatt/__init__.py` resolves when it is first used."""

from . import losses as losses
from . import plot as plot
from . import records as records
from . import teaching as teaching
from ._version import __version__
from .data.errors import FileError, NewerFormatError
from .data.formats.conll import read_conll
from .data.formats.read_and_stream import read, stream
from .estimators.grid_search import GridSearchCV
from .estimators.hierarchical import HierarchicalPerceptron
from .estimators.kernel import KernelPerceptron, KernelSVM
from .estimators.linear import LinearClassifier, LinearRegressor
from .estimators.mark_i import MarkI, RandomWiring
from .estimators.max_margin import MaxMargin
from .estimators.network import MultilayerPerceptron
from .estimators.passive_aggressive import PassiveAggressive, PassiveAggressiveRegressor
from .estimators.perceptron import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron
from .estimators.probe import LinearProbe
from .estimators.second_order import AROW, SecondOrderPerceptron
from .estimators.sequence import SequencePerceptron
from .estimators.svm import LinearSVM, Pegasos
from .estimators.table_classifier import TableClassifier
from .estimators.table_encoder import TableEncoder
from .estimators.table_regressor import TableRegressor
from .estimators.tagger import Tagger
from .learn.network.backpropagation import Layer
from .learn.sequence.chunks import sequence_scores
from .persist.model_files import load, save
from .persist.onnx_export import export_onnx
from .prove.exact.records import CertificateError
from .prove.generalisation_bounds import clopper_pearson, generalisation_bounds
from .prove.margins import margins
from .prove.max_margin.search import InseparableError, UndecidedError, max_margin
from .prove.mistake_bounds import mistake_bounds, paum_bounds
from .prove.separation.search import separability
from .scale.fit_from_files import fit
from .scale.prediction import predict, score
from .show.trace import trace

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
