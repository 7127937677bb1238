"""What a model file may name: estimators, by their public names, and the records of this table, by their tags.

Where a record is moved or renamed, its home changes here and nowhere else, and files are read as before. A tag is never
given to another record.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

import rosenblatt

UNSTORED = "GridSearchCV"  # which holds a model, its best_estimator_


def is_stored(model: Any) -> bool:
    """Whether this is an estimator of this package that a file can hold."""
    kind = type(model)
    name = kind.__name__
    return issubclass(kind, BaseEstimator) and name != UNSTORED and getattr(rosenblatt, name, None) is kind


def estimator_class(name: str) -> Any:
    """The class of the estimator that is stored under this name."""
    kind = getattr(rosenblatt, name) if name in rosenblatt.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, BaseEstimator) or name == UNSTORED:
        raise ValueError(f"{name!r} is not an estimator of rosenblatt that is stored")
    return kind


RECORDS = {
    "average": "planes.average.Average",
    "budget-machine": "kernel.budgets.BudgetedMachine",
    "budget-state": "kernel.budgets.BudgetState",
    "calibration": "learn.calibration.Calibration",
    "column-encoding": "tables.columns.encoding.ColumnEncoding",
    "contents": "formats.contents.Contents",
    "date-encoding": "tables.columns.dates.DateEncoding",
    "diagonal-correlation": "planes.covariance.DiagonalCorrelation",
    "diagonal-covariance": "planes.covariance.DiagonalCovariance",
    "epoch": "learn.epochs.EpochRecord",
    "fourier-features": "tables.columns.fourier.FourierFeatures",
    "full-covariance": "planes.covariance.FullCovariance",
    "greedy-model": "sequence.greedy.GreedyModel",
    "item-features": "sequence.token_features.ItemFeatures",
    "kernel": "kernel.functions.Kernel",
    "kernel-model": "kernel.perceptron.KernelModel",
    "kernel-state": "kernel.perceptron.KernelState",
    "l1-debt": "planes.penalty_debt.L1Debt",
    "layer": "network.backpropagation.Layer",
    "layout": "formats.table_layout.Layout",
    "layout-column": "formats.table_layout.Column",
    "linear-state": "planes.state.State",
    "logged-updates": "planes.votes.LoggedUpdates",
    "machine": "planes.state.Machine",
    "name-encoding": "tables.columns.one_hot_categories.NameEncoding",
    "network": "network.backpropagation.Architecture",
    "network-model": "network.backpropagation.NetworkModel",
    "network-report": "network.backpropagation.NetworkReport",
    "network-state": "network.backpropagation.NetworkState",
    "number-encoding": "tables.columns.numbers.NumberEncoding",
    "path-model": "sequence.solver.PathModel",
    "planes": "learn.models.Planes",
    "pocket": "planes.pocket.Pocket",
    "probe-report": "learn.probe_report.ProbeReport",
    "reading": "formats.reading.Reading",
    "report": "learn.report.Report",
    "separability": "prove.exact.separability_certificate.Separability",
    "sequence-state": "sequence.solver.SequenceState",
    "sharding": "learn.sharding.Sharding",
    "spline-encoding": "tables.columns.numbers.SplineEncoding",
    "table-setting": "tables.settings.TableSetting",
    "table-summary": "tables.summary.TableSummary",
    "target-scale": "tables.targets.TargetScale",
    "template-features": "sequence.templates.TemplateFeatures",
    "text-encoding": "tables.columns.text.TextEncoding",
    "tree": "online.hierarchy.Tree",
    "tree-report": "online.hierarchy.TreeReport",
    "tree-state": "online.hierarchy.TreeState",
    "update-history": "learn.models.UpdateHistory",
    "update-log": "planes.update_log.UpdateLog",
    "vocabulary": "formats.vocabulary.Vocabulary",
    "voted-planes": "learn.models.VotedPlanes",
    "votes": "planes.votes.Votes",
    "widest-plane": "prove.exact.max_margin_certificate.WidestPlane",
}
_TAGS = {home: tag for tag, home in RECORDS.items()}


def record_tag(value: Any) -> str | None:
    """The tag under which a record is stored; None if it is none of these."""
    kind = type(value)
    return _TAGS.get(f"{kind.__module__.removeprefix('rosenblatt.')}.{kind.__name__}")


@cache
def record_class(tag: str) -> Any:
    """The class of the record that is stored under this tag."""
    if tag not in RECORDS:
        raise ValueError(f"{tag!r} is not a record of rosenblatt that is stored")
    home, _, name = RECORDS[tag].rpartition(".")
    return getattr(import_module(f"rosenblatt.{home}"), name)


@cache
def record_fields(kind: Any) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else tuple(kind._fields)
