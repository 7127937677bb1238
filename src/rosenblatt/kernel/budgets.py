"""Kernel perceptrons with a budget of support vectors. Kernels are divided by R², so that K(x, x) ≤ 1.

Forgetron (Dekel, Shalev-Shwartz, Singer 2008). On a mistake the row joins the support with β = y. If the support is
now larger than B: with r its oldest vector and p = f(x_r), all β are multiplied by the largest φ in (0, 1] with

    (β_r² − 2β_r p)φ² + 2|β_r|φ + Q ≤ (15/32)M        M: mistakes so far, Q: the cost of shrinking so far

then Q += e² + 2e − 2e·sign(β_r)f(x_r), e = |β_r|, and r is removed.

Projectron++ (Orabona, Keshet, Caputo 2009). With k = K(S, x), c = K_SS⁻¹k and δ = K(x, x) − k·c, the squared distance
of x from the span of the support: a mistake adds y·c to β if δ ≤ η or the budget is full, else the row joins with
β = y. A margin error, 0 < yf < 1, ℓ = 1 − yf, P = K(x, x) − δ, adds τ·y·c if ℓ > δ/η, with
τ = min{ℓ/P, 1, 2(ℓ − δ/η)/P}.

As in `kernel.perceptron`, rows are visited in blocks: `pool` is the kernel matrix of the support followed by the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import rows_per_call
from rosenblatt.formats.declared_fields import at_least, doubles, integers, matrix, must, one_of, size
from rosenblatt.kernel.functions import Kernel
from rosenblatt.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow, largest_diagonal
from rosenblatt.learn.counters import TALLY, Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import whole_problem
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import copy_rows
from rosenblatt.learn.orders import visited
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.scans import errors_in
from rosenblatt.learn.schemes import Scheme

if TYPE_CHECKING:
    from rosenblatt.kernel.plans import KernelPlan

Array = np.ndarray[Any, Any]
SINGULAR = 1e-10  # δ below this fraction of K(x, x) is rounding: the row is in the span of the support


class BudgetBlock(NamedTuple):
    """Rows to visit, and the support that they change.

    `pool` is the kernel matrix of the old support and the rows, which begin at index `first`; active[:size] are the
    indices of the support, oldest first, and beta their coefficients.
    """

    pool: Array
    first: int
    sides: Array
    weights: Array
    budget: int
    active: Array
    beta: Array
    tally: Array


@compiled
def _score(pool: Array, active: Array, beta: Array, size: Any, x: Any) -> Any:
    f = 0.0
    for a in range(size):
        f += beta[a] * pool[active[a], x]
    return f


@compiled
def _shrink(a: float, b: float, c: float) -> Any:
    """The largest φ in (0, 1] with aφ² + bφ + c ≤ 0, where b > 0 ≥ c."""
    if a + b + c <= 0.0:
        return 1.0
    return -2.0 * c / (b + np.sqrt(max(b * b - 4.0 * a * c, 0.0)))


@compiled
def forgetron(block: BudgetBlock) -> None:
    """Visit the rows of a block."""
    pool, first, sides, weights, budget, active, beta, tally = block
    for t in range(np.int64(tally[Count.POSITION]), sides.size):
        x, side = first + t, np.float64(sides[t])
        left = tally[Count.LEFT] if tally[Count.LEFT] > 0.0 else weights[t]
        tally[Count.LEFT] = 0.0
        while side != 0.0 and left > 0.0:
            if tally[Count.VISITS] == 0.0:
                tally[Count.POSITION], tally[Count.LEFT] = t, left
                return
            tally[Count.VISITS] -= 1.0
            size = np.int64(tally[Count.SUPPORT])
            margin = side * _score(pool, active, beta, size, x)
            if margin > 0.0:
                break
            share = min(left, 1.0)
            tally[Count.VIOLATIONS] += 1.0
            tally[Count.UPDATES] += 1.0
            tally[Count.LOSS] -= share * margin
            tally[Count.MISTAKES] += share
            active[size], beta[size] = x, share * side
            size += 1
            if size > budget:
                r = beta[0]
                p = _score(pool, active, beta, size, active[0])
                allowed = 15.0 / 32.0 * tally[Count.MISTAKES]
                phi = _shrink(r * r - 2.0 * r * p, 2.0 * abs(r), tally[Count.SHRINKAGE] - allowed)
                e = phi * abs(r)
                tally[Count.SHRINKAGE] += e * e + 2.0 * e - 2.0 * phi * r * phi * p
                for a in range(1, size):
                    active[a - 1], beta[a - 1] = active[a], phi * beta[a]
                size -= 1
            tally[Count.SUPPORT] = size
            left -= share
    tally[Count.POSITION] = sides.size


@compiled
def projectron(block: BudgetBlock, eta: float, inverse: Array, c: Array) -> None:
    """Visit the rows of a block; `inverse` is that of the support's kernel matrix, `c` scratch space for one row."""
    pool, first, sides, weights, budget, active, beta, tally = block
    for t in range(np.int64(tally[Count.POSITION]), sides.size):
        x, side = first + t, np.float64(sides[t])
        left = tally[Count.LEFT] if tally[Count.LEFT] > 0.0 else weights[t]
        tally[Count.LEFT] = 0.0
        while side != 0.0 and left > 0.0:
            if tally[Count.VISITS] == 0.0:
                tally[Count.POSITION], tally[Count.LEFT] = t, left
                return
            tally[Count.VISITS] -= 1.0
            size = np.int64(tally[Count.SUPPORT])
            margin = side * _score(pool, active, beta, size, x)
            if margin >= 1.0:
                break
            share = min(left, 1.0)
            own, spanned = np.float64(pool[x, x]), 0.0
            for a in range(size):
                total = 0.0
                for b in range(size):
                    total += inverse[a, b] * pool[active[b], x]
                c[a] = total
                spanned += total * pool[active[a], x]
            delta = max(own - spanned, 0.0)
            near = delta <= max(eta, SINGULAR * own)
            full = size >= budget
            if margin <= 0.0:
                tally[Count.VIOLATIONS] += 1.0
                tally[Count.LOSS] -= share * margin
                tau = 1.0
                if not (near or full):
                    active[size], beta[size], c[size] = x, share * side, -1.0
                    for a in range(size + 1):
                        inverse[size, a] = inverse[a, size] = 0.0
                    for a in range(size + 1):
                        for b in range(size + 1):
                            inverse[a, b] += c[a] * c[b] / delta
                    tally[Count.SUPPORT] += 1.0
                    tau = 0.0
            else:
                lack, far = 1.0 - margin, 0.0
                if not full:
                    far = delta / eta if eta > 0.0 else (0.0 if near else np.inf)
                reach = own - delta
                if lack <= far or reach <= 0.0:
                    break
                tau = min(min(lack / reach, 1.0), 2.0 * (lack - far) / reach)
            for a in range(size):
                beta[a] += share * tau * side * c[a]
            tally[Count.UPDATES] += 1.0
            left -= share
    tally[Count.POSITION] = sides.size


