"""The lectures' running examples, examples/stories: each runs by itself, and shows what it says."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

STORIES = Path(__file__).parents[2] / "examples" / "stories"


@pytest.fixture
def told(request, capsys, tmp_path, monkeypatch):
    """What a story prints, run as a script in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        runpy.run_path(str(STORIES / f"{request.param}.py"), run_name="__main__")
    assert not list(tmp_path.iterdir())
    return capsys.readouterr().out


def story(name):
    return pytest.mark.parametrize("told", [name], indirect=True)


def numbers(line):
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*\.?\d*", line)]


def row(told, start):
    """The numbers after the beginning of a line."""
    (line,) = [line for line in told.splitlines() if line.strip().startswith(start)]
    return numbers(line.split(start, 1)[1])


def test_every_story_is_here():
    names = set(re.findall(r'@story\("(\w+)"\)', Path(__file__).read_text()))
    assert names == {path.stem for path in STORIES.glob("*.py")}
    assert all(f"`{name}.py`" in (STORIES / "README.md").read_text() for name in names)


@story("credit_approval")
def test_credit_approval(told):
    assert "separated" in told
    (used, allowed) = row(told, "after")
    assert 0 < used <= allowed
    for name in ("debt", "salary", "years in job"):
        found, truth = row(told, f"{name:20}  ")[:2]
        assert found == pytest.approx(truth, abs=0.1), name
    assert row(told, "new applicants judged as by the formula:")[0] > 95


@story("disease")
def test_disease(told):
    assert "overlap: no plane separates 1 from the rest" in told
    last, steady = row(told, "last weights"), row(told, "average weights")
    assert last[1] - last[0] > 4 * (steady[1] - steady[0])
    assert steady[0] > last[0]
    costs = [row(told, f"a missed patient costs {cost:2} false alarms:") for cost in (1, 4, 12)]
    assert costs[0][0] > costs[1][0] > costs[2][0]
    assert costs[0][1] < costs[1][1] < costs[2][1]


@story("house_prices")
def test_house_prices(told):
    assert "solved" in told
    for name in ("square metre", "room", "year", "in the centre", "by the lake"):
        found, exact = row(told, name + " ")
        assert found == pytest.approx(exact, rel=0.01), name
    assert told.count("diverges") == 2
    assert row(told, "raw units, η = 4e-07")[1] < 0.5 < 0.98 < row(told, "standard units, η = 0.3")[1]
    assert row(told, "squared")[0] < 0.5 < 0.95 < row(told, "huber")[0]


@story("film_filter")
def test_film_filter(told):
    assert row(told, "thriller")[0] < 0 < row(told, "thriller")[1]
    assert row(told, "science fiction")[0] > 0 > row(told, "science fiction")[1]
    wrong, evenings, idle = numbers(told.splitlines()[-1])
    assert 2 * wrong < idle < evenings / 2


@story("news_categories")
def test_news_categories(told):
    own = {"sport.football": "goal keeper penalty league", "world.economy": "bank market inflation trade"}
    for kind, words in own.items():
        (said,) = [line for line in told.splitlines() if re.match(rf"  {kind} +[a-z]+, ", line)]
        assert set(said.split(maxsplit=1)[1].split(", ")) == set(words.split())
    flat, tree = row(told, "all alike"), row(told, "in a tree")
    assert flat[0] > 85
    assert tree[0] > 85
    assert tree[1] < flat[1] < flat[2] / 5


@story("linear_classifiers")
def test_linear_classifiers(told):
    for name in ("naive bayes", "rocchio", "regression"):
        assert row(told, name)[1] > 20, name
    for name in ("perceptron", "widest"):
        angle, wrong, new = row(told, name)
        assert (wrong, new < 3) == (0, True)
        assert angle == pytest.approx(-45, abs=10)


@pytest.mark.compiled  # 200 passes
@story("passes")
def test_passes(told):
    by_passes = {int(line[0]): line[1:] for line in map(numbers, told.splitlines()) if len(line) == 5}
    once, many = by_passes[1], by_passes[200]
    best = int(re.search(r"after (\d+) passes", told)[1])
    assert 1 < best < 200
    assert once[2] < by_passes[best][2] > many[2]
    assert many[1] > by_passes[best][1]  # the average learns the noise by heart
    assert many[3] < by_passes[3][3]
    assert once[3] < by_passes[3][3]


@story("row_order")
def test_row_order(told):
    by_class, mixed = row(told, "sorted by class"), row(told, "shuffled")
    assert by_class[0] < mixed[0] - 5
    assert by_class[1] < mixed[1] - 5
    assert row(told, "20 random orders:")[0] == 20
    fewest, most, bound = row(told, "mistakes")
    assert fewest < most <= bound
    low, high, widest = row(told, "margin")
    assert low < high < widest
    assert told.rstrip().endswith("the same")


@pytest.mark.compiled  # 60 fits
@story("random_units")
def test_random_units(told):
    rows = [line for line in map(numbers, told.splitlines()) if len(line) == 4]
    assert [line[0] for line in rows] == [3, 6, 12, 25, 50]
    for _, _, steps, smooth in rows:
        assert smooth > steps
    for column in (1, 2, 3):
        assert rows[0][column] + 15 < rows[-1][column]
