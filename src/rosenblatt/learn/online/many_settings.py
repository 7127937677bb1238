"""Many settings and folds of a learner in one pass: each is a machine, whose planes are columns of one W.

W is stored by feature, (d, columns). A visit computes the scores of all columns in one sweep over the row, asks each
machine for its step (none where its fold holds the row out), and adds x·stepᵀ to contiguous runs of W. Reading the row
and its places in W, which is most of the cost of a visit, is shared by all machines.

Each machine makes the visits, and ends with the weights, of a fit of its own over the same order of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from rosenblatt.compiling import compiled, vectorised, verb
from rosenblatt.data.examples import Dense, Sparse, shared_spans, spans, values_per_row
from rosenblatt.learn.compiled_loops import VisitTask
from rosenblatt.learn.evaluation import Problem, clean
from rosenblatt.learn.models import Planes
from rosenblatt.learn.online.first_order import is_on, tie_stands
from rosenblatt.learn.online.rules import AROW, CONSTANT, PA1, PA2, PERCEPTRON, Encoded, step_size, violates
from rosenblatt.learn.orders import Cyclic, Shuffled
from rosenblatt.learn.rows import LINE, ONE, Rows, dots_sparse, fetch_ahead, norm, prefetch
from rosenblatt.learn.schemes import Scheme
from rosenblatt.learn.tie_rule import rival
from rosenblatt.threads import in_threads

Array = np.ndarray[Any, Any]
MODES = {"one": 0, "multinomial": 1, "ovr": 2}
SINGLE, PAIRWISE, BY_COLUMN = range(3)


# -- W xᵀ and W += x·stepᵀ, with W stored by feature ------------------------------------------------------------------


def _scores_dense(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    x = rows.values[i]
    for c in range(scores.size):
        scores[c] = 0
    whole = x.size - x.size % 4
    for j in range(0, whole, 4):  # four features at a time: the scores are read and written a quarter as often
        a, b, e, f = x[j], x[j + 1], x[j + 2], x[j + 3]
        p, q, r, s = W[j], W[j + 1], W[j + 2], W[j + 3]
        for c in range(scores.size):
            scores[c] += (a * p[c] + b * q[c]) + (e * r[c] + f * s[c])
    for j in range(whole, x.size):
        a, p = x[j], W[j]
        for c in range(scores.size):
            scores[c] += a * p[c]


column_scores = verb({Dense: _scores_dense, Sparse: dots_sparse})  # scores_c = w_c·x_i


def _squares_dense(rows: Rows, i: Any, S: Array, q: Array) -> None:
    x = rows.values[i]
    for c in range(q.size):
        q[c] = 0
    for j in range(x.size):
        a, s = x[j] * x[j], S[j]
        for c in range(q.size):
            q[c] += a * s[c]


def _squares_sparse(rows: Rows, i: Any, S: Array, q: Array) -> None:
    x, column = rows.values, rows.columns
    for c in range(q.size):
        q[c] = 0
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, s = x[j] * x[j], S[column[j]]
        for c in range(q.size):
            q[c] += a * s[c]


column_squares = verb({Dense: _squares_dense, Sparse: _squares_sparse})  # q_c = Σ_j s_jc x_j²


def _add_dense(rows: Rows, i: Any, steps: Array, W: Array) -> None:
    x = rows.values[i]
    for j in range(x.size):
        a, w = x[j], W[j]
        for c in range(steps.size):
            w[c] += a * steps[c]


def _add_sparse(rows: Rows, i: Any, steps: Array, W: Array) -> None:
    x, column = rows.values, rows.columns
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, w = x[j], W[column[j]]
        for c in range(steps.size):
            w[c] += a * steps[c]


add_columns = verb({Dense: _add_dense, Sparse: _add_sparse})  # w_c += step_c·x_i


def _curve_dense(rows: Rows, i: Any, steps: Array, shrinks: Array, W: Array, S: Array) -> None:
    x = rows.values[i]
    for j in range(x.size):
        a, w, s = x[j], W[j], S[j]
        for c in range(steps.size):
            g = a * s[c]
            w[c] += steps[c] * g
            s[c] -= shrinks[c] * g * g


def _curve_sparse(rows: Rows, i: Any, steps: Array, shrinks: Array, W: Array, S: Array) -> None:
    x, column = rows.values, rows.columns
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, w, s = x[j], W[column[j]], S[column[j]]
        for c in range(steps.size):
            g = a * s[c]
            w[c] += steps[c] * g
            s[c] -= shrinks[c] * g * g


add_curved = verb({Dense: _curve_dense, Sparse: _curve_sparse})  # AROW: w_c += α_c Σx, Σ_c −= β_c (Σx)²


def _fetch_weights_dense(rows: Rows, i: Any, W: Array) -> None:
    pass  # every row uses all of W


def _fetch_weights_sparse(rows: Rows, i: Any, W: Array) -> None:
    columns = np.uint64(W.shape[1])
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        begin = np.uint64(rows.columns[j]) * columns
        for c in range(begin, begin + columns, LINE):
            prefetch(W, c, False)


fetch_weights = verb({Dense: _fetch_weights_dense, Sparse: _fetch_weights_sparse})  # the weights that row i uses


# -- the loop ----------------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """One entry per machine: its rule, encoded, its fold and the weight of each class."""

    code: Array
    low: Array
    high: Array
    C: Array
    eta: Array
    decay: Array
    bias: Array
    cap: Array  # without weights and decay a step is fixed + min(cap, ℓ/(‖x‖² + bias + extra))
    fixed: Array
    extra: Array
    class_weight: Array  # (machines, classes)


class Columns(NamedTuple):
    """The planes of all machines, K columns each, and what they count; empty arrays where nothing needs them."""

    w: Array  # (d, columns)
    b: Array
    u: Array  # Σ clock·Δ, for averages
    v: Array
    s: Array  # variances, for AROW
    sb: Array
    scores: Array
    steps: Array
    timed: Array
    q: Array
    shrinks: Array
    moves: Array  # updates of each column
    clock: Array  # visits of each machine
    violations: Array
    updates: Array
    done: Array
    left: Array  # the weight that is left of the row, for each machine
    use: Array  # (patterns, machines): 1 where a machine learns from rows of a pattern of folds, else 0


@register_jitable(inline="always")  # a call would pass seventeen arrays
def _first_order_step(rule: Encoded, state: Columns, m: Any, K: Any, mode: Any, y: Array, i: Any, q: float) -> bool:
    """The step of machine m for row i, of its share of a visit; returns whether there is one."""
    begin = m * K
    share = min(state.left[m], 1.0)
    if mode == PAIRWISE:
        scores, true = state.scores[begin : begin + K], np.int64(y[i])
        wrong = rival(scores, true)
        margin = np.float64(scores[true] - scores[wrong])
        lack = rule.high - margin
        if lack < 0.0 or tie_stands(rule, lack, true, wrong):
            return False
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        q = 0.0 if rule.code == PERCEPTRON else 2.0 * (q + rule.bias)
        step = share * step_size(rule, lack, q, state.moves[begin])
        if step == 0.0:
            return False
        state.steps[begin + true], state.steps[begin + wrong] = step, -step
        state.moves[begin] += 1.0
        state.updates[m] += 1.0
        return True
    changed = False
    q = 0.0 if rule.code == PERCEPTRON else q + rule.bias
    for k in range(K):
        side = 1.0 if is_on(y, i, k + (1 if mode == SINGLE else 0)) else -1.0
        margin = side * np.float64(state.scores[begin + k])
        lack = (rule.high if side > 0.0 else rule.low) - margin
        if lack < 0.0:
            continue
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        step = share * side * step_size(rule, lack, q, state.moves[begin + k])
        if step != 0.0:
            state.steps[begin + k] = step
            state.moves[begin + k] += 1.0
            state.updates[m] += 1.0
            changed = True
    return changed


@register_jitable(inline="always")
def _second_order_step(rule: Encoded, state: Columns, m: Any, K: Any, mode: Any, y: Array, i: Any) -> bool:
    """AROW's step of machine m for row i; the variance of the bias is the prior's, for a bias feature of 1."""
    begin = m * K
    share = min(state.left[m], 1.0)
    if mode == PAIRWISE:
        scores, true = state.scores[begin : begin + K], np.int64(y[i])
        wrong = rival(scores, true)
        margin = np.float64(scores[true]) - np.float64(scores[wrong])
        lack = rule.high - margin
        if lack <= 0.0:
            return False
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        q = (
            np.float64(state.q[begin + true])
            + state.sb[begin + true]
            + state.q[begin + wrong]
            + state.sb[begin + wrong]
        )
        beta = share / (share * q + rule.C)
        state.steps[begin + true], state.steps[begin + wrong] = (1.0 - margin) * beta, -(1.0 - margin) * beta
        state.shrinks[begin + true] = state.shrinks[begin + wrong] = beta
        state.updates[m] += 1.0
        return True
    changed = False
    for k in range(K):
        c = begin + k
        side = 1.0 if is_on(y, i, k + (1 if mode == SINGLE else 0)) else -1.0
        margin = side * np.float64(state.scores[c])
        lack = rule.high - margin
        if lack <= 0.0:
            continue
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        beta = share / (share * (np.float64(state.q[c]) + state.sb[c]) + rule.C)
        state.steps[c], state.shrinks[c] = side * (1.0 - margin) * beta, beta
        state.updates[m] += 1.0
        changed = True
    return changed


@vectorised
def sweep_single(state: Columns, settings: Settings, task: VisitTask, pattern: Array, order: Array) -> None:
    """`sweep_columns` for one plane per machine, first order, no weights and constant rates: steps without branches."""
    rows, y, _ = task
    w, b, u, v = state.w, state.b, state.u, state.v
    scores, steps, timed, clock = state.scores, state.steps, state.timed, state.clock
    low, high, bias, cap = settings.low, settings.high, settings.bias, settings.cap
    fixed, extra, code, violations, updates = (
        settings.fixed,
        settings.extra,
        settings.code,
        state.violations,
        state.updates,
    )
    n = np.uint64(order.size)
    for t in range(n):
        fetch_ahead(rows, y, order, t)
        if t + ONE < n:
            fetch_weights(rows, order[t + ONE], w)
        i = order[t]
        use = state.use[pattern[i]]
        square = norm(rows, i)
        side = 1.0 if y[i] == 1 else -1.0
        column_scores(rows, i, w, scores)
        changed = 0.0
        for m in range(scores.size):
            margin = side * np.float64(scores[m] + b[m])
            lack = (high[m] if side > 0.0 else low[m]) - margin
            size = fixed[m] + min(cap[m], lack / (square + bias[m] + extra[m]))
            step = 0.0 if lack < 0.0 else use[m] * side * size
            right = lack < 0.0 if code[m] == PERCEPTRON else margin > 0.0
            violations[m] += 0.0 if right else use[m]
            updates[m] += 0.0 if step == 0.0 else 1.0
            changed += abs(step)
            steps[m] = step
            b[m] += step * bias[m]
            timed[m] = clock[m] * step
            clock[m] += use[m]
        if changed != 0.0:
            add_columns(rows, i, steps, w)
            if v.size > 0:
                for m in range(scores.size):
                    v[m] += timed[m] * bias[m]
                add_columns(rows, i, timed, u)


@compiled
def sweep_columns(state: Columns, settings: Settings, task: VisitTask, pattern: Array, order: Array, mode: int) -> None:
    """Visit rows in `order`; pattern[i] is the pattern of folds that learn from row i."""
    rows, y, weights = task
    M, columns = settings.code.size, state.scores.size
    K = columns // M
    second = state.s.size > 0
    for t in range(np.uint64(order.size)):
        fetch_ahead(rows, y, order, t)
        i = order[t]
        weight = weights[i] if weights.size > 0 else 1.0
        waiting = False
        for m in range(M):
            state.left[m] = weight * settings.class_weight[m, y[i]] * state.use[pattern[i], m]
            waiting |= state.left[m] > 0.0
        square = norm(rows, i)
        while waiting:
            waiting, changed = False, False
            column_scores(rows, i, state.w, state.scores)
            if second:
                column_squares(rows, i, state.s, state.q)
            for c in range(columns):
                state.scores[c] += state.b[c]
                state.steps[c] = state.timed[c] = 0
            if second:
                for c in range(columns):
                    state.shrinks[c] = 0
            for m in range(M):
                if not state.left[m] > 0.0:
                    continue
                rule = Encoded(
                    settings.code[m], settings.low[m], settings.high[m], settings.C[m], -1.0, settings.eta[m],
                    settings.decay[m], settings.bias[m],
                )  # fmt: skip
                if second:
                    moved = _second_order_step(rule, state, m, K, mode, y, i)
                else:
                    moved = _first_order_step(rule, state, m, K, mode, y, i, square)
                if not moved:
                    state.clock[m] += state.left[m]
                    state.left[m] = 0.0
                    continue
                changed = True
                share = min(state.left[m], 1.0)
                for c in range(m * K, (m + 1) * K):
                    if second:
                        g = state.sb[c]
                        state.b[c] += state.steps[c] * g
                        state.sb[c] -= state.shrinks[c] * g * g
                    else:
                        state.b[c] += state.steps[c] * rule.bias
                        if state.v.size > 0:
                            state.timed[c] = state.clock[m] * state.steps[c]
                            state.v[c] += state.timed[c] * rule.bias
                state.clock[m] += share
                state.left[m] -= share
                waiting |= state.left[m] > 0.0
            if changed and second:
                add_curved(rows, i, state.steps, state.shrinks, state.w, state.s)
            elif changed:
                add_columns(rows, i, state.steps, state.w)
                if state.v.size > 0:
                    add_columns(rows, i, state.timed, state.u)


@compiled
def score_columns(rows: Any, index: Array, W: Array, b: Array, out: Array) -> None:
    """out_tc = w_c·x_i + b_c for i = index_t."""
    for t in range(index.size):
        scores = out[t]
        column_scores(rows, index[t], W, scores)
        for c in range(scores.size):
            scores[c] += b[c]


# -- machines ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What one machine learns with."""

    rule: Encoded
    fold: int
    class_weight: tuple[float, ...]
    epochs: int  # at most


