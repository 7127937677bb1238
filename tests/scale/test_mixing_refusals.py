"""What cannot be learned in shards, and answers that do not hold."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from mixing_cases import _quiet, parts, rows  # noqa: F401 (fixtures)

import rosenblatt
from from_files import same
from rosenblatt import FileError, fit, load, predict, score
from rosenblatt.learn import scans
from rosenblatt.learn.counters import Count
from rosenblatt.learn.scans import Scan
from rosenblatt.planes import mixing as module
from rosenblatt.planes.mixing import shard_seed
from rosenblatt.scale import prediction as answers
from rosenblatt.scale import shards
from rosenblatt.scale.shards import Store

# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (rosenblatt.VotedPerceptron(), "votes do not mix"),
        (rosenblatt.Perceptron(keep="pocket"), "pockets do not mix"),
        (rosenblatt.Perceptron(update="batch"), "once per pass"),
        (rosenblatt.Perceptron(order="worst"), "all rows at once"),
        (rosenblatt.Perceptron(order=[0, 1]), "all rows at once"),
        (rosenblatt.Perceptron(early_stopping=True), "early_stopping"),
        (rosenblatt.LinearClassifier(solver="batch"), "stochastic"),
        (rosenblatt.LinearSVM(), "does not mix"),
        (rosenblatt.MaxMargin(), "only weights of linear learners can be mixed"),
        (rosenblatt.KernelPerceptron(), "only weights of linear learners can be mixed"),
        (rosenblatt.HierarchicalPerceptron(), "only weights of linear learners can be mixed"),
        (rosenblatt.MultilayerPerceptron(), "only weights of linear learners can be mixed"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_does_not_mix_is_refused(model, match, parts):
    with pytest.raises(ValueError, match=match):
        fit(model, parts(*rows()), shards=2)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"shards": 0}, "shards must be a whole number"),
        ({"shards": 2, "n_jobs": 0}, "number of threads"),
        ({"n_jobs": 2}, "give shards too"),
        ({"shards": 2, "mixing": "loud"}, "mixing must be one of"),
        ({"shards": 2, "memory": "1MB"}, "at least 160MB"),
        ({"shards": 2, "resume": True}, "checkpoint"),
        ({"shards": 2, "classes": [0, 1]}, "leave out classes"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings, match, parts):
    with pytest.raises(ValueError, match=match):
        fit(rosenblatt.Perceptron(), parts(*rows()), **settings)


def test_sources_that_cannot_be_cut(parts, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="Standard input"):
        fit(rosenblatt.Perceptron(), "-", shards=2)
    with pytest.raises(FileError, match=r"missing\.svm.*no such file"):
        fit(rosenblatt.Perceptron(), [parts(*rows()), str(tmp_path / "missing.svm")], shards=5)
    with pytest.raises(FileError, match=r"shape \(3,\)"):
        fit(rosenblatt.Perceptron(), (np.ones((4, 2)), np.ones(3)), shards=1)
    with pytest.raises(FileError, match=r"rows and columns"):
        fit(rosenblatt.Perceptron(), (np.ones((4, 2, 1)), np.ones(4)), shards=1)
    with pytest.raises(FileError, match=r"rows 2 to 4.*NaN at row 1, column 0"):
        fit(rosenblatt.Perceptron(), (np.array([[1.0], [2.0], [3.0], [np.nan]]), [0, 1, 0, 1]), shards=2)
    monkeypatch.setattr("rosenblatt.scale.fit_from_files.LEAST_MEMORY", 1)
    with pytest.raises(ValueError, match="Use more shards"):
        fit(rosenblatt.Perceptron(), parts(*rows()), shards=2, memory=100)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0, np.nan], "expected a label in every row, found nan"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), "NaT at row 1"),
        ([Decimal(1), Decimal("NaN")], "NaN or None at row 1"),
        (["a", None], "NaN or None at row 1"),
        (np.array(["a", 1], object), "all be of one kind"),
        (["a", "a\0"], "must not end with NUL"),
    ],
    ids=str,
)
def test_missing_labels_beside_rows_are_refused(labels, message):
    """They cannot be sorted, or were scored as if the predictions were wrong."""
    X, model = np.arange(4.0)[:, None], rosenblatt.Perceptron().fit([[0.0], [1.0]], [0, 1])
    y = labels * 2 if isinstance(labels, list) else np.tile(labels, 2)
    for ask in (lambda: fit(rosenblatt.Perceptron(), (X, y)), lambda: rosenblatt.score(model, (X, y))):
        with pytest.raises(ValueError, match=message):
            ask()


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (np.array([1, 2], "M8[ns]"), "datetime64"),
        (np.array([1, 2], "m8[ns]"), "timedelta64"),
        (np.array([Decimal(1), Decimal(2)]), "Decimal"),
        (np.array([1j, 2]), "complex128"),
    ],
    ids=str,
)
def test_labels_that_files_cannot_have_are_named(labels, found):
    with pytest.raises(FileError, match=f"^rows 0 to 4: expected labels that are numbers or text, found {found}$"):
        fit(rosenblatt.Perceptron(), (np.arange(4.0)[:, None], np.tile(labels, 2)))


def test_what_is_read_is_not_overwritten(parts, tmp_path):
    X, y = rows()
    source, path = parts(X, y), tmp_path / "part-1.svm"
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    for count in (None, 2):
        for point in (path, tmp_path / "link"):
            with pytest.raises(FileError, match="would be overwritten, but it is also the input"):
                fit(rosenblatt.Perceptron(max_epochs=2), source, shards=count, checkpoint=point)
    assert path.read_bytes() == before
    model = rosenblatt.Perceptron(max_epochs=2).fit(X, y)
    answers = path.rename(tmp_path / "part-00000.parquet")
    with pytest.raises(FileError, match=r"part-00000\.parquet: it would be overwritten"):
        predict(model, answers, tmp_path, format="svmlight")
    assert answers.read_bytes() == before


def test_a_corrupt_shard_is_named(parts, tmp_path):
    source = parts(*rows(), 4)
    (tmp_path / "part-2.svm").write_text("1 1:1\n0 2:x\n")
    model = rosenblatt.Perceptron()
    with pytest.raises(FileError, match=r"part-2\.svm, line 2"):
        fit(model, source, shards=4, n_jobs=2)
    assert not hasattr(model, "coef_")


# -- answers that do not hold ----------------------------------------------------------------------------------------


def damaged(part, **changes):
    """The part with its first machine changed."""
    return replace(part, machines=(replace(part.machines[0], **changes), *part.machines[1:]))


def spoiled(array, value):
    return np.where(np.arange(array.size).reshape(array.shape) == array.size - 1, value, array).astype(array.dtype)


def tallied(part, place, value):
    tally = part.machines[0].tally.copy()
    tally[place] = value
    return damaged(part, tally=tally)


def averaged(part, change):
    average = part.machines[0].average
    return damaged(part, average=replace(average, coef=change(average.coef)))


PARTS = {
    "NaN": lambda part: damaged(part, coef=spoiled(part.machines[0].coef, np.nan)),
    "infinity": lambda part: damaged(part, coef=spoiled(part.machines[0].coef, -np.inf)),
    "NaN of the bias": lambda part: damaged(part, intercept=spoiled(part.machines[0].intercept, np.nan)),
    "NaN in sums": lambda part: averaged(part, lambda coef: spoiled(coef, np.nan)),
    "a column less": lambda part: damaged(part, coef=part.machines[0].coef[:, :-1]),
    "one weight": lambda part: damaged(part, coef=np.ones((1, 1))),
    "turned": lambda part: damaged(part, by_feature=not part.machines[0].by_feature),
    "single": lambda part: damaged(part, coef=part.machines[0].coef.astype(np.float32)),
    "whole numbers": lambda part: damaged(part, coef=part.machines[0].coef.astype(np.int64)),
    "objects": lambda part: damaged(part, coef=part.machines[0].coef.astype(object)),
    "a list": lambda part: damaged(part, coef=part.machines[0].coef.tolist()),
    "sums of another shape": lambda part: averaged(part, lambda coef: coef[:, :-1]),
    "sums of another kind": lambda part: damaged(part, average="sums"),
    "no sums": lambda part: damaged(part, average=None),
    "a clock of NaN": lambda part: tallied(part, Count.CLOCK, np.nan),
    "a clock that goes back": lambda part: tallied(part, Count.CLOCK, -1.0),
    "fewer updates": lambda part: tallied(part, Count.UPDATES, -5.0),
    "no machine": lambda part: replace(part, machines=()),
    "two machines": lambda part: replace(part, machines=part.machines * 2),
    "a machine of another kind": lambda part: replace(part, machines=("weights",)),
    "other updates": lambda part: replace(part, updates=part.updates + 1),
    "a fraction of an update": lambda part: replace(part, updates=0.5),
    "a loss of NaN": lambda part: replace(part, losses=(np.nan,)),
    "a radius of NaN": lambda part: replace(part, radius2=np.nan),
    "a radius in words": lambda part: replace(part, radius2="large"),
    "no part": lambda part: None,
    "weights alone": lambda part: part.machines[0].coef,
}


@pytest.mark.parametrize("damage", PARTS)
def test_what_a_shard_learned_is_checked(monkeypatch, damage):
    X, y = rows()
    one_pass = module.one_pass
    broken = lambda *given: PARTS[damage](one_pass(*given)) if given[2] == 2 else one_pass(*given)  # noqa: E731
    monkeypatch.setattr(module, "one_pass", broken)
    model = rosenblatt.AveragedPerceptron(max_epochs=2, random_state=0)
    with pytest.raises(FileError, match=r"^rows 60 to 90: the answer of this process cannot be used: expected"):
        fit(model, (X, y), shards=3)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_a_variance_that_is_none(monkeypatch, covariance, value):
    one_pass = module.one_pass

    def broken(*given):
        part = one_pass(*given)
        sure = part.machines[0].covariance
        name = "matrices" if covariance == "full" else "coef"
        return damaged(part, covariance=replace(sure, **{name: spoiled(getattr(sure, name), value)}))

    monkeypatch.setattr(module, "one_pass", broken)
    with pytest.raises(FileError, match="cannot be used"):
        fit(rosenblatt.AROW(covariance=covariance, max_epochs=2), rows(), shards=3)


ANSWERS = [
    (shards.AskColumns, lambda seen: {}.fromkeys(seen, 1)),
    (shards.AskColumns, lambda seen: list(seen)),
    (shards.AskColumns, lambda seen: {name: replace(one, numbers=-1) for name, one in seen.items()}),
    (shards.AskNames, lambda found: {}),
    (shards.AskNames, lambda found: {name: {b"red"} for name in found}),
    (shards.AskContents, lambda found: found.contents),
    (shards.AskContents, lambda found: replace(found, contents=replace(found.contents, rows=-1))),
    (shards.AskContents, lambda found: replace(found, contents=replace(found.contents, rows=1.5))),
    (shards.AskContents, lambda found: replace(found, contents=replace(found.contents, radius2=np.nan))),
    (shards.AskContents, lambda found: replace(found, contents=replace(found.contents, labels=({},) * 2))),
    (shards.AskContents, lambda found: replace(found, contents=replace(found.contents, counts=(1,)))),
    (Scan, lambda scans: None),
    (Scan, lambda scans: scans * 2),
    (Scan, lambda scans: [one for one, _ in scans]),
    (Scan, lambda scans: [(scans[0][0]._replace(lows=np.array([np.nan])), None)]),
    (Scan, lambda scans: [(scans[0][0]._replace(violations=-1), None)]),
    (Scan, lambda scans: [(scans[0][0]._replace(errors=10**6), None)]),
    (Scan, lambda scans: [(scans[0][0], scans[0][0]._replace(errors=10**6))]),
    (scans.Errors, lambda errors: None),
    (scans.Errors, lambda errors: 10**6),
    (scans.Errors, lambda errors: -1),
    (scans.Clean, lambda clean: None),
    (Scan, lambda scans: [(scans[0][0]._replace(loss=np.nan), None)]),
    (shards.AskExamples, lambda answered: answered.value),
    (shards.AskExamples, lambda answered: replace(answered, reading=np.nan)),
]


@pytest.mark.parametrize(("question", "damage"), ANSWERS)
def test_every_answer_of_a_shard_is_checked(tmp_path, monkeypatch, question, damage):
    for k in range(2):
        lines = [f"{size},{'red' if size % 2 else 'blue'},{int(size > 4)}" for size in range(10)]
        (tmp_path / f"part-{k}.csv").write_text("\n".join(["size,colour,label", *lines]) + "\n")
    ask = question.__call__

    def answered(self, asked, other):
        truth, second = ask(self, asked, other), other == 1 or "part-1" in str(getattr(asked, "name", ""))
        # A scan for clean rows ends at the first shard that has others.
        clean = True if question is scans.Clean else truth
        return damage(truth) if second else clean

    monkeypatch.setattr(question, "__call__", answered)
    model = rosenblatt.Perceptron(max_epochs=2, record_errors=True)
    if question is scans.Clean:  # asked of a learner that still updates when every row is right
        model = rosenblatt.PassiveAggressive(max_epochs=100)
    with pytest.raises(FileError, match=r"part-1\.csv: the answer of this process cannot be used: expected"):
        fit(model, str(tmp_path / "*.csv"), shards=2)


@pytest.mark.parametrize(
    ("question", "ask", "damage"),
    [
        (answers.WritePredictions, predict, lambda told: ("elsewhere.parquet", told[1])),
        (answers.WritePredictions, predict, lambda told: (told[0], -1)),
        (answers.WritePredictions, predict, lambda told: told[0]),
        (answers.ScorePredictions, score, lambda tally: replace(tally, right=tally.rows + 1)),
        (answers.ScorePredictions, score, lambda tally: replace(tally, mean=np.nan)),
        (answers.ScorePredictions, score, lambda tally: None),
    ],
)
def test_answers_about_rows_are_checked(tmp_path, monkeypatch, question, ask, damage):
    X, y = rows()
    model, truly = rosenblatt.Perceptron(max_epochs=2).fit(X, y), question.__call__
    monkeypatch.setattr(question, "__call__", lambda *given: damage(truly(*given)))
    with pytest.raises(FileError, match="the answer of this process cannot be used: expected"):
        ask(model, (X, y), *([tmp_path / "answers"] if ask is predict else []))


# -- interruptions ---------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stop()], ids=["ctrl-c", "error"])
@pytest.mark.parametrize(("name", "mixing"), [("AveragedPerceptron", "mistakes"), ("LinearClassifier", "uniform")])
def test_resumed_is_uninterrupted(parts, tmp_path, monkeypatch, error, name, mixing):
    source, point = parts(*rows(120, classes=3)), tmp_path / "point"

    def learn(**how):
        model = getattr(rosenblatt, name)(max_epochs=6, random_state=0)
        return fit(model, source, shards=4, mixing=mixing, **how)

    whole = learn()
    count, one_pass = [0], rosenblatt.planes.mixing.one_pass

    def broken(*args):
        count[0] += 1
        if count[0] == 15:
            raise error
        return one_pass(*args)

    with monkeypatch.context() as patch:
        patch.setattr("rosenblatt.planes.mixing.one_pass", broken)
        with pytest.raises(type(error)):
            learn(checkpoint=point)
    assert load(point).n_iter_ == 3
    again = learn(checkpoint=point, resume=True)
    same(whole, again)
    same(whole, load(point))
    assert again.report_.sharding.mistakes == whole.report_.sharding.mistakes
    assert [record.loss for record in again.report_.epochs] == [record.loss for record in whole.report_.epochs]


def test_checkpoints_of_other_shards_are_refused(parts, tmp_path):
    source, point = parts(*rows()), tmp_path / "point"
    fit(rosenblatt.Perceptron(max_epochs=2), source, shards=4, checkpoint=point)
    for other in ({"shards": 2}, {"shards": 4, "mixing": "mistakes"}):
        model = rosenblatt.Perceptron(max_epochs=3)
        with pytest.raises(FileError, match="other shards"):
            fit(model, source, checkpoint=point, resume=True, **other)
        assert not hasattr(model, "coef_")
    fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), source, checkpoint=point)
    with pytest.raises(FileError, match="other"):
        fit(rosenblatt.Perceptron(max_epochs=3, random_state=0), source, shards=4, checkpoint=point, resume=True)


# -- the store -------------------------------------------------------------------------------------------------------


def test_a_store_forgets_what_was_used_longest_ago(monkeypatch):
    monkeypatch.setattr("rosenblatt.scale.shards.size_of", len)
    store, made = Store(10), []

    def get(key, size=4):
        return store.get(key, lambda: made.append(key) or "x" * size)

    for key in "aabac":  # c pushes out b
        get(key)
    assert made == ["a", "b", "c"]
    get("a")
    get("b")
    assert made == ["a", "b", "c", "b"]
    get("large", 11)
    assert "large" not in store.entries
    assert store.held == 8
    store.drop("b")
    store.drop("never there")
    assert store.held == 4


def test_shards_have_seeds_of_their_own():
    assert len({shard_seed(0, k) for k in range(1000)} | {shard_seed(1, k) for k in range(1000)}) == 2000


def test_rows_that_do_not_stay_in_memory_are_read_again(parts, monkeypatch):
    source = parts(*rows(120))
    kept = fit(rosenblatt.Perceptron(max_epochs=3, random_state=0), source, shards=4)
    monkeypatch.setattr("rosenblatt.scale.fit_from_files.LEAST_MEMORY", 1)
    same(kept, fit(rosenblatt.Perceptron(max_epochs=3, random_state=0), source, shards=4, memory=4000))
