"""Complete, quasi-complete or overlap: against the slow twin, known cases, bad scales and very many columns."""

import itertools
import math
import os
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

import exact
from rosenblatt import CertificateError, separability
from verdicts import APART, QUASI, XOR, checked, refused, rows_and_labels

# -- the slow twin ---------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(rows_and_labels(), st.booleans())
def test_equals_the_slow_twin(data, fit_intercept):
    X, y = data
    verdict = checked(X, y, fit_intercept=fit_intercept)
    assert verdict.verdict == exact.verdict(X, y, fit_intercept)
    assert verdict.separable is (verdict.verdict == "complete")
    if verdict.rows is not None:
        assert len(verdict.rows) <= len(X[0]) + 2
    assert (verdict.verdict == "overlap") == (not verdict.infinite)


@settings(max_examples=30, deadline=None)
@given(rows_and_labels(), st.booleans())
def test_sparse_is_dense(data, fit_intercept):
    X, y = data
    dense = separability(X, y, fit_intercept=fit_intercept)
    assert separability(sp.csr_matrix(np.array(X)), y, fit_intercept=fit_intercept) == dense


@settings(max_examples=30, deadline=None)
@given(rows_and_labels(), st.booleans())
def test_sparse_rows_too_many_to_be_read_as_an_array(data, fit_intercept):
    X, y = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.prove.exact.labelled_rows.DENSE_VALUES", 0)
        verdict = checked(sp.csr_matrix(np.array(X)), y, fit_intercept=fit_intercept)
    assert verdict.verdict == exact.verdict(X, y, fit_intercept)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_whole_numbers_alone_agree_with_floats(seed):
    from rosenblatt.prove.exact.arithmetic import row_space
    from rosenblatt.prove.exact.claims import signed_rows
    from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
    from rosenblatt.prove.separation.projected_rows import rows_on_columns
    from rosenblatt.prove.separation.search import SeparatingPlane, solve_exactly

    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(2, 12)), 3)).astype(float)
    y = np.arange(len(X)) % 2 if seed % 2 else (X[:, 0] + X[:, 1] > 0).astype(int)
    z = signed_rows(read_labelled_rows(X, y), y.max(), True)
    q = rows_on_columns(z, row_space(z).columns)
    if len(set(y.tolist())) == 2:
        found = solve_exactly(q, np.zeros(1, dtype=np.int64))
        assert isinstance(found, SeparatingPlane) == (exact.verdict(X.tolist(), y.tolist()) == "complete")


# -- known cases -----------------------------------------------------------------------------------------------------


def test_xor_needs_all_four_rows():
    verdict = checked(*XOR)
    assert verdict.verdict == "overlap"
    assert verdict.rows == (0, 1, 2, 3)
    assert verdict.weights == (Fraction(1, 4),) * 4


def test_zero_one_loss_case_of_the_lectures():
    X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    through = checked(X, y, fit_intercept=False)
    assert (through.rows, through.weights) == ((0, 2), (Fraction(1, 2),) * 2)
    assert through.separable is False
    assert checked(X, y).verdict == "complete"


def test_a_short_witness_does_not_prove_overlap():
    assert checked([[0], [0], [1]], [1, 0, 1]).verdict == "quasi-complete"
    assert checked([[0], [0], [1], [1]], [1, 0, 1, 0]).verdict == "overlap"


def test_overlap_in_stages():
    X = np.zeros((6, 3))
    X[0, 0], X[1, 0], X[2, 1], X[3, 1], X[4, 2], X[5, 2] = 1, 1, 1, 1, 5, 5
    X[2:4, 0] = 3  # the second pair cancels only together with the first
    X[4:6, 1] = 0.5
    verdict = checked(X, [0, 1, 0, 1, 0, 1], fit_intercept=False)
    assert verdict.verdict == "overlap"
    assert len(verdict.spanning_rows) <= 2 * verdict.rank


@pytest.mark.parametrize("sides", [[1, 1, 1], [0, 0, 0]])
def test_one_class(sides):
    verdict = checked([[1.0], [2.0], [-3.0]], sides)
    assert (verdict.verdict, verdict.margin) == ("complete", math.inf)
    assert not verdict.coef.any()
    assert checked([[1.0], [-1.0]], [1, 1], fit_intercept=False).verdict == "overlap"