# -- the state -------------------------------------------------------------------------------------------------------


@dataclass
class BudgetedMachine:
    """One two-class machine with its support."""

    support: Annotated[Any, matrix("rows", "inputs")]
    beta: Annotated[Array, doubles("rows")]
    gram: Annotated[Array, doubles("rows", "rows")]  # the kernel matrix of the support, divided by R²
    inverse: Annotated[Array, doubles("inverted", "inverted")]
    tally: Annotated[Array, TALLY]
    rows: Annotated[Any, integers("rows")] = None  # the number of each support row in X, as in `KernelState`

    def __post_init__(self) -> None:
        if self.rows is None:
            self.rows = np.full(self.beta.size, -1)


@dataclass
class BudgetState:
    """All machines, one per column."""

    kernel: Kernel
    scheme: Scheme
    classes: Annotated[int, size("classes")]
    rule: Annotated[str, one_of("forgetron", "projectron++")]
    budget: Annotated[int, at_least(1)]
    eta: float
    machines: list[BudgetedMachine]
    seed: int
    reach2: float
    epoch: int = 0
    whole: bool = True
    keep: Annotated[str, one_of("last")] = "last"
    dtype: Annotated[Any, one_of(np.float32, np.float64)] = np.float64

    def check(self) -> None:
        """Machines of two classes, each with a support within its budget."""
        must(self.reach2 > 0 and not self.scheme.joint, "machines of two classes")
        must(len(self.machines) == self.scheme.planes(self.classes), "as many machines as the classes need")
        for one in self.machines:
            size = one.beta.size
            must(size <= self.budget and one.tally[Count.SUPPORT] == size, "a support within its budget")
            must(one.inverse.shape[0] == (size if self.rule == "projectron++" else 0), "the inverse of its matrix")

    def copy(self) -> BudgetState:
        """An independent copy; arrays may be shared, because they are replaced and never written to."""
        return replace(self, machines=list(self.machines))

    @property
    def updates(self) -> int:
        """Updates of all machines."""
        return int(sum(machine.tally[Count.UPDATES] for machine in self.machines))

    def kept(self) -> KernelModel:
        """The last iterate, with the support of all machines stacked."""
        parts = [one.support for one in self.machines]
        support: Any = np.concatenate(parts) if not any(map(sp.issparse, parts)) else sp.vstack(parts, format="csr")
        coef, at = np.zeros((support.shape[0], len(self.machines))), 0
        for k, one in enumerate(self.machines):
            coef[at : at + one.beta.size, k] = one.beta / self.reach2
            at += one.beta.size
        rows = np.concatenate([one.rows for one in self.machines])
        return KernelModel(self.kernel, support, coef, self.scheme, self.classes, rows=rows)

    last = kept


