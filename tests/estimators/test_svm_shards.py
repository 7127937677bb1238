"""LinearSVM in shards: the bits of S, the minimum of one core, the gap in fractions, what is lost and found again."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from ctrl_c import CtrlC
from rosenblatt import LinearSVM, load, save
from rosenblatt.compiled import threads
from rosenblatt.learn.schemes import TWO
from rosenblatt.objective import svm_merging, svm_shards
from rosenblatt.objective.svm_merging import Copies, ShardedAscent
from rosenblatt.objective.svm_shards import PartOfPass, Setting, ShardAscent, Slices
from rosenblatt.shell.encoding import CLASSES, PLAIN, encode_examples

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FORMS = [np.asarray, sp.csr_array]
FITTED = ("coef_", "intercept_", "support_", "dual_coef_")


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    """Passes in several parts, on several threads, of small data too."""
    monkeypatch.setattr(svm_merging, "VALUES_PER_WEIGHT", 1e-3)
    monkeypatch.setattr(threads, "MANY_VALUES", 0)


def blobs(n=120, d=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, np.argmax(X @ rng.normal(size=(d, classes)) + 0.5 * rng.normal(size=(n, classes)), axis=1)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FITTED)


# -- the same minimum, the same bits ---------------------------------------------------------------------------------


@pytest.mark.compiled  # many passes, which take minutes where nothing is compiled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(
    ("loss", "multiclass", "classes"),
    [("hinge", "ovr", 2), ("squared_hinge", "ovr", 3), ("hinge", "ovr", 3), ("hinge", "crammer_singer", 3)],
)
def test_any_number_of_shards_has_the_minimum_of_one(loss, multiclass, classes, scale, form):
    X, y = blobs(classes=classes)
    settings = {"loss": loss, "multiclass": multiclass, "intercept_scaling": scale, "tol": 1e-4, "random_state": 0}
    one = LinearSVM(**settings).fit(form(X), y)
    for shards in (2, 5):
        model = LinearSVM(**settings, n_jobs=shards).fit(form(X), y)
        report = model.report_
        assert report.outcome == "solved"
        assert report.gap <= 1e-4
        assert math.isclose(report.objective, one.report_.objective, rel_tol=1e-4)
        assert len(report.sharding.rows) == shards
        assert len(report.sharding.copies) == len(report.sharding.gaps) == report.n_epochs
        assert np.allclose(model.dual_coef_ @ X[model.support_], model.coef_)
        assert report.updates == sum(map(sum, report.sharding.mistakes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_threads_do_not_change_the_bits(form, classes, monkeypatch):
    X, y = blobs(classes=classes)
    side_by_side = LinearSVM(n_jobs=3, tol=1e-6, random_state=0).fit(form(X), y)
    again = LinearSVM(n_jobs=3, tol=1e-6, random_state=0).fit(form(X), y)
    monkeypatch.setattr(threads, "MANY_VALUES", math.inf)
    in_turn = LinearSVM(n_jobs=3, tol=1e-6, random_state=0).fit(form(X), y)
    assert same(side_by_side, in_turn)
    assert same(side_by_side, again)
    assert side_by_side.report_.sharding == in_turn.report_.sharding


def test_one_core_is_the_default():
    X, y = blobs()
    models = [LinearSVM(n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, None)]
    assert same(*models)
    assert models[0].report_.sharding is None
    assert same(models[0], LinearSVM(random_state=0).fit(X, y))


def test_as_many_shards_as_cores(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "3")
    X, y = blobs()
    assert len(LinearSVM(n_jobs=-1).fit(X, y).report_.sharding.rows) == 3
    with pytest.raises(ValueError, match="n_jobs"):
        LinearSVM(n_jobs=0).fit(X, y)


@pytest.mark.parametrize("form", FORMS)
def test_weights_labels_and_fewer_rows_than_shards(form):
    X, y = blobs(60, classes=3)
    weight = np.where(np.arange(60) % 4, 1.5, 0.0)
    alone = LinearSVM(tol=1e-6, random_state=0).fit(form(X), y, weight)
    shared = LinearSVM(tol=1e-6, n_jobs=4, random_state=0).fit(form(X), y, weight)
    assert np.allclose(alone.coef_, shared.coef_, atol=1e-2)
    assert not set(shared.support_) & set(range(0, 60, 4))
    labels = np.column_stack([y == 0, y != 1]).astype(int)
    assert LinearSVM(tol=1e-4, n_jobs=2).fit(form(X), labels).report_.outcome == "solved"
    assert len(LinearSVM(n_jobs=9).fit(form(X[:3]), [0, 1, 1]).report_.sharding.rows) == 3


def test_rows_sorted_by_class_are_solved_too():
    X, y = blobs(400)
    order = np.argsort(y, kind="stable")
    model = LinearSVM(tol=1e-4, n_jobs=2, random_state=0).fit(X[order], y[order])
    assert model.report_.gap <= 1e-4


def test_accuracy_on_text_like_rows():
    rng = np.random.default_rng(0)
    X = sp.random_array((22_000, 100), density=0.05, rng=rng, format="csr", dtype=np.float32)
    f = X @ rng.normal(size=100)
    y = f > np.median(f) + 0.1 * rng.normal(size=22_000)
    scores = []
    for shards in (1, 2, 8):
        model = LinearSVM(tol=1e-4, n_jobs=shards, random_state=0).fit(X[:2000], y[:2000])
        assert model.report_.gap <= 1e-4
        assert model.coef_.dtype == np.float32
        scores.append(model.score(X[2000:], y[2000:]))
    assert max(scores) - min(scores) <= 1e-3


def test_float32_gives_way_to_doubles(monkeypatch):
    X, y = blobs(200)
    sweep = ShardedAscent.sweep

    def in_doubles(self, epoch, seed):
        if epoch == 2:
            self.use_doubles()
        return sweep(self, epoch, seed)

    monkeypatch.setattr(ShardedAscent, "sweep", in_doubles)
    model = LinearSVM(tol=1.1e-5, n_jobs=2, random_state=0).fit(X.astype(np.float32), y)
    assert model.report_.gap <= 1.1e-5
    assert model.coef_.dtype == np.float32


# -- the certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_the_gap_holds_in_fractions(shards, loss):
    rng = np.random.default_rng(1)
    X, y = rng.integers(-8, 9, size=(40, 3)) / 4, rng.integers(0, 2, size=40)
    model = LinearSVM(C=0.5, loss=loss, intercept_scaling=1.0, tol=1e-3, n_jobs=shards, random_state=0).fit(X, y)
    rows = [[Fraction(v) for v in row] + [Fraction(1)] for row in X.tolist()]
    w = [Fraction(v) for v in (*model.coef_[0].tolist(), float(model.intercept_[0]))]
    alpha = [Fraction(0)] * 40
    for i, value in zip(model.support_, model.dual_coef_[0].tolist(), strict=True):
        alpha[i] = Fraction(value) * (1 if y[i] else -1)
    squared, C = loss == "squared_hinge", Fraction(1, 2)
    assert all(a >= 0 and (squared or a <= C) for a in alpha)
    slack = [
        max(Fraction(0), 1 - (1 if label else -1) * sum(a * b for a, b in zip(row, w, strict=True)))
        for row, label in zip(rows, y, strict=True)
    ]
    primal = sum(v * v for v in w) / 2 + C * sum(s * s if squared else s for s in slack)
    u = [sum(a * (1 if label else -1) * row[j] for a, row, label in zip(alpha, rows, y, strict=True)) for j in range(4)]
    dual = sum(alpha) - sum(v * v for v in u) / 2 - (sum(a * a for a in alpha) / (4 * C) if squared else 0)
    assert 0 <= (primal - dual) / primal <= Fraction(model.report_.gap)
    assert model.report_.gap <= 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_no_merge_lowers_the_dual(form, monkeypatch):
    """Steps that overshoot, because σ′ is too small: a share of them is kept."""
    X, y = blobs()
    monkeypatch.setattr(svm_merging, "CAUTION", 0.0)
    monkeypatch.setattr(svm_merging, "LEAST_CAUTION", 0.0)
    sweep, seen = ShardedAscent.sweep, []

    def watched(self, epoch, seed):
        made = sweep(self, epoch, seed)
        seen.append((self.dual(), self.sigma))
        return made

    monkeypatch.setattr(ShardedAscent, "sweep", watched)
    shares = []
    shorten = ShardAscent.shorten
    monkeypatch.setattr(ShardAscent, "shorten", lambda self, share: (shares.append(share), shorten(self, share)))
    model = LinearSVM(tol=1e-4, intercept_scaling=1.0, n_jobs=8, random_state=0).fit(form(X), y)
    duals = [dual for dual, _ in seen]
    assert all(b >= a - 1e-12 * abs(a) for a, b in itertools.pairwise(duals))
    assert min(shares) < 1.0
    assert model.report_.gap <= 1e-4


def test_a_part_of_a_pass_is_its_formula():
    X, y = blobs(30)
    model = LinearSVM(C=0.7, shrinking=False, intercept_scaling=1.0)
    examples = encoded(X, y)
    shard = ShardAscent(examples, Setting("", model._plan(), TWO, 2, 1, 0), 0)
    bounds = np.array([[np.inf, -np.inf]])
    w, b, sigma = np.full(5, 0.1), np.array([0.2]), 1.7
    shard.visit(PartOfPass(0, 0, 2, sigma, 1.0, False, bounds, w, b))
    signs = np.where(y == 1, 1.0, -1.0)
    alpha, x = np.zeros(30), np.hstack([X, np.ones((30, 1))])
    v = np.append(w, b)
    for i in shard.visits[:15].astype(int):
        G = signs[i] * (v @ x[i]) - 1
        new = min(max(alpha[i] - G / (sigma * (x[i] @ x[i])), 0.0), 0.7)
        v += sigma * (new - alpha[i]) * signs[i] * x[i]
        alpha[i] = new
    assert np.allclose(shard.ascent.duals.alpha[:, 0], alpha, rtol=0, atol=1e-13)
    assert np.allclose(np.append(shard.ascent.w, shard.ascent.b), v, rtol=0, atol=1e-13)
    shard.shorten(0.25)
    assert np.allclose(shard.ascent.duals.alpha[:, 0], 0.25 * alpha, rtol=0, atol=1e-13)


def encoded(X, y):
    return encode_examples(LinearSVM(), PLAIN, CLASSES, X, y, None)


# -- fewer copies ----------------------------------------------------------------------------------------------------


def test_half_as_many_copies_are_tried_and_kept_if_they_close_more():
    copies = Copies(8, 1000, 1e-6)
    gap, seen = 1.0, []
    for epoch in range(60):
        gap *= {8: 0.99, 4: 0.9, 2: 0.6, 1: 0.5}[copies.count]
        copies.after(gap, epoch)
        seen.append(copies.count)
    assert seen[:11] == [8] * 11
    assert seen[11:17] == [4, 4, 2, 2, 1, 1]  # 4·ln(1/0.9) > 8·ln(1/0.99), 2·ln(1/0.6) is more, ln 2 is less
    assert seen[17] == 2
    assert 1 not in seen[18:40]  # and is not tried again for twice as long


def test_copies_halve_where_the_limit_comes_before_the_gap_is_closed():
    copies = Copies(8, 10, 1e-6)
    seen = []
    for epoch in range(10):
        copies.after(0.99**epoch, epoch)
        seen.append(copies.count)
    assert seen == [8] * 6 + [4, 2, 1, 1]
    stuck = Copies(2, 10, 1e-6, gap=0.5)
    stuck.after(0.6, 9)
    assert stuck.count == 1


# -- what is lost, and what is interrupted ---------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
def test_lost_dual_variables_are_made_again(classes, multiclass, monkeypatch):
    X, y = blobs(classes=classes)
    settings = {"multiclass": multiclass, "n_jobs": 3, "tol": 1e-4, "random_state": 0}
    whole = LinearSVM(**settings).fit(X, y)
    ask, count = Slices.ask_each, [0]

    def forgetful(self, question, places):
        count[0] += 1
        if count[0] % 7 == 0:
            self.kept[count[0] // 7 % 3].clear()
        return ask(self, question, places)

    monkeypatch.setattr(Slices, "ask_each", forgetful)
    assert same(LinearSVM(**settings).fit(X, y), whole)


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupted_pass_leaves_the_last_whole_one(form, monkeypatch):
    X, y = blobs()
    closed, seen, told = ShardedAscent.closed, [], []

    def watched(self, dtype):
        found = closed(self, dtype)
        seen.append((self.published(dtype), self.shares()))
        return found

    monkeypatch.setattr(ShardedAscent, "closed", watched)
    knobs = {"tol": 1e-9, "n_jobs": 2, "random_state": 0}
    LinearSVM(**knobs).fit(form(X), y)
    (w, b), shares = seen[2]
    visit = ShardAscent.visit
    monkeypatch.setattr(ShardedAscent, "closed", closed)
    model = LinearSVM(**knobs)
    with CtrlC() as keys:

        def pressing(self, part):
            visit(self, part)
            if part.epoch == 3 and part.number == 1 and not told:
                told.append(part)
                keys.press()

        monkeypatch.setattr(ShardAscent, "visit", pressing)
        model.fit(form(X), y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", 3)
    assert np.array_equal(model.coef_[0], w)
    assert np.array_equal(model.intercept_, b)
    assert np.array_equal(model.support_, np.flatnonzero(shares))
    assert np.array_equal(model.dual_coef_[0], shares[model.support_, 0])
    assert len(model.report_.sharding.copies) == 3


def test_report_and_model_file(tmp_path):
    X, y = blobs()
    model = LinearSVM(n_jobs=4, random_state=0).fit(X, y)
    told = str(model.report_)
    assert "4 shards, changes added" in told
    assert "copies of w: 4 in" in told
    save(model, tmp_path / "m.model")
    read = load(tmp_path / "m.model")
    assert read.report_.sharding == model.report_.sharding
    assert read.n_jobs == 4


# -- answers that do not hold ----------------------------------------------------------------------------------------


def test_answers_that_cannot_be_are_refused():
    X, y = blobs(30)
    setting = Setting("run", LinearSVM(intercept_scaling=1.0)._plan(), TWO, 2, 1, 0)
    kept, examples = {}, encoded(X, y)
    opened = svm_shards.Open(setting)(examples, 0, kept)
    svm_shards.Open(setting).check(opened, 30, 5)
    with pytest.raises(ValueError, match="at most 20 rows"):
        svm_shards.Open(setting).check(opened, 20, 5)
    part = PartOfPass(0, 0, 1, 1.0, 1.0, False, np.array([[np.inf, -np.inf]]), np.zeros(5), np.zeros(1))
    visit = svm_shards.Visit(setting, svm_shards.Stamp(0, 0), {0: part})
    visited = visit(examples, 0, kept)
    visit.check(visited, 30, 5)
    assert visited.nbytes == 48
    assert visit(examples, 0, kept) is None  # the part has been made
    visit.check(None, 30, 5)
    for wrong in (
        3,
        svm_shards.replace(visited, w=visited.w[:4]),
        svm_shards.replace(visited, w=visited.w * np.nan),
        svm_shards.replace(visited, estimate=math.nan),
        svm_shards.replace(visited, worst=visited.worst * np.nan),
    ):
        with pytest.raises(ValueError, match="expected"):
            visit.check(wrong, 30, 5)
    end = svm_shards.End(setting, svm_shards.Stamp(0, 1), 1.0)
    ended = end(examples, 0, kept)
    end.check(ended, 30, 5)
    assert ended.nbytes == 30 * (8 + 1 + 1)
    for wrong in (
        None if ended is None else svm_shards.replace(ended, linear=(math.inf, 0.0)),
        svm_shards.replace(ended, snapshot=ended.snapshot._replace(awake=ended.snapshot.awake[1:])),
        svm_shards.replace(ended, snapshot=ended.snapshot._replace(shares=ended.snapshot.shares + math.inf)),
    ):
        with pytest.raises(ValueError, match="expected"):
            end.check(wrong, 30, 5)
    now = svm_shards.Stamp(1, 0)
    gap, sums = svm_shards.AskGap(setting, now, np.zeros(5), np.zeros(1)), svm_shards.AskSums(setting, now)
    gap.check(gap(examples, 0, kept), 30, 5)
    sums.check(sums(examples, 0, kept), 30, 5)
    for question, wrong in ((gap, math.inf), (sums, sums(examples, 0, kept)._replace(u=np.zeros(4))), (sums, 1)):
        with pytest.raises(ValueError, match="expected"):
            question.check(wrong, 30, 5)
    losses = svm_shards.AskLosses(
        setting, now, svm_shards.Published(np.zeros(5), np.zeros(1), np.zeros(1), np.zeros(1))
    )
    losses.check(losses(examples, 0, kept), 30, 5)
    with pytest.raises(ValueError, match="losses"):
        losses.check(np.array([-1.0, 0.0]), 30, 5)
    with pytest.raises(ValueError, match="expected True"):
        svm_shards.Restore(setting, 0, None, ()).check(1, 30, 5)
