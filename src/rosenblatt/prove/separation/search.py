"""`separability`: decide between complete separation, quasi-complete separation and overlap, with proof.

Floating point works on a few rows at a time: for a working set, the simplex finds the plane with the most slack, or the
rows that rule every plane out. One pass over all rows then finds those that the plane has on the wrong side, which join
the working set. The result is proven, in floating point with an error bound or else in integers. If floating point
fails, the exact simplex takes over, so that a verdict never depends on rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import SignedRows, power_of_two, row_space
from rosenblatt.prove.exact.claims import geometric_margin, plain_label, signed_rows
from rosenblatt.prove.exact.labelled_rows import LabelledRows, check_flag, read_labelled_rows
from rosenblatt.prove.exact.records import LazyField
from rosenblatt.prove.exact.separability_certificate import (
    Separability,
    SeparabilityByClass,
    coefficient_names,
    infinite_coefficients,
)
from rosenblatt.prove.max_margin.hulls import find_widest_plane
from rosenblatt.prove.separation.many_columns import (
    PureColumnLayers,
    add_layer_weights,
    contradicting_rows,
    dual_descent_plane,
    peel_pure_columns,
    pure_direction,
)
from rosenblatt.prove.separation.projected_rows import ProjectedRows, prove_witness, rows_on_columns
from rosenblatt.prove.separation.quasi_complete import (
    ReductionStep,
    full_support_direction,
    maximal_direction,
    spanning_combination,
    witness_weights,
)
from rosenblatt.prove.separation.simplex import ExactSimplex, FloatSimplex

Array = np.ndarray[Any, Any]
SMALL_WORKING_SET = 1500  # up to this many rows, the working set is all rows
FIRST_WORKING_SET, ROWS_PER_ROUND = 400, 250  # rows in the first working set, and the most that join in a round
MAX_ROUNDS = 80
MAX_EXACT_WORK = 1e11  # bit operations of the exact simplex: a quarter of an hour
MANY_COLUMNS = 1500  # with more columns than this, other methods are tried before the simplex
MAX_HULL_VALUES = (
    10_000_000  # sparse rows with more values than this, including zeros, are not searched for the widest plane
)


@dataclass(frozen=True)
class SeparatingPlane:
    """w with z·w > 0 on every active row, as doubles or fractions."""

    w: Any


# -- floating point on a working set ---------------------------------------------------------------------------------


class WorkingSet:
    """The simplex for: maximise t subject to z_i·w ≥ t, |w_j| ≤ 1, t ≤ 1, on rows that join as needed."""

    def __init__(self, q: ProjectedRows) -> None:
        self.q = q
        self.rows = np.zeros(0, dtype=np.int64)
        self.finite = True
        self.simplex = FloatSimplex(np.append(np.zeros(q.width), 1.0), np.ones(q.width + 1))

    def add_rows(self, rows: Array) -> bool:
        """Add rows; returns whether any of them is new."""
        rows = np.setdiff1d(rows, self.rows)
        block = self.q.block(rows)
        self.finite &= bool(np.isfinite(block).all())
        self.simplex.extend(np.concatenate([block, np.ones((rows.size, 1))], axis=1))
        self.rows = np.concatenate([self.rows, rows])
        return rows.size > 0

    def solve(self) -> tuple[str, Array]:
        """("plane", c), ("flat", rows of a witness), or ("stuck", rows in the basis)."""
        if not self.finite:
            return "stuck", self.rows[:1]
        done = self.simplex.run(60 * (self.q.width + 10))
        support = self.simplex.support()
        if done and self.simplex.infeasibility() <= 1e-9:
            x = (self.simplex.inverse @ self.simplex.b)[self.simplex.basis >= 0]
            return "flat", self.rows[support[x > 1e-11]]
        if done:
            return "plane", -self.simplex.pi[:-1]
        return "stuck", self.rows[support]


def find_plane_or_witness(q: ProjectedRows) -> SeparatingPlane | ReductionStep | None:
    """A plane that has every active row strictly on its side, or a witness that none does; either is proven.

    None if both are too expensive to find.
    """
    index = q.index
    work = WorkingSet(q)
    work.add_rows(_first_working_set(q, index))
    for _ in range(MAX_ROUNDS):
        found, what = work.solve()
        if found == "flat":
            zero = prove_witness(q, what)
            if zero is not None:
                return ReductionStep(q, what, zero)
        if found != "plane":
            return solve_exactly(q, what)
        w = q.lift(what)
        wrong = _worst_violations(q, w, index)
        if not wrong.size:
            return SeparatingPlane(w)
        if not work.add_rows(wrong):
            return solve_exactly(q, work.rows[work.simplex.support()])
    return solve_exactly(q, work.rows[work.simplex.support()])


def _first_working_set(q: ProjectedRows, index: Array) -> Array:
    """All rows if they are few, else a sample and the rows that a plane fitted to it misclassifies most."""
    if index.size <= SMALL_WORKING_SET:
        return index
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(index, size=min(index.size, 20 * q.width + 500), replace=False))
    block = q.block(sample)
    if not np.isfinite(block).all():
        return sample
    gram = block.T @ block
    c = np.linalg.lstsq(gram + 1e-9 * np.trace(gram) * np.eye(q.width), block.sum(axis=0), rcond=None)[0]
    wrong = _lowest_rows(q, q.lift(c), index, FIRST_WORKING_SET)
    return np.union1d(wrong, sample[: max(FIRST_WORKING_SET, 4 * q.width)])


def _lowest_rows(q: ProjectedRows, w: Any, index: Array, most: int) -> Array:
    f = q.z.approximate_products(w)[0][index]
    return np.asarray(index[np.argpartition(f, min(most, f.size - 1))[:most]])


def _worst_violations(q: ProjectedRows, w: Any, index: Array) -> Array:
    """The worst of the rows that w does not have strictly on their side; empty only if there are none."""
    f, error = q.z.approximate_products(w)
    f = f[index]
    far = np.flatnonzero(f < -error) if math.isfinite(error) else np.zeros(0, dtype=int)
    if not far.size:
        far = np.flatnonzero(q.signs(w) <= 0)
    if far.size > ROWS_PER_ROUND:
        far = far[np.argpartition(f[far], ROWS_PER_ROUND)[:ROWS_PER_ROUND]]
    return np.asarray(index[far])


# -- exact arithmetic ------------------------------------------------------------------------------------------------


def solve_exactly(q: ProjectedRows, rows: Array) -> SeparatingPlane | ReductionStep | None:
    """The same question, answered by the exact simplex, starting from these rows; None if it is too expensive."""
    simplex = ExactSimplex([0] * q.width + [1], [1] * (q.width + 1))
    inside = rows
    simplex.extend(q.integer_rows(rows, last=True))
    while simplex.run(MAX_EXACT_WORK):
        if simplex.infeasibility == 0:
            values = simplex.values()
            return ReductionStep(q, inside[sorted(values)], None)
        w = _in_doubles_if_separating(q, [Fraction(-int(value), int(simplex.det)) for value in simplex.duals()[:-1]])
        wrong = np.setdiff1d(_worst_violations(q, w, q.index), inside)
        if not wrong.size:
            return SeparatingPlane(w)
        wrong = wrong[:: max(1, wrong.size // 20)]
        simplex.extend(q.integer_rows(wrong, last=True))
        inside = np.concatenate([inside, wrong])
    return None


def _in_doubles_if_separating(q: ProjectedRows, c: list[Fraction]) -> Any:
    """The plane rounded to doubles if it still separates, else exact; scaled to a largest entry near 1 or 2⁹⁰⁰."""
    exact = q.lift(c)
    most = max(abs(value) for value in exact)
    over = power_of_two(most.numerator.bit_length() - most.denominator.bit_length())
    exact = [value / over for value in exact]
    for long in (Fraction(1), power_of_two(900)):
        near = np.array([float(value * long) for value in exact])
        if q.axis_aligned and (q.signs(near) > 0).all():
            return near
    return exact


# -- the verdict -----------------------------------------------------------------------------------------------------


def separability(X: Any, y: Any, *, fit_intercept: bool = True) -> Separability | SeparabilityByClass:
    """Decide whether a plane separates the classes, with a proof that anyone can check.

    With z_i = y_i (x_i, 1), there is complete separation if some w has z_i·w > 0 on every row; quasi-complete
    separation if at best z_i·w ≥ 0 on every row, with > 0 on some; and overlap otherwise. The maximum likelihood
    estimate of a logistic regression exists only under overlap (Albert and Anderson 1984).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Finite numbers that doubles represent exactly. The verdict is about exactly these numbers.
    y : array-like of shape (n,)
        Labels. With two classes the larger label is positive; with more, each class is decided against the rest.
    fit_intercept : bool, default=True
        Whether planes have an intercept; otherwise they pass through the origin.

    Returns
    -------
    Separability, or SeparabilityByClass for more than two classes
        Expensive fields are computed on first access: the exact `weights`, and for complete separation `direction`
        and `infinite`. The record keeps a reference to X for them.

    References
    ----------
    A. Albert, J. Anderson, Biometrika 71, 1984. P. Gordan, Math. Annalen 6, 1873. E. Stiemke, Math. Annalen 76, 1915.

    Examples
    --------
    >>> from rosenblatt import separability
    >>> verdict = separability([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> verdict.verdict, verdict.separable, verdict.margin
    ('complete', True, 1.0)
    >>> quasi = separability([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> print(quasi)
    quasi-complete: a plane separates 1 from the rest only weakly, with rows of both on the plane
      rows 1, 2 prove it: a weighted mean of one class equals a weighted mean of the other
      infinite in a logistic regression: 0 +∞, intercept −∞
    >>> quasi.verify([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    """
    check_flag("fit_intercept", fit_intercept)
    table = read_labelled_rows(X, y)
    if table.classes.size <= 2:
        return decide_separability(table, table.classes[-1], bool(fit_intercept))
    return SeparabilityByClass(tuple(decide_separability(table, name, bool(fit_intercept)) for name in table.classes))


def decide_separability(table: LabelledRows, positive: Any, fit_intercept: bool) -> Separability:
    """Decide whether a plane separates one class from the rest."""
    z = signed_rows(table, positive, fit_intercept)
    if fit_intercept and (z.sides == z.sides[0]).all():
        w = np.append(np.zeros(table.shape[1]), float(z.sides[0]))
        if z.width > MANY_COLUMNS:
            return _many_columns_record(z, positive, w)
        return _complete_record(z, positive, SeparatingPlane(w), rows_on_columns(z, row_space(z).columns))
    if z.width > MANY_COLUMNS:
        if not z.dense:
            return _decide_many_columns(z, positive)
        plane = find_widest_plane(z, 0.5)[0]
        if plane is not None:
            return _many_columns_record(z, positive, plane)
    space = row_space(z)
    if not space.columns:  # all rows are 0: any row is a witness
        claims = {"rows": (0,), "weights": (Fraction(1),), "spanning_rows": (0,), "spanning_weights": (Fraction(1),)}
        return _make_record(z, positive, (), "overlap", rank=0, **claims)
    q = rows_on_columns(z, space.columns)
    found = find_plane_or_witness(q)
    if isinstance(found, SeparatingPlane):
        return _complete_record(z, positive, found, q)
    steps: list[ReductionStep] = []
    while isinstance(found, ReductionStep):  # each leaves fewer columns, or only rows that are not 0
        steps.append(found)
        rest = found.remaining()
        if not rest.width:
            return _overlap_record(z, positive, steps, space.columns)
        found = find_plane_or_witness(rest)
    if found is None:
        claims = _witness_claims(z, steps[0]) if steps else {}
        return _make_record(z, positive, space.columns, "undecided", **claims, infinite=None)
    direction = full_support_direction(rest, found.w, maximal_direction(rest))
    infinite = infinite_coefficients(direction, z.table.names, z.intercept)
    claims = {**_witness_claims(z, steps[0]), **_spanning_claims(z, steps)}
    return _make_record(z, positive, space.columns, "quasi-complete", **claims, direction=direction, infinite=infinite)


def _make_record(z: SignedRows, positive: Any, columns: tuple[int, ...], verdict: str, **claims: Any) -> Separability:
    table = z.table
    names = coefficient_names(table.names, table.shape[1], z.intercept)
    aliased = tuple(name for j, name in enumerate(names) if j not in set(columns))
    nothing = {field.name: None for field in fields(Separability)}
    witness = claims.get("rows")
    known: dict[str, Any] = {
        "sides": None if witness is None else tuple(z.sides[list(witness)].tolist()),
        "verdict": verdict,
        "positive": plain_label(positive),
        "classes": tuple(plain_label(name) for name in table.classes),
        "fit_intercept": z.intercept,
        "shape": table.shape,
        "names": table.names,
        "infinite": {},
        "aliased": aliased,
    }
    return Separability(**{**nothing, **known, **claims})


def _complete_record(z: SignedRows, positive: Any, found: SeparatingPlane, q: ProjectedRows) -> Separability:
    exact = None if isinstance(found.w, np.ndarray) else tuple(found.w)
    w = np.array([float(value) for value in found.w])
    w[w == 0] = 0.0  # turn −0 into 0
    once: list[tuple[Fraction, ...]] = []

    def direction() -> tuple[Fraction, ...]:
        if not once:
            once.append(full_support_direction(q, found.w, maximal_direction(q)))
        return once[0]

    claims = {
        **_plane_claims(z, w, w if exact is None else exact),
        "plane": exact,
        "direction": LazyField(direction),
        "infinite": LazyField(lambda: infinite_coefficients(direction(), z.table.names, z.intercept)),
    }
    return _make_record(z, positive, q.pivot_columns, "complete", **claims)


def _plane_claims(z: SignedRows, w: Array, exact: Any) -> dict[str, Any]:
    coef, intercept = (w[:-1], float(w[-1])) if z.intercept else (w, 0.0)
    return {"coef": coef, "intercept": intercept, "margin": geometric_margin(z, exact)}


def _witness_claims(z: SignedRows, step: ReductionStep) -> dict[str, Any]:
    rows = np.sort(step.rows)
    block = z.block(rows)
    return {"rows": tuple(int(row) for row in rows), "weights": LazyField(lambda: witness_weights(block))}


def _overlap_record(z: SignedRows, positive: Any, steps: list[ReductionStep], columns: tuple[int, ...]) -> Separability:
    claims = {**_witness_claims(z, steps[0]), **_spanning_claims(z, steps)}
    return _make_record(z, positive, columns, "overlap", rank=len(columns), **claims)


def _spanning_claims(z: SignedRows, steps: list[ReductionStep]) -> dict[str, Any]:
    """The rows of all steps, without rows of zeros, which span nothing."""
    if len(steps) == 1:
        claims = _witness_claims(z, steps[0])
        return {"spanning_rows": claims["rows"], "spanning_weights": claims["weights"]}
    spans = [step for step in steps if z.block(step.rows).any()]
    rows = tuple(int(row) for step in spans for row in step.rows)
    return {"spanning_rows": rows, "spanning_weights": LazyField(lambda: spanning_combination(z, spans)[1])}


# -- very many columns -----------------------------------------------------------------------------------------------


def _decide_many_columns(z: SignedRows, positive: Any) -> Separability:
    """Try the methods of `many_columns` in turn; aliased columns are not looked for."""
    plane = dual_descent_plane(z, np.arange(z.n))
    if plane is not None:
        return _many_columns_record(z, positive, plane)
    peeled = peel_pure_columns(z)
    direction = pure_direction(z, peeled)
    rows: tuple[int, ...] | None = contradicting_rows(z)
    weights: Any = None if rows is None else (Fraction(1, 2), Fraction(1, 2))
    if rows is None:
        core = _decide_core(z, peeled) if peeled.rows.size else np.zeros(z.width)
        if isinstance(core, Separability):
            if core.rows is not None:
                rows, weights = tuple(int(peeled.rows[i]) for i in core.rows), core.weights
        elif core is not None:
            w = add_layer_weights(z, peeled, core)
            if (z.signs(w) > 0).all():
                return _many_columns_record(z, positive, w)
        if rows is None and z.n * z.width <= MAX_HULL_VALUES:
            plane = find_widest_plane(z, 0.5)[0]
            if plane is not None:
                return _many_columns_record(z, positive, plane)
    claims: dict[str, Any] = {} if rows is None else {"rows": rows, "weights": weights}
    if rows is not None and direction is not None:
        return _make_record(
            z, positive, (), "quasi-complete", **claims, direction=direction, infinite=None, aliased=None
        )
    return _make_record(z, positive, (), "undecided", **claims, infinite=None, aliased=None)


def _decide_core(z: SignedRows, peeled: PureColumnLayers) -> Any:
    """A plane for the core, a `Separability` without one, or None if it is too expensive."""
    if peeled.columns.size > MANY_COLUMNS:  # another try is only worthwhile if much was peeled
        return dual_descent_plane(z, peeled.rows) if 2 * peeled.rows.size < z.n else None
    part = z.table.X[peeled.rows][:, peeled.columns] if peeled.columns.size else np.zeros((peeled.rows.size, 1))
    found = decide_separability(read_labelled_rows(part, z.sides[peeled.rows]), 1, z.intercept)
    if found.verdict != "complete":
        return found
    w = np.zeros(z.width)
    assert found.coef is not None
    w[peeled.columns] = found.coef[: peeled.columns.size]
    if z.intercept:
        w[-1] = found.intercept
    return w


def _many_columns_record(z: SignedRows, positive: Any, w: Array) -> Separability:
    """The record of a plane with very many columns, which serves as its own direction."""
    exact = tuple(Fraction(float(value)) for value in w)
    claims = {**_plane_claims(z, w, w), "direction": exact, "infinite": None, "aliased": None}
    return _make_record(z, positive, (), "complete", **claims)