def test_iris():
    X, y = load_iris(return_X_y=True)
    assert {k: v.verdict for k, v in checked(X, y).items()} == {0: "complete", 1: "overlap", 2: "overlap"}
    assert checked(X[50:], y[50:]).verdict == "overlap"


def test_wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    verdict = checked((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert verdict.verdict == "complete"
    assert 0 < verdict.margin <= 0.0013998469


def test_digits():
    X, y = load_digits(return_X_y=True)
    strict = {8: 108, 9: 24}
    for k in (0, 1, 8, 9):
        verdict = checked(X, y == k)
        assert verdict.verdict == ("quasi-complete" if k in strict else "complete")
        assert verdict.aliased == (0, 32, 39)
        if k in strict:
            z = np.where(y == k, 1, -1)[:, None] * np.column_stack([X, np.ones(len(X))])
            gains = z @ np.array([float(value) for value in verdict.direction])
            assert np.count_nonzero(gains > 1e-9) <= strict[k]


def folder(name):
    found = Path(os.environ.get("ROSENBLATT_DATA", "/nonexistent")) / name
    if not found.is_dir():
        pytest.skip(f"ROSENBLATT_DATA names no folder with {name}")
    return found


def test_endometrial_and_lizards():
    import pandas as pd

    table = pd.read_csv(folder("separation") / "endometrial.csv")
    verdict = checked(table[["NV", "PI", "EH"]], table["HG"])
    assert (verdict.verdict, verdict.infinite) == ("quasi-complete", {"NV": 1})
    lizards = pd.read_csv(folder("separation") / "lizards.csv")
    design = pd.get_dummies(lizards[["height", "diameter", "light", "time"]], drop_first=True).astype(float)
    both = pd.concat([design[lizards["grahami"] > 0], design[lizards["opalinus"] > 0]])
    y = [1] * int((lizards["grahami"] > 0).sum()) + [0] * int((lizards["opalinus"] > 0).sum())
    assert checked(both, y).verdict == "overlap"


def test_many_rows_use_a_working_set():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    f = X @ rng.standard_normal(6)
    assert checked(X, f > 0).verdict == "complete"
    assert checked(X, (f > 0) ^ (rng.random(4000) < 0.01)).verdict == "overlap"
    y = (f > 0) ^ (rng.random(4000) < 0.01)
    X[:, 5] = y & (rng.random(4000) < 0.1)
    verdict = checked(X, y)
    assert (verdict.verdict, verdict.infinite) == ("quasi-complete", {5: 1})


def test_columns_that_are_combinations():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((60, 3))
    X = np.column_stack([A, A[:, 0], np.full(60, 7.0), A[:, 1] * 4])
    verdict = checked(X, rng.integers(0, 2, 60))
    assert (verdict.verdict, verdict.aliased, verdict.rank) == ("overlap", (3, 4, 5), 4)


def test_more_columns_than_rows():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 60)), rng.integers(0, 2, 30)
    verdict = checked(X, y)
    assert (verdict.verdict, len(verdict.aliased)) == ("complete", 31)
    twins = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    assert (checked(*twins).verdict, checked(*twins).rows) == ("quasi-complete", (0, 30))
    wide = rng.standard_normal((40, 1700)), rng.integers(0, 2, 40)
    assert checked(*wide).verdict == "complete"


# -- where floats cannot tell ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e-150, 1e150])
def test_bad_scales(scale):
    rng = np.random.default_rng(2)
    X = rng.integers(-4, 5, (12, 3)).astype(float)
    for y in (X @ [1, -2, 1] > 0.5, np.arange(12) % 2):
        scaled = X * [scale, 1.0, 1 / scale]
        assert checked(scaled, y).verdict == exact.verdict(X.tolist(), np.asarray(y, int).tolist())


def test_rows_of_every_scale():
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, (14, 3)).astype(float)
    y = (X @ [1, -2, 1] > 0).astype(int)
    grown = X * (10.0 ** rng.integers(-12, 13, 14))[:, None]
    z = exact.verdict(X.tolist(), y.tolist(), fit_intercept=False)
    assert checked(grown, y, fit_intercept=False).verdict == z


