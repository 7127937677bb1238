"""Converts records of older model files, so that models of every version can be loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from rosenblatt.learn.counters import Count
from rosenblatt.learn.online.average import Average
from rosenblatt.learn.online.covariance import DiagonalCovariance, FullCovariance
from rosenblatt.learn.online.penalty_debt import L1Debt
from rosenblatt.learn.online.pocket import Pocket
from rosenblatt.learn.online.votes import LoggedUpdates, Votes

# Former and current paths of classes.
MOVED = {
    "data.columns.names.CodedNames": "data.columns.one_hot_categories.CodedNames",
    "data.columns.names.NameEncoding": "data.columns.one_hot_categories.NameEncoding",
    "data.formats.tables.Column": "data.formats.table_layout.Column",
    "data.formats.tables.Layout": "data.formats.table_layout.Layout",
    "data.formats.reading.Contents": "data.formats.contents.Contents",
    "data.reading.Contents": "data.formats.contents.Contents",
    "data.reading.Reading": "data.formats.reading.Reading",
    "data.sequences.items.ItemFeatures": "data.sequences.token_features.ItemFeatures",
    "data.tables.Column": "data.formats.table_layout.Column",
    "data.tables.Layout": "data.formats.table_layout.Layout",
    "estimators.aggressive.PassiveAggressive": "estimators.passive_aggressive.PassiveAggressive",
    "estimators.aggressive.PassiveAggressiveRegressor": "estimators.passive_aggressive.PassiveAggressiveRegressor",
    "estimators.network.MarkI": "estimators.mark_i.MarkI",
    "estimators.network.RandomWiring": "estimators.mark_i.RandomWiring",
    "estimators.report.Report": "estimators.base.report.Report",
    "estimators.report.Sharding": "learn.mixing.Sharding",
    "estimators.table_search.TableSetting": "estimators.table_settings.TableSetting",
    "estimators.tables.TableClassifier": "estimators.table_classifier.TableClassifier",
    "estimators.tables.TableRegressor": "estimators.table_regressor.TableRegressor",
    "estimators.tables.TargetScale": "estimators.table_regressor.TargetScale",
    "learn.budgets.Budgeted": "learn.kernel.budgets.BudgetState",
    "learn.budgets.Small": "learn.kernel.budgets.BudgetedMachine",
    "learn.kept.Ballot": "learn.models.VotedPlanes",
    "learn.kept.History": "learn.models.UpdateHistory",
    "learn.kept.Planes": "learn.models.Planes",
    "learn.kernel_machines.Dual": "learn.kernel.perceptron.KernelModel",
    "learn.kernel_machines.Machines": "learn.kernel.perceptron.KernelState",
    "learn.machines.Machine": "learn.online.state.Machine",
    "learn.machines.Piece": "learn.online.votes.LoggedUpdates",
    "learn.machines.State": "learn.online.state.State",
    "learn.network.Answers": "learn.network.backpropagation.NetworkModel",
    "learn.network.Layer": "learn.network.backpropagation.Layer",
    "learn.network.Net": "learn.network.backpropagation.Architecture",
    "learn.network.Network": "learn.network.backpropagation.NetworkState",
    "learn.online.companions.Average": "learn.online.average.Average",
    "learn.online.companions.DiagonalCorrelation": "learn.online.covariance.DiagonalCorrelation",
    "learn.online.companions.DiagonalCovariance": "learn.online.covariance.DiagonalCovariance",
    "learn.online.companions.FullCovariance": "learn.online.covariance.FullCovariance",
    "learn.online.companions.L1Debt": "learn.online.penalty_debt.L1Debt",
    "learn.online.companions.LoggedUpdates": "learn.online.votes.LoggedUpdates",
    "learn.online.companions.Pocket": "learn.online.pocket.Pocket",
    "learn.online.companions.Votes": "learn.online.votes.Votes",
    "learn.similarity.Kernel": "learn.kernel.functions.Kernel",
    "learn.training.EpochRecord": "learn.epochs.EpochRecord",
    "learn.tree.Grown": "learn.online.hierarchy.TreeState",
    "learn.tree.Tree": "learn.online.hierarchy.Tree",
    "learn.visits.Log": "learn.online.first_order.UpdateLog",
    "prove.certificates.Separability": "prove.exact.separability_certificate.Separability",
    "prove.certificates.WidestPlane": "prove.exact.max_margin_certificate.WidestPlane",
    "prove.exact.certificates.Separability": "prove.exact.separability_certificate.Separability",
    "prove.exact.certificates.WidestPlane": "prove.exact.max_margin_certificate.WidestPlane",
}

# What the solvers that minimise an objective meant by "converged".
ENDS = {"batch": "solved", "stochastic": "stalled", "adam": "stalled", "sgd": "stalled"}
Fields = dict[str, Any]
# The counters of machines with a budget, in their former order.
BUDGET_COUNTS = (Count.SUPPORT, Count.SHRINKAGE, Count.MISTAKES, Count.UPDATES, Count.VIOLATIONS, Count.LOSS)


def migrated(path: str, fields: Fields) -> tuple[str, Fields]:
    """The current path of a record's class, and its fields."""
    if path in CHANGED:
        fields = CHANGED[path](dict(fields))
    return MOVED.get(path, path), fields