@dataclass(frozen=True)
class FoldRows:
    """The rows of all folds, encoded once."""

    rows: Dense | Sparse
    codes: Array
    weights: Array  # empty if all are 1
    member: Array  # (n, folds), whether a fold learns from a row
    n_features: int
    classes: int
    scheme: Scheme


class ManySettings:
    """Machines that learn together; iterate over `epochs` to train them."""

    def __init__(self, data: FoldRows, settings: Sequence[Setting], order: Cyclic | Shuffled, average: bool) -> None:
        self.data, self.settings, self.order = data, settings, order
        self.K = data.scheme.columns(data.classes)
        M, d, dtype = len(settings), data.n_features, data.rows.values.dtype
        C = M * self.K
        second = settings[0].rule.code == AROW
        none = np.zeros(0)
        self.state = Columns(
            w=np.zeros((d, C), dtype),
            b=np.zeros(C, dtype),
            u=np.zeros((d, C) if average else (0, 0)),
            v=np.zeros(C if average else 0),
            s=np.ones((d, C) if second else (0, 0), dtype),
            sb=np.repeat([float(one.rule.bias) for one in settings], self.K) if second else none,
            scores=np.zeros(C, dtype),
            steps=np.zeros(C, dtype),
            timed=np.zeros(C),
            q=np.zeros(C, dtype),
            shrinks=np.zeros(C, dtype),
            moves=np.zeros(C),
            clock=np.zeros(M),
            violations=np.zeros(M),
            updates=np.zeros(M),
            done=np.zeros(M, dtype=bool),
            left=np.zeros(M),
            use=np.zeros((0, M)),
        )
        patterns, self.pattern = _patterns(data.member)
        self.patterns = patterns[:, [one.fold for one in settings]].astype(np.float64)
        rules = [one.rule for one in settings]
        self.encoded = Settings(
            **{name: np.array([getattr(rule, name) for rule in rules]) for name in Settings._fields[:7]},
            cap=np.array([{PERCEPTRON: 0.0, PA1: rule.C}.get(rule.code, np.inf) for rule in rules]),
            fixed=np.array([rule.eta if rule.code == PERCEPTRON else 0.0 for rule in rules]),
            extra=np.array([0.5 / rule.C if rule.code == PA2 else float(rule.code == PERCEPTRON) for rule in rules]),
            class_weight=np.array([one.class_weight for one in settings]),
        )
        plain = data.weights.size == 0 and bool((self.encoded.class_weight == 1).all())
        # With a bias the norm of a row is above 0.
        steady = not second and all(rule.decay == CONSTANT and rule.bias > 0 for rule in rules)
        self.quick = data.scheme.single and plain and steady
        self.epoch = 0

    def epochs(self) -> Iterator[int]:
        """Train; yields the number of each epoch when it ends. A machine stops as a fit of its own would."""
        state, data = self.state, self.data
        task = VisitTask(data.rows, data.codes, data.weights)
        limits = np.array([one.epochs for one in self.settings])
        while not state.done.all():
            state.violations[:] = state.updates[:] = 0.0
            state = self.state = state._replace(use=self.patterns * ~state.done)
            for begin, end in spans(self.order.size, values_per_row(data.rows) * state.scores.size):
                piece = self.order.piece(self.epoch, begin, end)
                if self.quick:
                    sweep_single(state, self.encoded, task, self.pattern, piece)
                else:
                    sweep_columns(state, self.encoded, task, self.pattern, piece, MODES[data.scheme.name])
            self.epoch += 1
            for m in np.flatnonzero(~state.done & (state.violations == 0)):
                state.done[m] = state.updates[m] == 0 or self._clean(int(m))
            state.done[limits <= self.epoch] = True
            yield self.epoch

    def weights(self, machines: Array, average: bool) -> tuple[Array, Array]:
        """The weights (d, columns) and biases of these machines as they are now."""
        columns = (machines[:, None] * self.K + np.arange(self.K)).ravel()
        coef, intercept = self.state.w[:, columns], self.state.b[columns]
        if average:
            clock = np.repeat(np.maximum(self.state.clock[machines], 1e-300), self.K)
            coef = (coef - self.state.u[:, columns] / clock).astype(coef.dtype)
            intercept = (intercept - self.state.v[columns] / clock).astype(intercept.dtype)
        return np.ascontiguousarray(coef), intercept

    def scores(self, machines: Array, average: bool, index: Array) -> Array:
        """The scores of rows by these machines, (rows, machines, K), in one sweep."""
        coef, intercept = self.weights(machines, average)
        out = np.empty((index.size, intercept.size), coef.dtype)
        per_row = values_per_row(self.data.rows)

        def fill(span: tuple[int, int]) -> None:
            begin, end = span
            score_columns(self.data.rows, index[begin:end], coef, intercept, out[begin:end])

        in_threads(fill, shared_spans(index.size, per_row, intercept.size), index.size * per_row * intercept.size)
        return out.reshape(index.size, machines.size, self.K)

    def _clean(self, m: int) -> bool:
        """Whether no row of its fold violates the margin of machine m."""
        data, setting = self.data, self.settings[m]
        present = np.flatnonzero(data.member[:, setting.fold]).astype(np.uint64)
        whole = Problem(data.rows, data.codes, data.weights, present, present.size, float(present.size), data.scheme)
        (problem,) = data.scheme.problems(whole, data.classes)
        coef, intercept = self.weights(np.array([m]), average=False)
        planes = Planes(np.ascontiguousarray(coef.T), intercept, data.scheme, data.classes)
        return clean(problem, planes, _Judge(setting.rule))  # type: ignore[arg-type]


def _patterns(member: Array) -> tuple[Array, Array]:
    """The distinct rows of a matrix of truths, and which of them each row is."""
    if member.shape[1] > 8:
        return np.unique(member, axis=0, return_inverse=True)
    codes = np.packbits(member, axis=1).ravel()  # one byte per row, which is sorted quickly
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return member[first], which


@dataclass(frozen=True)
class _Judge:
    """An encoded rule, for evaluations."""

    rule: Encoded

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule, whatever is asked."""
        return self.rule
