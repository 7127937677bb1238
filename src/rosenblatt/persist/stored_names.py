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
    "average": "learn.online.average.Average",
    "budget-machine": "learn.kernel.budgets.BudgetedMachine",
    "budget-state": "learn.kernel.budgets.BudgetState",
    "calibration": "estimators.base.calibration.Calibration",
    "column-encoding": "data.columns.encoding.ColumnEncoding",
    "contents": "data.formats.contents.Contents",
    "date-encoding": "data.columns.dates.DateEncoding",
    "diagonal-correlation": "learn.online.covariance.DiagonalCorrelation",
    "diagonal-covariance": "learn.online.covariance.DiagonalCovariance",
    "epoch": "learn.epochs.EpochRecord",
    "fourier-features": "data.columns.fourier.FourierFeatures",
    "full-covariance": "learn.online.covariance.FullCovariance",
    "greedy-model": "learn.sequence.greedy.GreedyModel",
    "item-features": "data.sequences.token_features.ItemFeatures",
    "kernel": "learn.kernel.functions.Kernel",
    "kernel-model": "learn.kernel.perceptron.KernelModel",
    "kernel-state": "learn.kernel.perceptron.KernelState",
    "l1-debt": "learn.online.penalty_debt.L1Debt",
    "layer": "learn.network.backpropagation.Layer",
    "layout": "data.formats.table_layout.Layout",
    "layout-column": "data.formats.table_layout.Column",
    "linear-state": "learn.online.state.State",
    "logged-updates": "learn.online.votes.LoggedUpdates",
    "machine": "learn.online.state.Machine",
    "name-encoding": "data.columns.one_hot_categories.NameEncoding",
    "network": "learn.network.backpropagation.Architecture",
    "network-model": "learn.network.backpropagation.NetworkModel",
    "network-report": "learn.network.backpropagation.NetworkReport",
    "network-state": "learn.network.backpropagation.NetworkState",
    "number-encoding": "data.columns.numbers.NumberEncoding",
    "path-model": "learn.sequence.solver.PathModel",
    "planes": "learn.models.Planes",
    "pocket": "learn.online.pocket.Pocket",
    "probe-report": "estimators.base.probe_report.ProbeReport",
    "reading": "data.formats.reading.Reading",
    "report": "learn.report.Report",
    "separability": "prove.exact.separability_certificate.Separability",
    "sequence-state": "learn.sequence.solver.SequenceState",
    "sharding": "learn.mixing.Sharding",
    "spline-encoding": "data.columns.numbers.SplineEncoding",
    "table-setting": "estimators.table_settings.TableSetting",
    "table-summary": "estimators.base.table_summary.TableSummary",
    "target-scale": "estimators.table_targets.TargetScale",
    "template-features": "learn.sequence.templates.TemplateFeatures",
    "text-encoding": "data.columns.text.TextEncoding",
    "tree": "learn.online.hierarchy.Tree",
    "tree-report": "learn.online.hierarchy.TreeReport",
    "tree-state": "learn.online.hierarchy.TreeState",
    "update-history": "learn.models.UpdateHistory",
    "update-log": "learn.online.first_order.UpdateLog",
    "vocabulary": "data.sequences.vocabulary.Vocabulary",
    "voted-planes": "learn.models.VotedPlanes",
    "votes": "learn.online.votes.Votes",
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