@contextmanager
def few_steps():
    """Refuse a search that takes far more steps than any of these small sets needs."""
    from rosenblatt.prove.exact.arithmetic import SignedRows
    from rosenblatt.prove.separation.simplex import ExactSimplex

    def counted(step):
        steps = itertools.count()

        def count(*given, **options):
            assert next(steps) < 3_000, "the search does not end"
            return step(*given, **options)

        return count

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SignedRows, "signs", counted(SignedRows.signs))
        patch.setattr(ExactSimplex, "run", counted(ExactSimplex.run))
        yield


@pytest.mark.parametrize("scale", [1e-170, 1e-180, 1e-200])
def test_rows_whose_squares_underflow(scale):
    for seed in range(12):
        X = np.random.default_rng(seed).integers(-3, 4, (5, 5)) * scale
        y = np.arange(5) % 3
        with few_steps():
            verdicts = checked(X, y, fit_intercept=False)
        for k, found in verdicts.items():
            assert found.verdict == exact.verdict(X.tolist(), (y == k).astype(int).tolist(), False), (seed, k)


@settings(max_examples=150, deadline=None)
@given(rows_and_labels(), st.booleans(), st.data())
def test_powers_of_two_change_no_verdict(data, fit_intercept, draws):
    # Multiplied by powers of two, columns and without an intercept rows stay as separable as they were.
    X, y = np.array(data[0]), data[1]
    X /= 2.0 ** np.frexp(np.abs(X).max(axis=0, initial=0.0))[1]
    columns = draws.draw(st.lists(st.integers(-900, 900), min_size=X.shape[1], max_size=X.shape[1]))
    rows = [0] * len(X)
    if not fit_intercept:
        columns = [columns[0]] * X.shape[1] if draws.draw(st.booleans()) else [int(c / 9) for c in columns]
        rows = draws.draw(st.lists(st.integers(-100, 100), min_size=len(X), max_size=len(X)))
    scaled = np.ldexp(np.ldexp(X, columns), np.array(rows)[:, None])
    with few_steps():
        verdict = checked(scaled, y, fit_intercept=fit_intercept)
    assert verdict.verdict == exact.verdict(X.tolist(), y, fit_intercept)


@settings(max_examples=100, deadline=None)
@given(rows_and_labels(), st.booleans(), st.integers(-300, 300))
def test_every_power_of_ten(data, fit_intercept, power):
    X, y = np.array(data[0]), data[1]
    X = X / np.abs(X).max(initial=1.0) * float(f"1e{power}")
    with few_steps():
        verdict = checked(X, y, fit_intercept=fit_intercept)
    assert verdict.verdict == exact.verdict(X.tolist(), y, fit_intercept)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(-300, 300), st.integers(-300, 300), st.booleans())
def test_signs_are_those_of_fractions_at_every_scale(seed, of_rows, of_plane, sparse):
    # Sums that cancel up to a rounding error, at scales where squares of rows or of w underflow or overflow.
    from rosenblatt.prove.exact.claims import signed_rows
    from rosenblatt.prove.exact.labelled_rows import read_labelled_rows

    rng = np.random.default_rng(seed)
    w = rng.integers(-9, 10, 3) * float(f"1e{of_plane}") / 10
    X = rng.integers(-9, 10, (8, 3)) / 10
    X[:, 2] = -(X[:, :2] @ w[:2]) / w[2] if w[2] else X[:, 2]
    X *= float(f"1e{of_rows}")
    y = [0, 1] * 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.prove.exact.labelled_rows.DENSE_VALUES", 0)
        z = signed_rows(read_labelled_rows(sp.csr_matrix(X) if sparse else X, y), 1, False)
    for plane in (w, [Fraction(value) for value in w]):
        values = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, w, strict=True)) for row in X]
        assert z.signs(plane).tolist() == [
            int(np.sign(value)) * (1 if label else -1) for value, label in zip(values, y, strict=True)
        ]


@pytest.mark.parametrize("scale", [2.0**-700, 2.0**-520, 1.0])
def test_a_plane_that_only_rounding_puts_on_the_right_side_is_refused(scale):
    rng, false = np.random.default_rng(0), 0
    w = np.ones(9)
    for _ in range(300):
        x = rng.standard_normal(9)
        x[8] = -x[:8].sum()
        x *= scale
        if float(x @ w) > 0 > sum(map(Fraction, x)):
            verdict = checked([x, -x], [1, 0], fit_intercept=False)
            refused(verdict, [x, -x], [1, 0], "coef", coef=w)
            false += 1
    assert false > 5


