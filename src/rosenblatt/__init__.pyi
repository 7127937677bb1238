"""The public names of rosenblatt, each with its home: what `rosenblatt/__init__.py` resolves when it is first used."""

from . import losses as losses
from . import teaching as teaching
from ._version import __version__
from .data.errors import FileError, NewerFormatError
from .data.formats.conll import read_conll
from .data.formats.read_and_stream import read, stream
from .data.formats.reading import Reading
from .estimators.base.report import Report
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
from .learn.epochs import EpochRecord
from .learn.mixing import Sharding
from .learn.network.backpropagation import Layer
from .learn.sequence.chunks import ChunkCounts, SequenceScores, sequence_scores
from .persist.model_files import load, save
from .persist.onnx_export import export_onnx
from .prove.exact.max_margin_certificate import WidestPlane
from .prove.exact.records import CertificateError
from .prove.exact.separability_certificate import Separability, SeparabilityByClass
from .prove.generalisation_bounds import GeneralisationBound, clopper_pearson, generalisation_bounds
from .prove.margins import Margins, margins
from .prove.max_margin.search import InseparableError, UndecidedError, max_margin
from .prove.mistake_bounds import MistakeBound, PAUMBounds, mistake_bounds, paum_bounds
from .prove.separation.search import separability
from .scale.fit_from_files import fit
from .scale.prediction import predict, score
from .scale.progress import Progress
from .show.pictures.decision_regions import RegionsDisplay, plot_regions
from .show.pictures.epoch_curves import EpochsDisplay, plot_epochs
from .show.pictures.grid_search_scores import SearchDisplay, plot_search
from .show.pictures.hulls import HullsDisplay, plot_hulls
from .show.pictures.lattice import LatticeDisplay, plot_lattice
from .show.pictures.logistic_curve import LogisticDisplay, plot_logistic
from .show.pictures.loss_curves import LossesDisplay, plot_losses
from .show.pictures.loss_surface import SurfaceDisplay, plot_surface
from .show.pictures.margin_distribution import MarginsDisplay, plot_margins
from .show.pictures.mistake_curve import MistakesDisplay, plot_mistakes
from .show.pictures.normalised_rows import NormalisedDisplay, plot_normalised
from .show.pictures.training_run import RunDisplay, animate, plot_run
from .show.pictures.words import WordsDisplay, plot_words
from .show.recording import Step
from .show.sequence_trace import Lattice, SentenceStep, SequenceTrace
from .show.trace import Trace, trace

__all__ = [
    "AROW",
    "PAUM",
    "AveragedPerceptron",
    "CertificateError",
    "ChunkCounts",
    "EpochRecord",
    "EpochsDisplay",
    "FileError",
    "GeneralisationBound",
    "GridSearchCV",
    "HierarchicalPerceptron",
    "HullsDisplay",
    "InseparableError",
    "KernelPerceptron",
    "KernelSVM",
    "Lattice",
    "LatticeDisplay",
    "Layer",
    "LinearClassifier",
    "LinearProbe",
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
    "SearchDisplay",
    "SecondOrderPerceptron",
    "SentenceStep",
    "Separability",
    "SeparabilityByClass",
    "SequencePerceptron",
    "SequenceScores",
    "SequenceTrace",
    "Sharding",
    "Step",
    "SurfaceDisplay",
    "TableClassifier",
    "TableEncoder",
    "TableRegressor",
    "Tagger",
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
    "losses",
    "margins",
    "max_margin",
    "mistake_bounds",
    "paum_bounds",
    "plot_epochs",
    "plot_hulls",
    "plot_lattice",
    "plot_logistic",
    "plot_losses",
    "plot_margins",
    "plot_mistakes",
    "plot_normalised",
    "plot_regions",
    "plot_run",
    "plot_search",
    "plot_surface",
    "plot_words",
    "predict",
    "read",
    "read_conll",
    "save",
    "score",
    "separability",
    "sequence_scores",
    "stream",
    "teaching",
    "trace",
]