def new_budget_state(
    examples: Examples, kernel: Kernel, scheme: Scheme, classes: int, seed: int, rule: str, budget: int, eta: float
) -> BudgetState:
    """Machines without support."""
    empty = np.zeros((0, examples.n_features), examples.dtype)
    count, reach2 = scheme.planes(classes), max(largest_diagonal(kernel, examples), 1e-300)
    machines = [
        BudgetedMachine(empty, np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(len(Count)))
        for _ in range(count)
    ]
    return BudgetState(kernel, scheme, classes, rule, budget, eta, machines, seed, reach2, dtype=examples.dtype)


class BudgetSolver(KernelSolver):
    """Makes passes until every row is classified correctly."""

    state: BudgetState

    def __init__(self, plan: KernelPlan, state: BudgetState) -> None:
        self.plan, self.state = plan, state

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows, and scale the state by the largest K(x, x)."""
        super().begin(source, records)
        self.problem = whole_problem(self.examples, self.state.scheme)
        self.order = self.plan.make_order(self.problem, self.state.seed)
        _rescale(self.state, largest_diagonal(self.state.kernel, self.examples))

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass, block by block."""
        state, order, examples = self.state, self.order, self.examples
        self.before, self.bad, self.loss = state.updates, 0.0, 0.0
        repeats = VisitLimit(self.problem.size * len(state.machines))
        for begin in range(0, order.size, BLOCK):
            index = visited(order, self.problem.present, state.epoch, begin, min(begin + BLOCK, order.size))
            X = copy_rows(examples.rows, index, examples.n_features)
            G = state.kernel.block(X, X).astype(np.float64) / state.reach2
            sides = state.scheme.sides(examples.target[index], state.classes)
            weights = np.ones(index.size) if examples.weights is None else examples.weights[index]
            for k, machine in enumerate(state.machines):
                column = np.ascontiguousarray(sides[:, k])
                state.machines[k] = new = _after_block(state, machine, X, index, G, column, weights, repeats)
                self.bad += new.tally[Count.VIOLATIONS] - machine.tally[Count.VIOLATIONS]
                self.loss += new.tally[Count.LOSS] - machine.tally[Count.LOSS]
        yield PartOfEpoch(order.size, state.updates - self.before)

    def ending(self, source: Source) -> Ending:
        """The mean loss, and whether every row is classified correctly."""
        unchanged = self.state.updates == self.before and self.order.covers
        converged = self.bad == 0 and (unchanged or self.clean(source))
        errors = errors_in(source, self.model()) if self.plan.record_errors else None
        return Ending(float(self.loss) / max(self.problem.total, 1e-300), bool(converged), errors)


def _rescale(state: BudgetState, reach2: float) -> None:
    """Adapt what is stored in units of R² when rows are larger than any before."""
    if reach2 <= state.reach2:
        return
    factor = state.reach2 / reach2
    state.machines = [replace(one, gram=one.gram * factor, inverse=one.inverse / factor) for one in state.machines]
    state.reach2 = reach2


def _after_block(
    state: BudgetState,
    machine: BudgetedMachine,
    X: Any,
    index: Array,
    G: Array,
    sides: Array,
    weights: Array,
    repeats: VisitLimit,
) -> BudgetedMachine:
    """The machine after a block of rows."""
    old, rows = machine.beta.size, X.shape[0]
    pool = np.empty((old + rows, old + rows))
    pool[:old, :old], pool[old:, old:] = machine.gram, G
    if old:
        pool[old:, :old] = state.kernel.block(X, machine.support).astype(np.float64) / state.reach2
        pool[:old, old:] = pool[old:, :old].T
    if not np.isfinite(pool).all():
        raise kernel_overflow()
    room = min(state.budget, old + int(np.ceil(weights).sum())) + 2
    active, beta, tally = np.zeros(room, np.int64), np.zeros(room), machine.tally.copy()
    active[:old], beta[:old] = np.arange(old), machine.beta
    inverse, c = np.zeros((0, 0)), np.zeros(room)
    if state.rule == "projectron++":
        inverse = np.zeros((room, room))
        inverse[:old, :old] = machine.inverse
    most = rows_per_call(room if state.rule == "forgetron" else room * room)
    block = BudgetBlock(pool, old, sides, weights, state.budget, active, beta, tally)
    tally[Count.POSITION] = 0.0
    repeats.begin(rows)
    while tally[Count.POSITION] < rows:
        tally[Count.VISITS] = visits = repeats.few(most)
        if state.rule == "forgetron":
            forgetron(block)
        else:
            projectron(block, state.eta, inverse, c)
        repeats.spend(visits - int(tally[Count.VISITS]))
    size = int(tally[Count.SUPPORT])
    places = active[:size]
    if not size:
        return replace(machine, tally=tally)
    if sp.issparse(X):
        both = sp.vstack([sp.csr_matrix(machine.support), X], format="csr") if old else X
    else:
        given = machine.support.toarray() if sp.issparse(machine.support) else machine.support
        both = np.concatenate([given, X])
    numbers = np.concatenate([machine.rows, index.astype(np.int64)])[places]
    gram = pool[np.ix_(places, places)]
    return BudgetedMachine(both[places], beta[:size].copy(), gram, inverse[:size, :size].copy(), tally, numbers)