def test_a_plane_that_overflowed_separates_nothing():
    from rosenblatt.prove.exact.claims import signed_rows
    from rosenblatt.prove.exact.labelled_rows import read_labelled_rows

    z = signed_rows(read_labelled_rows([[-1.0], [1.0]], [0, 1]), 1, False)
    for value in (math.inf, -math.inf, math.nan):
        assert z.signs(np.array([value])).tolist() == [0, 0]
    X = np.zeros((4, 1600))
    X[:, :4] = [[1e-200, 0, 0, 0], [-1e-200, 1e-160, 0, 0], [0, -1e-160, 1e-320, 0], [0, 0, -1e-320, 5e-324]]
    checked(sp.csr_matrix(X), [0, 1, 0, 1], fit_intercept=False)


def test_a_search_that_takes_too_long_is_undecided(monkeypatch):
    from rosenblatt.prove.separation import search, simplex

    monkeypatch.setattr(simplex.FloatSimplex, "run", lambda self, most, tolerance=1e-9: False)
    monkeypatch.setattr(search, "MAX_EXACT_WORK", 0)
    for X, y in (APART, QUASI, XOR):
        verdict = checked(X, y)
        assert (verdict.verdict, verdict.separable, verdict.rows) == ("undecided", None, None)
    monkeypatch.setattr(search, "MAX_EXACT_WORK", 1e11)
    steps, decide = itertools.count(), search.find_plane_or_witness
    monkeypatch.setattr(search, "find_plane_or_witness", lambda q: None if next(steps) else decide(q))
    verdict = checked(*QUASI)
    assert (verdict.verdict, verdict.separable, verdict.rows) == ("undecided", False, (1, 2))


def test_a_direction_that_three_perturbations_leave_at_zero():
    # (x − 3)(x − 9)(x − 27) = x³ − 39x² + 351x − 729 is 0 wherever the perturbations began again.
    from rosenblatt.prove.exact.claims import signed_rows
    from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
    from rosenblatt.prove.separation.projected_rows import project_rows
    from rosenblatt.prove.separation.quasi_complete import full_support_direction

    z = signed_rows(read_labelled_rows([[1.0, 1.0, 0.0, 0.0, 0.0]], [1]), 1, False)
    vectors = [(*(Fraction(int(i == k)) for i in range(4)), Fraction(c)) for k, c in enumerate((-729, 351, -39, 1))]
    w = tuple(351 * a + 729 * b for a, b in zip(vectors[0], vectors[1], strict=True))
    assert w[4] == 0
    with few_steps():
        found = full_support_direction(project_rows(z, vectors, [0, 1, 2, 3], False), w, None)
    assert all(found)
    assert z.signs(found).tolist() == [1]


@pytest.mark.parametrize("gap", [1e-6, 1e-12, 2.0**-45, 2.0**-52])
def test_thin_margins(gap):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 3))
    y = (X[:, 0] > 0).astype(int)
    X[0], X[1] = [1.0, 1.0, 1.0], [1.0 + gap, 1.0, 1.0]
    y[:2] = 0, 1
    X[:, 0] += np.where(y == 1, 3.0, -3.0)
    X[0, 0], X[1, 0] = 1.0, 1.0 + gap
    assert checked(X, y).verdict == "complete"
    X[0, 0] = 1.0 + gap
    assert checked(X, y).verdict in ("quasi-complete", "overlap")
    assert checked(X, y).separable is False


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [5e-324]], [0, 1]),
        ([[5e-324], [1e-323], [1.5e-323]], [0, 0, 1]),
        ([[-1e308], [1e308]], [0, 1]),
        ([[-1.7e308], [1.7e308], [1.7e308]], [0, 0, 1]),
        ([[-1.7e308, 5e-324], [1.7e308, 0.0]], [0, 1]),
        ([[-1.7e308, -1.7e308], [1.7e308, 1.7e308], [0.0, 5e-324]], [0, 1, 1]),
        ([[1e-300, 1e300], [-1e-300, 1e300], [1.7e308, 5e-324]], [0, 1, 1]),
        ([[0.0], [-5e-324], [1.0], [-1.7e308], [-1e300]], [0, 1, 1, 0, 0]),
        ([[0.0, 1.7e308, 0.0], [0.0, 1.7e308, 5e-324], [5e-324, 1.0, 0.0], [0.0, 1.0, 1e-323]], [0, 0, 0, 1]),
    ],
)
def test_the_ends_of_the_doubles(X, y, fit_intercept):
    verdict = checked(X, y, fit_intercept=fit_intercept)
    assert verdict.verdict == exact.verdict(X, y, fit_intercept)
    assert (verdict.verdict == "overlap") == (not verdict.infinite)


