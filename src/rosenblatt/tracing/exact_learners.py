"""The online learners in exact rational arithmetic: slow, and free of rounding errors.

The rules, orders and stopping criteria are those of the compiled learners, for examples that a lecture works out by
hand. Arrays hold `Fraction` objects; a machine's planes are W (K, d) and b (K,).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from rosenblatt.compiled.step_sizes import passive_aggressive_step
from rosenblatt.learn.evaluation import Problem, problems
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.number_format import printed_fraction
from rosenblatt.learn.orders import visited
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.schemes import Scheme
from rosenblatt.online.rules import AROWRule, PassiveAggressiveRule, PerceptronRule, Rule, SecondOrderRule
from rosenblatt.online.solver import MOST_WATCHED, OnlinePlan
from rosenblatt.shell.online_learner import plan_of

Array = np.ndarray[Any, Any]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class CandidateUpdate:
    """The update that a row would make, and the margin that decides whether it is made.

    Attributes
    ----------
    moves : tuple of (int, int)
        The planes to move, each with the sign of its step.
    margin : Fraction
    lack : Fraction
        The required margin minus `margin`.
    tie_is_correct : bool
        Whether the margin is 0 and the tie rule for several classes predicts the row's class.
    """

    moves: tuple[tuple[int, int], ...]
    margin: Fraction
    lack: Fraction
    tie_is_correct: bool = False


@dataclass
class ExactMachine:
    """The state of one learner: its planes, and the sums for their average."""

    W: Array
    b: Array
    rule: Rule
    rate: Any
    c2: Fraction  # the step of the bias, where w steps by x: 0, 1, R² or a number
    scheme: Scheme
    total: Array = field(init=False)  # Σ clock·Δ, for the average
    total_b: Array = field(init=False)
    updates: int = 0
    clock: Fraction = ZERO

    def __post_init__(self) -> None:
        self.total, self.total_b = self.W * 0, self.b * 0

    def planes(self) -> tuple[Array, Array]:
        """W and b."""
        return self.W, self.b

    def scores(self, x: Array) -> Array:
        """The scores of a row, one per plane."""
        return self.W @ x + self.b

    def average(self) -> tuple[Array, Array]:
        """(N·w − u)/N after N visits."""
        clock = max(self.clock, ONE)
        return self.W - self.total / clock, self.b - self.total_b / clock

    def makes_update(self, candidate: CandidateUpdate) -> bool:
        """Whether the rule makes the update."""
        if isinstance(self.rule, PerceptronRule | SecondOrderRule):
            return candidate.lack >= 0 and not candidate.tie_is_correct
        return candidate.lack > 0

    def violates(self, candidate: CandidateUpdate) -> bool:
        """Whether the margin shows that the learner has not converged."""
        if isinstance(self.rule, PerceptronRule):
            return candidate.lack >= 0 and not candidate.tie_is_correct
        if isinstance(self.rule, PassiveAggressiveRule) and self.rule.epsilon >= 0:
            return candidate.lack > 0
        return candidate.margin <= 0 and not candidate.tie_is_correct

    def step_size(self, candidate: CandidateUpdate, x: Array, epoch: int) -> Fraction:
        """The step size, as in `online.rules`."""
        if isinstance(self.rule, PerceptronRule):
            return self.rate_at(epoch)
        assert isinstance(self.rule, PassiveAggressiveRule)
        q: Fraction = len(candidate.moves) * (x @ x + self.c2)
        cap, extra = self.rule.cap_and_extra(printed_fraction(self.rule.C))
        return Fraction(passive_aggressive_step(candidate.lack, q, cap, extra))

    def rate_at(self, epoch: int) -> Fraction:
        """The learning rate of the next update."""
        if callable(self.rate):
            return printed_fraction(self.rate(epoch))
        return Fraction(1, self.updates + 1) if self.rate == "1/t" else printed_fraction(self.rate)

    def step(self, candidate: CandidateUpdate, x: Array, share: Fraction, epoch: int) -> bool:
        """Make the update with weight `share`; return whether it changed the state."""
        size = share * self.step_size(candidate, x, epoch)
        for k, sign in candidate.moves:
            self.move_plane(k, sign * size * x, sign * size * self.c2)
        self.updates += size != 0
        return size != 0

    def move_plane(self, k: int, move: Array, bias: Fraction) -> None:
        """Add to the weights and the bias of plane k, and to the sums for the average."""
        self.W[k] = self.W[k] + move
        self.b[k] = self.b[k] + bias
        self.total[k] = self.total[k] + self.clock * move
        self.total_b[k] = self.total_b[k] + self.clock * bias


class SecondOrderExactMachine(ExactMachine):
    """The state of AROW and of the second-order perceptron: w and Σ, or, if the latter is diagonal, v and A."""

    def __post_init__(self) -> None:
        super().__post_init__()
        K, d = self.W.shape
        self.diagonal_second_order = isinstance(self.rule, SecondOrderRule) and not self.rule.full
        start = ONE
        if isinstance(self.rule, SecondOrderRule):
            start = printed_fraction(self.rule.a) if self.diagonal_second_order else 1 / printed_fraction(self.rule.a)
        eye = np.full((d + 1, d + 1), ZERO, dtype=object)
        np.fill_diagonal(eye, start)
        if self.c2:  # a feature of value c is one of value 1 with c² times the variance
            eye[d, d] = start / self.c2 if self.diagonal_second_order else start * self.c2
        self.matrix = np.stack([eye] * K)
        self.v: Array = np.column_stack([self.W, self.b]) * (np.diagonal(eye) if self.diagonal_second_order else ONE)

    def _with_bias(self, x: Array) -> Array:
        return np.array([*x, ONE if self.c2 else ZERO], dtype=object)

    def scores(self, x: Array) -> Array:
        """The scores of a row, one per plane."""
        x_bias = self._with_bias(x)
        if self.diagonal_second_order:
            diagonals = np.stack([np.diagonal(A) for A in self.matrix])
            scores: Array = (self.v * x_bias / diagonals).sum(axis=1)
            return scores
        return self.v @ x_bias

    def planes(self) -> tuple[Array, Array]:
        """W and b."""
        w = self.v / np.stack([np.diagonal(A) for A in self.matrix]) if self.diagonal_second_order else self.v
        return w[:, :-1], w[:, -1]

    def step(self, candidate: CandidateUpdate, x: Array, share: Fraction, epoch: int) -> bool:
        """Make the update with weight `share`; return whether it changed the state."""
        x_bias, full = self._with_bias(x), self.rule.full
        r = printed_fraction(self.rule.r) if isinstance(self.rule, AROWRule) else ONE
        q = sum((x_bias @ self.matrix[k] @ x_bias for k, _ in candidate.moves), ZERO)
        beta = share / (share * q + r)
        for k, sign in candidate.moves:
            if self.diagonal_second_order:
                self.v[k] = self.v[k] + sign * share * x_bias
                self.matrix[k] = self.matrix[k] + share * np.diag(x_bias * x_bias)
                continue
            g = self.matrix[k] @ x_bias
            shrink = beta * np.outer(g, g)
            self.v[k] = self.v[k] + sign * (1 - candidate.margin) * beta * g
            self.matrix[k] = self.matrix[k] - (shrink if full else np.diag(np.diagonal(shrink)))
        self.updates += 1
        return True


# -- candidate updates -----------------------------------------------------------------------------------------------


def candidate_updates(scores: Array, truth: Any, machine: ExactMachine) -> list[CandidateUpdate]:
    """The updates that a row with these scores and this label would make: one, or one per column (one-vs-rest)."""
    rule, scheme = machine.rule, machine.scheme
    low, high = (ZERO, ZERO) if isinstance(rule, SecondOrderRule) else (ONE, ONE)
    if isinstance(rule, PerceptronRule):
        low, high = printed_fraction(rule.low), printed_fraction(rule.high)
    if isinstance(rule, PassiveAggressiveRule) and rule.epsilon >= 0:
        gap = printed_fraction(truth) - scores[0]
        return [CandidateUpdate(((0, 1 if gap > 0 else -1),), -abs(gap), abs(gap) - printed_fraction(rule.epsilon))]
    if scheme.joint:
        true = int(truth)
        rival = max((k for k in range(scores.size) if k != true), key=lambda k: (scores[k], -k))
        margin = scores[true] - scores[rival]
        tie_is_correct = bool(margin == 0 and high == 0 and true < rival)
        return [CandidateUpdate(((true, 1), (rival, -1)), margin, high - margin, tie_is_correct)]
    found = []
    for k in range(scores.size):
        on = truth > 0 if scheme.single else bool(truth == k) if np.ndim(truth) == 0 else truth[k] != 0
        side = 1 if on else -1
        found.append(CandidateUpdate(((k, side),), side * scores[k], (high if on else low) - side * scores[k]))
    return found


# -- epochs ----------------------------------------------------------------------------------------------------------

Watch = Callable[[int, ExactMachine, Problem, "int | tuple[int, ...]", int], None]


def exact_epochs(
    X: Array,
    examples: Examples,
    plan: OnlinePlan,
    machines: list[ExactMachine],
    scheme: Scheme,
    seed: int,
    watch: Watch,
) -> Iterator[bool]:
    """Run epochs until all machines have converged; call `watch` after every visit, yield after every epoch."""
    classes = 0 if examples.classes is None else examples.classes.size
    tasks = list(problems(examples, scheme, classes))
    epoch = 0
    while True:
        converged = True
        for number, (machine, problem) in enumerate(zip(machines, tasks, strict=True)):
            if problem.size:
                converged &= _epoch(X, machine, problem, plan, number, epoch, seed, watch)
        epoch += 1
        yield converged
        if converged:
            return


def _epoch(
    X: Array,
    machine: ExactMachine,
    problem: Problem,
    plan: OnlinePlan,
    number: int,
    epoch: int,
    seed: int,
    watch: Watch,
) -> bool:
    if plan.batch:
        return _batch(X, machine, problem, number, epoch, watch)
    picks_rows = isinstance(plan.order, str) and plan.order in ("first", "worst")
    if picks_rows:
        row = _pick_row(X, machine, problem, worst=plan.order == "worst")
        if row is None:  # converged, unless misclassified rows remain that cannot move a plane
            return not any(map(machine.makes_update, candidate_updates_of_all(X, machine, problem)))
        rows, covers = np.array([row]), False
    else:
        order = plan.make_order(problem, seed)
        rows, covers = visited(order, problem.present, epoch, 0, order.size), order.covers
    before, satisfied, repeats = machine.updates, True, VisitLimit(problem.size, MOST_WATCHED)
    repeats.begin(rows.size)
    for row in rows:
        satisfied &= _visit_row(X, machine, problem, number, int(row), epoch, watch, repeats)
    if picks_rows or not satisfied:
        return False
    return (covers and machine.updates == before) or no_violations(X, machine, problem)


def _visit_row(
    X: Array,
    machine: ExactMachine,
    problem: Problem,
    number: int,
    row: int,
    epoch: int,
    watch: Watch,
    repeats: VisitLimit,
) -> bool:
    """Visit a row of weight s ⌈s⌉ times, or until a visit changes nothing; return whether no visit saw a violation."""
    left = printed_fraction(problem.weights[row]) if problem.weights.size else ONE
    satisfied = True
    while left > 0:
        share, changed = min(left, ONE), False
        for candidate in candidate_updates(machine.scores(X[row]), problem.truth[row], machine):
            satisfied &= not machine.violates(candidate)
            if machine.makes_update(candidate):
                changed |= machine.step(candidate, X[row], share, epoch + 1)
        spent = share if changed else left
        repeats.spend(1)
        machine.clock += spent
        left -= spent
        watch(number, machine, problem, row, epoch + 1)
    return satisfied


def _batch(X: Array, machine: ExactMachine, problem: Problem, number: int, epoch: int, watch: Watch) -> bool:
    """W += (η/N)·Σ y·x over the rows whose margin is too small, for each column separately (one-vs-rest)."""
    moved: list[int] = []
    move, shift, total = machine.W * 0, machine.b * 0, ZERO
    for row in problem.index(0, problem.size):
        weight = printed_fraction(problem.weights[row]) if problem.weights.size else ONE
        total += weight
        for candidate in candidate_updates(machine.scores(X[row]), problem.truth[row], machine):
            if machine.makes_update(candidate):
                for k, sign in candidate.moves:
                    move[k] = move[k] + weight * sign * X[row]
                    shift[k] = shift[k] + weight * sign * machine.c2
                moved += [] if int(row) in moved[-1:] else [int(row)]
    if moved:
        eta = machine.rate_at(epoch + 1) / total
        for k in range(len(shift)):
            machine.move_plane(k, eta * move[k], eta * shift[k])
        machine.updates += 1
    machine.clock += 1
    watch(number, machine, problem, tuple(moved), epoch + 1)
    return not moved


def candidate_updates_of_rows(
    X: Array, machine: ExactMachine, problem: Problem
) -> Iterator[tuple[int, list[CandidateUpdate]]]:
    """The candidate updates of every row at the current planes."""
    W, b = machine.planes()
    for row in problem.index(0, problem.size):
        yield int(row), candidate_updates(W @ X[row] + b, problem.truth[row], machine)


def candidate_updates_of_all(X: Array, machine: ExactMachine, problem: Problem) -> Iterator[CandidateUpdate]:
    """The candidate updates of all rows."""
    return chain.from_iterable(found for _, found in candidate_updates_of_rows(X, machine, problem))


def no_violations(X: Array, machine: ExactMachine, problem: Problem) -> bool:
    """Whether no row violates its margin at the current planes."""
    return not any(map(machine.violates, candidate_updates_of_all(X, machine, problem)))


def _pick_row(X: Array, machine: ExactMachine, problem: Problem, worst: bool) -> int | None:
    best, most = None, None
    for row, found in candidate_updates_of_rows(X, machine, problem):
        lacks = [candidate.lack for candidate in found if machine.makes_update(candidate)]
        if not machine.c2 and not X[row].any():  # an all-zero row without a bias moves no plane
            continue
        if lacks and (most is None or (worst and max(lacks) > most)):
            best, most = row, max(lacks)
    return best


def new_exact_machines(
    plan: OnlinePlan, rate: Any, scheme: Scheme, planes: int, c2: Fraction, start: Any
) -> list[ExactMachine]:
    """Machines that start at the given planes (P, d) and (P,): one for all planes, or one per pair of classes."""
    kind = SecondOrderExactMachine if plan.rule.order == 2 else ExactMachine
    groups = [[k] for k in range(planes)] if scheme.single else [list(range(planes))]
    return [kind(start[0][group].copy(), start[1][group].copy(), plan.rule, rate, c2, scheme.alone) for group in groups]


def exact_plan(model: Any) -> tuple[OnlinePlan, Any]:
    """The plan and learning rate of a learner; refuse one whose arithmetic is not rational."""
    plan: OnlinePlan = replace(plan_of(model), record_errors=False)
    rate = model.get_params(deep=False).get("learning_rate", 1)
    if isinstance(rate, str) and rate != "1/t":
        why = "takes square roots" if rate == "1/sqrt(t)" else "searches in floating point"
        raise ValueError(f"exact=True computes with fractions, but learning_rate={rate!r} {why}. Use exact=False.")
    if plan.keep == "pocket":
        raise ValueError('exact=True supports the last w and the average; for keep="pocket" use exact=False.')
    if model.early_stopping:
        raise ValueError("exact=True trains on all rows; for early_stopping use exact=False.")
    return plan, rate
