"""The pass of a grid search: every setting and every fold of an online learner is a column of one matrix."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import indexable

from rosenblatt.compiled.row_arrays import Dense, is_narrow, radius2
from rosenblatt.compiled.simd_lanes import WIDTH
from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.formats.errors import NonFiniteInputError
from rosenblatt.learn.examples import class_weights
from rosenblatt.learn.orders import Cyclic, Shuffled
from rosenblatt.learn.plan import default_epochs
from rosenblatt.learn.schemes import PAIRS, SCHEMES
from rosenblatt.objective.linear import LinearClassifier
from rosenblatt.objective.objective_plan import ObjectivePlan
from rosenblatt.online.passive_aggressive import PassiveAggressive
from rosenblatt.online.perceptron import AveragedPerceptron, Perceptron
from rosenblatt.online.rules import AROW as SECOND
from rosenblatt.online.rules import CONSTANT, HARMONIC, ROOT, Encoded
from rosenblatt.online.second_order_learners import AROW
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.planes.linear_plan import LinearPlan
from rosenblatt.search.many_descents import Descent, ManyDescents
from rosenblatt.search.many_settings import FoldRows, ManySettings, Setting
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.online_learner import examples_of, plan_of
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]
LEARNERS = (Perceptron, AveragedPerceptron, PassiveAggressive, AROW, LinearClassifier)
Run = ManySettings | ManyDescents
HEAVIEST = 100.0  # rows of larger weights need too many visits for a pass that all settings share


def _key(params: Mapping[str, Any]) -> str:
    return repr(sorted((name, repr(value)) for name, value in params.items()))


@dataclass(frozen=True)
class GridColumn:
    """Where the scores of a setting are stored: the key of its machine, its number of epochs and its `keep`."""

    machine: tuple[Any, ...]
    epochs: int
    average: bool


@dataclass
class SharedPass:
    """All settings of a search that learn together, and their scores."""

    model: OnlineClassifier
    X: Any
    size: int
    splits: list[tuple[Array, Array]]
    data: FoldRows
    classes: Array
    order: Cyclic | Shuffled
    train_scores: bool
    limit: int
    columns: dict[tuple[int, str], GridColumn] = field(default_factory=dict)
    machines: dict[tuple[Any, ...], tuple[Encoded | ObjectivePlan, tuple[float, ...], int]] = field(
        default_factory=dict
    )
    found: dict[tuple[Any, ...], Array] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def prepare(
        cls, search: GridSearchCV, X: Any, y: Any, params: dict[str, Any], limit: int
    ) -> SharedPass | RefusedRows | None:
        """The settings that can learn together; None if there are none, or if a separate fit has to raise an error."""
        base = clone(search.estimator)
        candidates = list(ParameterGrid(search.param_grid))
        try:
            models = [clone(base).set_params(**clone(each, safe=False)) for each in candidates]
            able = [one if _able(one) else None for one in models]
            first = next((one for one in able if one is not None), None)
            if first is None:
                return None
            X, y = indexable(X, y)
            # Without class weights, because each setting has its own.
            examples = examples_of(clone(first), X, y, params.get("sample_weight"))
        except NonFiniteInputError:
            # A matrix of labels is left to scikit-learn.
            return None if np.ndim(y) > 1 else RefusedRows(base, X, len(y), _splits(search, base, X, y, params))
        except (ValueError, TypeError):
            return None  # scikit-learn raises the error
        weights = np.zeros(0) if examples.weights is None else examples.weights
        n, classes = examples.target.shape[0], 0 if examples.classes is None else int(examples.classes.size)
        descends = isinstance(first, LinearClassifier)
        scheme = (
            plan_of(first).scheme(classes, False) if descends else SCHEMES["one" if classes == 2 else first.multiclass]
        )
        if (
            is_narrow(examples.rows)
            or examples.target.ndim == 2
            or classes < 2
            or scheme == PAIRS
            or weights.max(initial=1.0) > HEAVIEST
            or (descends and (weights.size or not math.isfinite(examples.radius2)))  # some folds may have no step size
        ):
            return None
        assert examples.classes is not None
        splits = _splits(search, base, X, y, params)
        member = np.zeros((n, len(splits)), dtype=bool)
        for fold, (train, _) in enumerate(splits):
            member[train, fold] = True
        shuffled = first.order == "shuffle"
        # Not shared: folds with repeated rows or their own row order, and folds with identical training rows.
        alike = len({train.tobytes() for train, _ in splits} | {np.arange(n).tobytes()}) <= len(splits)
        twice = any(np.count_nonzero(member[:, fold]) != train.size for fold, (train, _) in enumerate(splits))
        turned = not shuffled and any((np.diff(train) < 0).any() for train, _ in splits)
        if weights.size:
            member[weights == 0] = False
        data = FoldRows(examples.rows, examples.target, weights, member, examples.n_features, classes, scheme)
        order = Shuffled(n, new_seed(first.random_state)) if shuffled else Cyclic(n)
        made = cls(base, X, n, splits, data, examples.classes, order, search.return_train_score, limit)
        for each, model in zip(candidates, able, strict=True):
            if model is not None and _together(model, first) and not (alike or twice or turned):
                made.place(each, model)
        return made

    def place(self, params: Mapping[str, Any], model: Any) -> None:
        """Give a setting its machine in each fold that has every class; settings that a fit would refuse get none."""
        plan, data = plan_of(model), self.data
        try:
            planes = plan.scheme(data.classes, False).planes(data.classes)
            for fold, (rows, codes, complete) in enumerate(self.learned):
                weights = data.weights[rows] if data.weights.size else None
                shares = class_weights(model.class_weight, self.classes, codes, weights)
                shares = np.ones(data.classes) if shares is None else shares
                heaviest = shares.max() * data.weights.max(initial=1.0)
                stored = _stored(data, rows)
                if (
                    not complete
                    or not 0 < heaviest <= HEAVIEST
                    or not (isinstance(plan, OnlinePlan) or plan.visits_rows(stored * planes))
                ):
                    continue
                rule = plan if isinstance(plan, ObjectivePlan) else _encoded(plan, _bias(plan, data, rows))
                key = (fold, rule, tuple(shares.tolist()))
                limit = model.max_epochs or default_epochs(stored, plan.keep)
                longest = max(limit, self.machines[key][2] if key in self.machines else 0)
                self.machines[key] = (key[1], key[2], longest)
                self.columns[fold, _key(params)] = GridColumn(key, limit, plan.keep == "average")
        except ValueError:
            return  # its own fit raises the error

    @functools.cached_property
    def learned(self) -> list[tuple[Array, Array, bool]]:
        """The rows that each fold learns from, their codes, and whether all classes are among them."""
        found = []
        for fold in range(len(self.splits)):
            rows = np.flatnonzero(self.data.member[:, fold])
            codes = self.data.codes[rows]
            found.append((rows, codes, bool(np.bincount(codes, minlength=self.data.classes).all())))
        return found

    @functools.cached_property
    def folds(self) -> dict[tuple[int, ...], list[int]]:
        """Folds by the sums of their training rows."""
        found: dict[tuple[int, ...], list[int]] = {}
        for fold, (train, _) in enumerate(self.splits):
            found.setdefault(_sums(train), []).append(fold)
        return found

    def fold(self, rows: Array) -> int | None:
        """The fold that learns from these rows."""
        alike = self.folds.get(_sums(rows), ())
        return next((fold for fold in alike if np.array_equal(rows, self.splits[fold][0])), None)

    def learn(self) -> None:
        """Train all machines."""
        began = time.perf_counter()
        for block in self._blocks() if self.machines else ():
            self._learn(block)
        self.seconds = time.perf_counter() - began

    def _blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """The machines in blocks whose weights fit the memory."""
        average = any(column.average for column in self.columns.values())
        rules = [rule for rule, _, _ in self.machines.values()]
        second = any(isinstance(rule, Encoded) and rule.code == SECOND for rule in rules)
        debts = any(isinstance(rule, ObjectivePlan) and rule.penalty in ("l1", "elasticnet") for rule in rules)
        size = self.data.rows.values.itemsize
        column = self.data.n_features * (size * (2 if second else 1) + (8 if average or debts else 0))
        room = max(1, self.limit // (WIDTH * column) * WIDTH // self.data.scheme.columns(self.data.classes))
        keys = sorted(self.machines, key=lambda key: key[0])  # folds together: their rows are scored together
        count = math.ceil(len(keys) / room)
        for part in np.array_split(np.arange(len(keys)), count):
            yield [keys[k] for k in part]

    def _learn(self, keys: list[tuple[Any, ...]]) -> None:
        """Train these machines, and store their scores at each requested number of epochs."""
        wanted: dict[tuple[Any, ...], set[tuple[int, bool]]] = {key: set() for key in keys}
        for column in self.columns.values():
            if column.machine in wanted:
                wanted[column.machine].add((column.epochs, column.average))
        average = any(keep for asked in wanted.values() for _, keep in asked)
        run = self._run(keys, average)
        told = np.zeros(len(keys), dtype=bool)
        for epoch in run.epochs():
            due: dict[tuple[int, bool], list[tuple[int, int]]] = {}
            for m, key in enumerate(keys):
                for epochs, keep in () if told[m] else wanted[key]:
                    if epochs == epoch or (run.done[m] and epochs > epoch):
                        due.setdefault((key[0], keep), []).append((m, epochs))
            told |= run.done
            for (fold, keep), asked in due.items():
                self._keep(run, fold, keep, keys, asked)

    def _run(self, keys: list[tuple[Any, ...]], average: bool) -> Run:
        settings, descents = list[Setting](), list[Descent]()
        for key in keys:
            rule, shares, epochs = self.machines[key]
            if isinstance(rule, ObjectivePlan):
                descents.append(Descent(rule, key[0], epochs))
            else:
                settings.append(Setting(rule, key[0], shares, epochs))
        if descents:
            return ManyDescents(self.data, descents, self.order)
        return ManySettings(self.data, settings, self.order, average)

    def _keep(
        self, run: ManySettings | ManyDescents, fold: int, average: bool, keys: list[Any], asked: list[tuple[int, int]]
    ) -> None:
        """Store the scores of machines of one fold, each at a number of epochs."""
        machines = np.array(sorted({m for m, _ in asked}))
        place = {int(m): k for k, m in enumerate(machines)}
        for part in range(2 if self.train_scores else 1):
            scores = run.scores(machines, average, self.splits[fold][1 - part].astype(np.uint64))
            for m, epochs in asked:
                self.found[keys[m], epochs, average, part] = scores[:, place[m]]

    def scores(self, params: Mapping[str, Any], fold: int, part: int) -> Array | None:
        """The scores of a setting on the test (0) or training (1) rows of a fold; None if it was not in the pass."""
        column = self.columns.get((fold, _key(params)))
        return None if column is None else self.found[column.machine, column.epochs, column.average, part]

    def share_time(self, results: dict[str, Any]) -> None:
        """Give each setting of the pass its share of the time."""
        share = self.seconds / len(self.columns)
        counts = [
            sum((fold, _key(params)) in self.columns for fold in range(len(self.splits)))
            for params in results["params"]
        ]
        results["mean_fit_time"] = results["mean_fit_time"] + share * np.array(counts) / len(self.splits)


@dataclass(frozen=True)
class RefusedRows:
    """Replaces `SharedPass` if rows are refused: each setting is fitted alone, and its error names the row of X."""

    model: OnlineClassifier
    X: Any
    size: int
    splits: list[tuple[Array, Array]]
    columns: tuple[()] = ()
    classes: Any = None

    def learn(self) -> None:
        """Do nothing: no settings learn together."""

    def fold(self, rows: Array) -> int | None:
        """None: no fold has learned."""
        return None

    def scores(self, params: Mapping[str, Any], fold: int, part: int) -> Array | None:
        """None: there are no scores."""
        return None

    def share_time(self, results: dict[str, Any]) -> None:
        """Do nothing: each fit has its own time."""


def _splits(search: GridSearchCV, model: Any, X: Any, y: Any, params: dict[str, Any]) -> list[tuple[Array, Array]]:
    """The training and the test rows of each fold."""
    rows, cv = np.arange(len(y)), check_cv(search.cv, y, classifier=is_classifier(model))
    return [(rows[train], rows[test]) for train, test in cv.split(X, y, params.get("groups"))]


def _sums(rows: Array) -> tuple[int, ...]:
    """A cheap hash of a set of row numbers."""
    return rows.size, int(rows.sum()), int(rows @ rows)


def _able(model: Any) -> bool:
    """Whether the pass can train this model; invalid parameters are left to its own fit, which raises the error."""
    if type(model) not in LEARNERS or model.early_stopping or model.warm_start:
        return False
    try:
        plan = plan_of(model)
    except (ValueError, TypeError):
        return False
    if isinstance(plan, ObjectivePlan) and not _descends(model, plan):
        return False
    rate = isinstance(plan.rate, int | float) or plan.rate in ("1/t", "1/sqrt(t)", "optimal")
    seeded = model.random_state is None or isinstance(model.random_state, int | np.integer)
    ordered = isinstance(plan.order, str) and plan.order in ("shuffle", "cyclic")
    if isinstance(plan, OnlinePlan) and (plan.batch or plan.rule.full):
        return False
    return bool(rate and seeded and ordered and plan.keep in ("last", "average"))


def _descends(model: Any, plan: ObjectivePlan) -> bool:
    """Whether the pass can minimise this objective: stochastic steps, a bounded slope, and no class weights."""
    visits = model.solver in ("stochastic", "auto") and plan.penalty_class.parts(1.0, 0.5) is not None
    return visits and math.isfinite(plan.loss_class.steep) and model.class_weight is None


def _together(one: Any, other: Any) -> bool:
    """Whether two models can be columns of the same pass."""
    mine, others = one.get_params(deep=False), other.get_params(deep=False)
    alike = all(mine.get(name) == others.get(name) for name in ("order", "multiclass", "random_state", "loss"))
    return type(one) is type(other) and alike


def _encoded(plan: OnlinePlan, bias: float) -> Encoded:
    rate, decay = 1.0, CONSTANT
    if isinstance(plan.rate, str):
        decay = {"1/t": HARMONIC, "1/sqrt(t)": ROOT}[plan.rate]
    else:
        rate = float(plan.rate)  # type: ignore[arg-type]
    return plan.rule.encode(rate, decay, bias)._replace(bias=bias)  # c², for AROW too: the variance of its bias


def _bias(plan: LinearPlan, data: FoldRows, train: Array) -> float:
    """c², what a step of 1 adds to b."""
    reach2 = radius2(data.rows, train.astype(np.uint64)) if plan.bias == "radius" else 0.0
    return float(squared_bias_feature(plan.bias, reach2))


def _stored(data: FoldRows, rows: Array) -> int:
    """Stored values of these rows, counted as `Examples` counts them."""
    if isinstance(data.rows, Dense):
        return int(rows.size * data.rows.values.shape[1])
    starts = data.rows.starts.astype(np.int64)
    return int((starts[rows + 1] - starts[rows]).sum())