def rename_outcome(model: Any) -> None:
    """Rename the outcome in a model's report: version 0.1 used "converged" and "gap" for several of them."""
    report = vars(model).get("report_")
    said = getattr(report, "outcome", None)
    if said not in ("converged", "gap"):
        return
    word = "solved" if said == "gap" or is_regressor(model) else "separated"
    if said == "converged" and (report.objective is not None or hasattr(model, "solver")):
        word = ENDS.get(getattr(model, "solver", "stochastic"), "stalled")
    model.report_ = replace(report, outcome=word)


def _tally(fields: Fields) -> Fields:
    """Add the counters that did not exist yet."""
    fields["tally"] = np.concatenate([fields["tally"], np.zeros(max(len(Count) - fields["tally"].size, 0))])
    return fields


def _machine(fields: Fields) -> Fields:
    """Split into parts: `total` held the sums of an average or the debts of a penalty, `spread` a covariance."""
    fields = _tally(fields)
    total, total_b = fields.pop("total"), fields.pop("total_b")
    spread, spread_b = fields.pop("spread"), fields.pop("spread_b")
    start, log, pocket = fields.pop("start", None), fields.pop("log", ()), fields.pop("pocket", None)
    if total_b.size:
        fields["average"] = Average(total, total_b)
    if spread.size:
        fields["covariance"] = FullCovariance(spread) if spread.ndim == 3 else DiagonalCovariance(spread, spread_b)
    if start is not None:
        fields["votes"] = Votes(start[0], start[1], log)
    if pocket is not None:
        fields["pocket"] = Pocket(*pocket)
    return fields


def _state(fields: Fields) -> Fields:
    """Set what depends on the state: the purpose of a machine's sums, and the bias step of votes."""
    for machine in fields["machines"]:
        if machine.average is not None and fields["keep"] != "average":
            machine.debt, machine.average = L1Debt(*machine.average.arrays), None
        if machine.votes is not None:
            bias = float(fields["bias"])
            logged = machine.votes.log
            machine.votes.log = tuple(one if len(one) == 3 else LoggedUpdates(one[0], one[1], bias) for one in logged)
    return fields


def _within_budget(fields: Fields) -> Fields:
    fields["tally"] = np.zeros(len(Count))
    fields["tally"][list(BUDGET_COUNTS)] = fields.pop("book")
    return fields


CHANGED: dict[str, Callable[[Fields], Fields]] = {
    "learn.machines.Machine": _machine,
    "learn.machines.State": _state,
    "learn.budgets.Small": _within_budget,
    "learn.tree.Grown": _tally,
}