def test_facial_reduction_beyond_doubles():
    X = [[1e-300, 1e300, 0.0], [1e-300, 1e300, 0.0], [5e-324, 1.7e308, 1.0], [5e-324, 1.0, 2.0], [0.0, 0.0, 1.0]]
    for y in ([0, 1, 1, 1, 1], [0, 1, 0, 1, 1], [0, 1, 0, 1, 0]):
        assert checked(X, y, fit_intercept=False).verdict == exact.verdict(X, y, False)


def test_neighbouring_doubles():
    for k in range(40):
        rng = np.random.default_rng(k)
        a = float(rng.uniform(1, 2))
        rows = [[1.0, a], [1.0, math.nextafter(a, 0)]]
        verdict = checked(rows, [1, 0], fit_intercept=False)
        assert verdict.verdict == "complete"


def test_a_plane_that_no_doubles_hold():
    # A cone so thin that it needs more than 53 bits: the plane is kept in fractions.
    e = 2.0**-52
    X = [[1.0, 1.0 + e, 0.0], [-1.0, -1.0, 0.0], [0.0, 1.0, 1.0 + e], [0.0, -1.0, -1.0]]
    X += [[1.0 + e, (1.0 + e) * (1 + e), 0.0]]
    verdict = checked(X, [1] * 5, fit_intercept=False)
    assert verdict.verdict == exact.verdict(X, [1] * 5, fit_intercept=False)


def test_a_prime_that_hides_a_row():
    from rosenblatt.prove.exact.arithmetic import PRIME

    X = [[float(PRIME * k)] for k in range(8)]
    assert checked(X, [0, 1] * 4).rank == 2


def test_roots_of_fractions():
    from rosenblatt.prove.exact.claims import root_above, root_below

    assert (root_below(Fraction(0)), root_below(Fraction(4)), root_above(Fraction(4))) == (0.0, 2.0, 2.0)
    assert root_below(Fraction(10) ** 700) == np.finfo(float).max
    assert root_below(Fraction(1, 10**700)) == 0.0
    for square in (Fraction(2), Fraction(1, 3), Fraction(10) ** 300, Fraction(7, 10**301)):
        low, high = root_below(square), root_above(square)
        assert high == math.nextafter(low, math.inf)
        assert Fraction(low) ** 2 < square < Fraction(high) ** 2


