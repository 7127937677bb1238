"""The search for a proof: complete, quasi-complete or overlap.

Floats work on a few rows at a time: the simplex finds, for a working set, the plane that leaves the most room, or the
rows that allow none; one pass over all rows then finds those that the plane has on the wrong side, and they join.
What the floats suggest is proven, in floats with a bound on their error or else in whole numbers. Where they go wrong
the simplex goes on in whole numbers, so that a verdict is never a matter of rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import Signed, row_space, two_to
from rosenblatt.prove.exact.certificates import (
    Separability,
    SeparabilityByClass,
    check_flag,
    column_names,
    geometric_margin,
    infinite_of,
    label,
    signed,
)
from rosenblatt.prove.exact.labelled_rows import Table, read_table
from rosenblatt.prove.exact.records import Later
from rosenblatt.prove.max_margin.hulls import plane_of
from rosenblatt.prove.separation.many_columns import Peeled, crowned, descended, peel, pure_direction, twins
from rosenblatt.prove.separation.projected_rows import Quotient, proven, whole_problem
from rosenblatt.prove.separation.quasi_complete import Stage, maximiser, moving, spanning, weights_of
from rosenblatt.prove.separation.simplex import Floats, Wholes

Array = np.ndarray[Any, Any]
ALL_AT_ONCE = 1500  # so many rows are a working set of their own
FIRST, MORE = 400, 250  # rows in the first working set, and most that join in a round
ROUNDS = 80
WIDE = 1500  # rows of more columns are not for the simplex, if it can be helped
VERY_LARGE = 10_000_000  # values, zeros counted: sparse rows of more are not for the corral either


@dataclass(frozen=True)
class Plane:
    """w with z·w > 0 on every active row: doubles, or fractions."""

    w: Any


# -- floats on a working set -----------------------------------------------------------------------------------------


class WorkingSet:
    """The simplex of: maximise t, z_i·w ≥ t, |w_j| ≤ 1, t ≤ 1, on rows that join as they are needed."""

    def __init__(self, q: Quotient) -> None:
        self.q = q
        self.rows = np.zeros(0, dtype=np.int64)
        self.finite = True
        self.simplex = Floats(np.append(np.zeros(q.width), 1.0), np.ones(q.width + 1))

    def join(self, rows: Array) -> bool:
        """Add rows; whether any is new."""
        rows = np.setdiff1d(rows, self.rows)
        block = self.q.block(rows)
        self.finite &= bool(np.isfinite(block).all())
        self.simplex.extend(np.concatenate([block, np.ones((rows.size, 1))], axis=1))
        self.rows = np.concatenate([self.rows, rows])
        return rows.size > 0

    def solve(self) -> tuple[str, Array]:
        """("plane", c), ("flat", rows) with a zero sum, or ("stuck", rows in the basis)."""
        if not self.finite:
            return "stuck", self.rows[:1]
        done = self.simplex.run(60 * (self.q.width + 10))
        support = self.simplex.support()
        if done and self.simplex.missing() <= 1e-9:
            x = (self.simplex.inverse @ self.simplex.b)[self.simplex.basis >= 0]
            return "flat", self.rows[support[x > 1e-11]]
        if done:
            return "plane", -self.simplex.pi[:-1]
        return "stuck", self.rows[support]


def search(q: Quotient) -> Plane | Stage:
    """A plane that has every active row strictly on its side, or rows that allow none; proven."""
    index = q.index
    work = WorkingSet(q)
    work.join(_first(q, index))
    for _ in range(ROUNDS):
        found, what = work.solve()
        if found == "flat":
            zero = proven(q, what)
            if zero is not None:
                return Stage(q, what, zero)
        if found != "plane":
            return in_wholes(q, what)
        w = q.lift(what)
        wrong = _wrong(q, w, index)
        if not wrong.size:
            return Plane(w)
        if not work.join(wrong):
            return in_wholes(q, work.rows[work.simplex.support()])
    return in_wholes(q, work.rows[work.simplex.support()])


def _first(q: Quotient, index: Array) -> Array:
    """The rows to begin with: all of a few, else a sample and those that a plane fitted to it has most wrong."""
    if index.size <= ALL_AT_ONCE:
        return index
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(index, size=min(index.size, 20 * q.width + 500), replace=False))
    block = q.block(sample)
    if not np.isfinite(block).all():
        return sample
    gram = block.T @ block
    c = np.linalg.lstsq(gram + 1e-9 * np.trace(gram) * np.eye(q.width), block.sum(axis=0), rcond=None)[0]
    wrong = _most_wrong(q, q.lift(c), index, FIRST)
    return np.union1d(wrong, sample[: max(FIRST, 4 * q.width)])


def _most_wrong(q: Quotient, w: Any, index: Array, most: int) -> Array:
    f = q.z.products(w)[0][index]
    return np.asarray(index[np.argpartition(f, min(most, f.size - 1))[:most]])


def _wrong(q: Quotient, w: Any, index: Array) -> Array:
    """Rows that w does not have strictly on its side, the worst of them; none only if there is none."""
    f, error = q.z.products(w)
    f = f[index]
    far = np.flatnonzero(f < -error) if math.isfinite(error) else np.zeros(0, dtype=int)
    if not far.size:
        far = np.flatnonzero(q.signs(w) <= 0)
    if far.size > MORE:
        far = far[np.argpartition(f[far], MORE)[:MORE]]
    return np.asarray(index[far])


# -- whole numbers ---------------------------------------------------------------------------------------------------


def in_wholes(q: Quotient, rows: Array) -> Plane | Stage:
    """The same question, answered by the exact simplex; it begins with these rows."""
    simplex = Wholes([0] * q.width + [1], [1] * (q.width + 1))
    inside = rows
    simplex.extend(q.wholes(rows, last=True))
    while True:
        simplex.run()
        if simplex.missing == 0:
            values = simplex.values()
            return Stage(q, inside[sorted(values)], None)
        w = _doubles(q, [Fraction(-int(value), int(simplex.det)) for value in simplex.duals()[:-1]])
        wrong = np.setdiff1d(_wrong(q, w, q.index), inside)
        if not wrong.size:
            return Plane(w)
        wrong = wrong[:: max(1, wrong.size // 20)]
        simplex.extend(q.wholes(wrong, last=True))
        inside = np.concatenate([inside, wrong])


def _doubles(q: Quotient, c: list[Fraction]) -> Any:
    """The plane in doubles if it still has every row on its side, else as it is; its largest entry near 1 or 2⁹⁰⁰."""
    exact = q.lift(c)
    most = max(abs(value) for value in exact)
    over = two_to(most.numerator.bit_length() - most.denominator.bit_length())
    exact = [value / over for value in exact]
    for long in (Fraction(1), two_to(900)):
        near = np.array([float(value * long) for value in exact])
        if q.plain and (q.signs(near) > 0).all():
            return near
    return exact


# -- the verdict -----------------------------------------------------------------------------------------------------


def separability(X: Any, y: Any, *, fit_intercept: bool = True) -> Separability | SeparabilityByClass:
    """Decide whether a plane separates the classes, with a proof that anyone can check.

    With z_i = y_i (x_i, 1): complete separation, some w has z_i·w > 0 on every row; quasi-complete separation, at best
    z_i·w ≥ 0 with > 0 on some; overlap, no w ≠ 0 has even that (but for columns that are combinations of others). The
    maximum likelihood estimate of a logistic regression exists only under overlap (Albert and Anderson 1984).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Finite numbers that doubles hold exactly. The verdict is about these very numbers.
    y : array-like of shape (n,)
        Labels. Of two classes the larger label is positive; of more, each is held against the rest.
    fit_intercept : bool, default=True
        Whether planes may miss the origin.

    Returns
    -------
    Separability, or SeparabilityByClass for more than two classes
        What takes long is found when first asked for: the exact `weights`, and for a complete separation `direction`
        and `infinite`, for which the record keeps X.

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
    quasi-complete: a plane separates 1 from the rest only weakly, with rows of both on it
      rows 1, 2 prove it: a mean of those of one class is a mean of those of the other
      infinite in a logistic regression: 0 +∞, intercept −∞
    >>> quasi.verify([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    """
    check_flag("fit_intercept", fit_intercept)
    table = read_table(X, y)
    if table.classes.size <= 2:
        return decide(table, table.classes[-1], bool(fit_intercept))
    return SeparabilityByClass(tuple(decide(table, name, bool(fit_intercept)) for name in table.classes))


def decide(table: Table, positive: Any, fit_intercept: bool) -> Separability:
    """One class against all others."""
    z = signed(table, positive, fit_intercept)
    if fit_intercept and (z.sides == z.sides[0]).all():
        w = np.append(np.zeros(table.shape[1]), float(z.sides[0]))
        if z.width > WIDE:
            return _found_wide(z, positive, w)
        return _complete(z, positive, Plane(w), whole_problem(z, row_space(z).columns))
    if z.width > WIDE:
        if not z.dense:
            return _wide(z, positive)
        plane = plane_of(z, 0.5)[0]
        if plane is not None:
            return _found_wide(z, positive, plane)
    space = row_space(z)
    if not space.columns:  # nothing but zeros: any row is a witness
        return _record(z, positive, (), "overlap", rank=0, rows=(0,), weights=(Fraction(1),), spanning_rows=(0,),
                       spanning_weights=(Fraction(1),))  # fmt: skip
    q = whole_problem(z, space.columns)
    found = search(q)
    if isinstance(found, Plane):
        return _complete(z, positive, found, q)
    stages = [found]
    while isinstance(found, Stage):
        rest = found.rest()
        if not rest.width:
            return _overlap(z, positive, stages, space.columns)
        found = search(rest)
        if isinstance(found, Stage):
            stages.append(found)
    direction = moving(rest, found.w, maximiser(rest))
    return _record(z, positive, space.columns, "quasi-complete", **_witness(z, stages[0]), **_spanning(z, stages),
                   direction=direction, infinite=infinite_of(direction, z.table.names, z.intercept))  # fmt: skip


def _record(z: Signed, positive: Any, columns: tuple[int, ...], verdict: str, **claims: Any) -> Separability:
    table = z.table
    names = column_names(table.names, table.shape[1], z.intercept)
    aliased = tuple(name for j, name in enumerate(names) if j not in set(columns))
    nothing = dict.fromkeys(
        ("coef", "intercept", "plane", "margin", "rows", "weights", "spanning_rows", "spanning_weights", "rank",
         "direction"))  # fmt: skip
    return Separability(
        verdict=verdict,
        positive=label(positive),
        classes=tuple(label(name) for name in table.classes),
        fit_intercept=z.intercept,
        shape=table.shape,
        names=table.names,
        **{**nothing, "infinite": {}, "aliased": aliased, **claims},
    )


def _complete(z: Signed, positive: Any, found: Plane, q: Quotient) -> Separability:
    exact = None if isinstance(found.w, np.ndarray) else tuple(found.w)
    w = np.array([float(value) for value in found.w])
    w[w == 0] = 0.0  # no −0
    coef, intercept = (w[:-1], float(w[-1])) if z.intercept else (w, 0.0)
    once: list[tuple[Fraction, ...]] = []

    def direction() -> tuple[Fraction, ...]:
        if not once:
            once.append(moving(q, found.w, maximiser(q)))
        return once[0]

    return _record(z, positive, q.units, "complete", coef=coef, intercept=intercept, plane=exact,
                   margin=geometric_margin(z, w if exact is None else exact), direction=Later(direction),
                   infinite=Later(lambda: infinite_of(direction(), z.table.names, z.intercept)))  # fmt: skip


def _witness(z: Signed, stage: Stage) -> dict[str, Any]:
    rows = np.sort(stage.rows)
    block = z.block(rows)
    return {"rows": tuple(int(row) for row in rows), "weights": Later(lambda: weights_of(block))}


def _overlap(z: Signed, positive: Any, stages: list[Stage], columns: tuple[int, ...]) -> Separability:
    claims = {**_witness(z, stages[0]), **_spanning(z, stages)}
    return _record(z, positive, columns, "overlap", rank=len(columns), **claims)


def _spanning(z: Signed, stages: list[Stage]) -> dict[str, Any]:
    """The rows of all stages; a row of zeros spans nothing."""
    if len(stages) == 1:
        claims = _witness(z, stages[0])
        return {"spanning_rows": claims["rows"], "spanning_weights": claims["weights"]}
    spans = [stage for stage in stages if z.block(stage.rows).any()]
    rows = tuple(int(row) for stage in spans for row in stage.rows)
    return {"spanning_rows": rows, "spanning_weights": Later(lambda: spanning(z, spans)[1])}


# -- very many columns -----------------------------------------------------------------------------------------------


def _wide(z: Signed, positive: Any) -> Separability:
    """The path of `wide`; columns that are combinations of others are not looked for there."""
    plane = descended(z, np.arange(z.n))
    if plane is not None:
        return _found_wide(z, positive, plane)
    peeled = peel(z)
    direction = pure_direction(z, peeled)
    rows: tuple[int, ...] | None = twins(z)
    weights: Any = None if rows is None else (Fraction(1, 2), Fraction(1, 2))
    if rows is None:
        core = _core(z, peeled) if peeled.rows.size else np.zeros(z.width)
        if isinstance(core, Separability):
            rows, weights = tuple(int(peeled.rows[i]) for i in core.rows or ()), core.weights
        elif core is not None:
            w = crowned(z, peeled, core)
            if (z.signs(w) > 0).all():
                return _found_wide(z, positive, w)
        if rows is None and z.n * z.width <= VERY_LARGE:
            plane = plane_of(z, 0.5)[0]
            if plane is not None:
                return _found_wide(z, positive, plane)
    claims: dict[str, Any] = {} if rows is None else {"rows": rows, "weights": weights}
    if rows is not None and direction is not None:
        return _record(z, positive, (), "quasi-complete", **claims, direction=direction, infinite=None, aliased=None)
    return _record(z, positive, (), "undecided", **claims, infinite=None, aliased=None)


def _core(z: Signed, peeled: Peeled) -> Any:
    """A plane for the core, a `Separability` that refuses it one, or None where neither is found."""
    if peeled.columns.size > WIDE:  # worth another try only where much was peeled
        return descended(z, peeled.rows) if 2 * peeled.rows.size < z.n else None
    part = z.table.X[peeled.rows][:, peeled.columns] if peeled.columns.size else np.zeros((peeled.rows.size, 1))
    found = decide(read_table(part, z.sides[peeled.rows]), 1, z.intercept)
    if found.verdict != "complete":
        return found
    w = np.zeros(z.width)
    assert found.coef is not None
    w[peeled.columns] = found.coef[: peeled.columns.size]
    if z.intercept:
        w[-1] = found.intercept
    return w


def _found_wide(z: Signed, positive: Any, w: Array) -> Separability:
    """A plane of very many columns; it is its own direction."""
    exact = tuple(Fraction(float(value)) for value in w)
    coef, intercept = (w[:-1], float(w[-1])) if z.intercept else (w, 0.0)
    return _record(z, positive, (), "complete", coef=coef, intercept=intercept, margin=geometric_margin(z, w),
                   direction=exact, infinite=None, aliased=None)  # fmt: skip
