"""A column in parts gives what all of its rows at once give."""

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt.tables.columns.accumulation import SAMPLED, ColumnAccumulator, DistinctSample
from rosenblatt.tables.columns.encoding import learned, parsed
from rosenblatt.tables.columns.kinds import kind_of
from rosenblatt.tables.columns.numbers import Moments
from rosenblatt.tables.columns.statistics import statistics
from rosenblatt.tables.columns.values import column_values

RNG = np.random.default_rng(0)
N = 300


def some(values, missing=0.1):
    return [None if RNG.random() < missing else one for one in values]


WORDS = ["good", "bad", "red", "blue", "a", "plot"]
COLUMNS = {
    "whole": [str(k) for k in RNG.integers(0, 50, N)],
    "whole, missing": some(map(str, RNG.integers(0, 50, N))),
    "ids": [str(k) for k in range(N)],
    "text ids": [f"c{k}" for k in range(N)],
    "fractions": some(f"{k:.3f}" for k in 1e6 * RNG.normal(size=N)),
    "huge": [f"{k:.3e}" for k in 1e300 * RNG.normal(size=N)],
    "zeros": [f"{k:.1f}" if k > 1 else "0" for k in RNG.normal(size=N)],
    "constant": ["7"] * N,
    "empty": [None] * N,
    "one and missing": some(["x"] * N),
    "strays": [("n/a?" if k % 17 == 3 else str(k % 5)) for k in range(N)],
    "names": some(RNG.choice(["Bonn", "Köln", " Ulm ", "?"], N)),
    "booleans": some(RNG.choice(["True", "false"], N)),
    "dates": some(f"{2000 + k % 20}-{1 + k % 12:02d}-{1 + k % 28:02d} {k % 24:02d}:15" for k in range(N)),
    "days first at last": [f"{1 + k % 12}/{1 + k % 12}/2020" for k in range(N - 1)] + ["31/12/2020"],
    "dates at first": ["2020-01-05"] * 100 + ["never"] * 200,
    "text": [" ".join(RNG.choice(WORDS, 5)) + f" w{k}" for k in range(N)],
    "words, then numbers": ["a b c"] * 100 + [str(k) for k in range(200)],
    "typed integers": RNG.integers(0, 9, N),
    "typed fractions": RNG.normal(size=N),
    "typed booleans": RNG.random(N) > 0.5,
    "typed dates": np.datetime64("2020-01-01", "us") + RNG.integers(0, 10**14, N).astype("timedelta64[us]"),
}


def taken_in(column, most=10**6, size=47, **settings):
    found = ColumnAccumulator("x", most, **settings)
    for first in range(0, len(column), size):
        found.add(column_values("x", column.slice(first, size)))
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("size", [1, 47, N])
def test_statistics_and_encoding_of_parts_and_of_the_whole(name, size):
    column = pa.array(COLUMNS[name])
    whole, parts = column_values("x", column), taken_in(column, size=size)
    wanted = statistics(whole)
    assert parts.statistics() == wanted
    kind = kind_of(whole, wanted).kind
    for asked in {kind, "names", "numbers", "booleans"} - {None, "text"}:
        if asked == "dates" and wanted.date_format is None:
            continue
        format = wanted.date_format if asked == "dates" else ""
        a, b = learned(parsed(whole, asked, format)).encoding, parts.encoding(asked, format or "").encoding
        assert a.feature_names("x") == b.feature_names("x")
        for one, other in zip(*(_numbers(encoding) for encoding in (a, b)), strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12 * abs(other or 1))


def _numbers(encoding):
    inside = getattr(encoding, "year", encoding)
    return [getattr(inside, name, 0.0) for name in ("mean", "shift", "scale")]


def test_of_too_many_names_the_frequent_ones_are_kept():
    frequent = [f"f{k}" for k in range(5)]
    column = pa.array([name for k in range(400) for name in (frequent[k % 5], f"rare {k} {k} {k}")])
    found = taken_in(column, most=40)
    assert set(frequent) <= set(found.encoding("names", "", 5).encoding.names)
    assert found.names[frequent[0]] == 80
    told = found.statistics()
    assert told.distinct == pytest.approx(405, abs=10)
    assert len(found.names) <= 40 + 47


def test_all_different_values_are_noticed_although_few_are_remembered():
    ids = taken_in(pa.array([f"c{k}" for k in range(3000)]), most=100, size=500)
    assert ids.statistics().distinct == 3000
    twice = taken_in(pa.array([f"c{k}" for k in range(3000)] + ["c7"]), most=100, size=500)
    assert twice.statistics().distinct < 3001
    numbers = taken_in(pa.array([str(k) for k in range(3000)]), most=100, size=500)
    assert (numbers.statistics().distinct, numbers.statistics().whole) == (3000, True)


def test_measurements_are_not_remembered_as_names():
    column = pa.array([f"{k / 7:.5f}" for k in range(1000)] + ["12", None, "x"])
    found = taken_in(column, most=50)
    assert len(found.names) <= 100
    wanted = statistics(column_values("x", column))
    told = found.statistics()
    assert (told.numbers, told.missing, told.whole, told.strays) == (wanted.numbers, 1, False, ("x",))
    assert found.encoding("numbers", "").encoding.mean == pytest.approx(
        learned(parsed(column_values("x", column), "numbers")).encoding.mean
    )
    typed = taken_in(pa.array([k / 7 for k in range(1000)]), most=50)
    assert typed.statistics().numbers == 1000


def test_an_estimate_of_different_values():
    sample = DistinctSample()
    for first in range(0, 50_000, 1000):
        sample.add([f"value {k % 30_000}" for k in range(first, first + 1000)], np.ones(1000))
    assert len(sample.seen) <= SAMPLED
    assert sample.distinct == pytest.approx(30_000, rel=0.1)
    assert sample.repeated


def test_moments_join_without_overflow():
    values = 1e200 * RNG.normal(size=99)
    joined = Moments.joined([Moments.of(values[:40]), Moments(), Moments.of(values[40:])])
    assert joined.mean == pytest.approx(values.mean())
    assert joined.deviation == pytest.approx(1e200 * (values / 1e200).std())
    assert Moments.joined([]) == Moments()