def test_floats_prove_no_false_witness():
    from rosenblatt.prove.exact.claims import signed_rows
    from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
    from rosenblatt.prove.separation.projected_rows import prove_witness, rows_on_columns

    X, y = [[0.0], [2.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1, 0]
    q = rows_on_columns(signed_rows(read_labelled_rows(X, y), 1, True), (0, 1))
    assert prove_witness(q, np.array([0, 1, 2])) == []
    assert prove_witness(q, np.array([1, 2, 4])) is None  # a weight is negative
    assert prove_witness(q, np.array([2, 3, 0])) is None  # singular
    assert prove_witness(q, np.array([0, 1])) is None  # not square


def test_the_simplex_gives_up_where_it_must():
    from rosenblatt.prove.separation.simplex import FloatSimplex

    empty = FloatSimplex(np.array([1.0, -1.0]), np.ones(2))
    assert empty.run(5)
    assert empty.infeasibility() == pytest.approx(2.0)
    singular = FloatSimplex(np.ones(2), np.ones(2))
    singular.extend(np.ones((2, 2)))
    singular.basis[:] = 0, 1
    assert not singular.refactorise()
    short = FloatSimplex(np.ones(2), np.ones(2))
    short.extend(np.eye(2))
    assert not short.run(1)
    assert not short._pivot(0, 0.0) or short.pivots > 0


def test_a_maximiser_that_is_too_dear(monkeypatch):
    monkeypatch.setattr("rosenblatt.prove.separation.quasi_complete.MAX_WORK", 0)
    for X, y in (QUASI, APART, ([[0, 0, 0], [0, 0, 0], [1, 0, 2], [0, 1, 1], [1, 1, 0]], [0, 1, 1, 1, 1])):
        assert checked(X, y).infinite


@pytest.mark.parametrize("fail", ["run", "missing"])
def test_whole_numbers_decide_where_floats_fail(monkeypatch, fail):
    from rosenblatt.prove.separation.simplex import FloatSimplex

    if fail == "run":
        monkeypatch.setattr(FloatSimplex, "run", lambda self, most, tolerance=0: False)
    else:
        monkeypatch.setattr("rosenblatt.prove.separation.search.prove_witness", lambda q, rows: None)
    for X, y in (XOR, QUASI, APART):
        assert checked(X, y).verdict == exact.verdict(X, y)


# -- names and input -------------------------------------------------------------------------------------------------


def test_column_names():
    import pandas as pd

    X = pd.DataFrame({"age": [0.0, 1.0, 1.0, 2.0], "intercept": [1.0, 1.0, 1.0, 1.0]})
    verdict = checked(X, [0, 0, 1, 1])
    assert verdict.infinite == {"age": 1, "(intercept)": -1}
    assert verdict.aliased == ("intercept",)
    assert "age +∞" in str(verdict)
    with pytest.raises(CertificateError, match="names"):
        verdict.verify(X.rename(columns={"age": "time"}), [0, 0, 1, 1])
    X.columns = [0, 1]
    verdict.verify(X, [0, 0, 1, 1])


def test_names_that_two_columns_share_are_not_used():
    import pandas as pd

    X = pd.DataFrame([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [5.0, 1.0]], columns=["a", "a"])
    for y in ([0, 0, 1, 1], [0, 1, 0, 1]):
        verdict = checked(X, y)
        assert verdict.names is None
        assert verdict.infinite == separability(X.to_numpy(), y).infinite
    X.columns = ["a", "b"]
    named = separability(X, [0, 0, 1, 1])
    refused(named, X, [0, 0, 1, 1], "names", names=("a", "a"))
    refused(named, X.to_numpy(), [0, 0, 1, 1], "names", names=("a",))


def test_the_intercept_has_a_name_of_its_own():
    import pandas as pd

    rows = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [2.0, 1.0]]
    verdict = checked(pd.DataFrame(rows, columns=["intercept", "(intercept)"]), [0, 0, 1, 1])
    plain = dict(zip((0, 1, "intercept"), verdict.infinite.values(), strict=True))
    assert list(verdict.infinite) == ["intercept", "(intercept)", "((intercept))"]
    assert plain == separability(rows, [0, 0, 1, 1]).infinite


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[math.nan]], [0], "NaN at row 0, column 0"),
        ([[1.0], [math.inf]], [0, 1], "infinity at row 1, column 0"),
        ([[1.0]], [0, 1], "inconsistent"),
        ([1.0, 2.0], [0, 1], "dimensions"),
        (sp.coo_array(np.array([1.0, 2.0])), [0, 1], "dimensions"),
        (np.zeros((0, 2)), [], "0 rows"),
        (np.zeros((2, 0)), [0, 1], "0 columns"),
        ([["a"]], [0], "numbers"),
        ([[1j]], [0], "Complex"),
        ([[2**53 + 1]], [0], "a double cannot represent"),
        (np.array([[1 << 60 | 1]], dtype=object), [0], "a double cannot represent"),
        ([[1.0], [2.0]], [0, math.nan], "NaN at row 1"),
        ([[1.0], [2.0]], [0.5, 1], "continuous"),
        ([[1.0], [2.0]], None, "None"),
        ([[1.0], [2.0]], np.array(["2001-02-03", "2001-02-04"], dtype="datetime64[D]"), "label type: datetime64"),
        ([[1.0], [2.0]], [date(2001, 2, 3), date(2001, 2, 4)], "label type: date"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], "one label per row"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        separability(X, y)


def test_kinds_of_input():
    X = np.array([[0, 1], [1, 0], [3, 3], [4, 2]])
    for given_rows in (
        X.tolist(),
        X.astype(np.float32),
        X.astype(bool) * 1,
        sp.coo_matrix(X),
        sp.csr_array(X),
        X.astype(object),
    ):
        checked(given_rows, [[0], [0], [1], [1]])
