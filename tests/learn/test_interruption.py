"""Ctrl-C: the KeyboardInterrupt arrives, and the model of the last whole epoch is there."""

import _thread
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.extending import overload

from family import ESTIMATORS, answers, contents, same_model, target_for
from rosenblatt import (
    AROW,
    AveragedPerceptron,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.estimators.base import online_learner
from rosenblatt.learn.online import solver as training

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Interrupts:
    """A callback that presses Ctrl-C some milliseconds after an epoch, in the middle of a later one."""

    def __init__(self, after_epoch=2, delay=0.02):
        self.after_epoch, self.delay, self.pressed = after_epoch, delay, None
        self.heard = threading.Event()

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch" and context.task_id + 1 == self.after_epoch:
            threading.Thread(target=self.press).start()

    def press(self):
        time.sleep(self.delay)
        while (
            True
        ):  # again, as a user would: Python drops an exception that is raised while a weak reference is cleared
            self.pressed = time.process_time()
            _thread.interrupt_main()
            if self.heard.wait(60):
                return


def table(classes=2, sparse=False, rows=60_000, features=40):
    """Rows that no plane separates, so that only Ctrl-C ends a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    if sparse:
        X = sp.random_array((rows, 5 * features), density=0.1, rng=rng, dtype=np.float32, format="csr")
    return X, rng.integers(0, classes, size=rows)


@pytest.mark.compiled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("estimator", "knobs", "classes"),
    [
        pytest.param(Perceptron, {}, 2, id="last"),
        pytest.param(AveragedPerceptron, {}, 2, id="average"),
        pytest.param(VotedPerceptron, {}, 2, id="vote"),
        pytest.param(Perceptron, {"keep": "pocket"}, 2, id="pocket"),
        pytest.param(Perceptron, {"update": "batch"}, 2, id="batch"),
        pytest.param(Perceptron, {"order": "worst"}, 2, id="worst"),
        pytest.param(Perceptron, {"record_errors": True}, 2, id="errors"),
        pytest.param(PassiveAggressive, {}, 2, id="PA"),
        pytest.param(AROW, {}, 2, id="AROW"),
        pytest.param(Perceptron, {}, 20, id="multinomial"),
        pytest.param(AveragedPerceptron, {"multiclass": "ovr"}, 20, id="ovr"),
        pytest.param(Perceptron, {"multiclass": "ovo"}, 5, id="ovo"),
    ],
)
def test_last_whole_epoch_is_the_model(estimator, knobs, classes, sparse):
    # A vote keeps every update and asks each of them about each row.
    X, y = table(classes, sparse, rows=2_000 if estimator is VotedPerceptron else 60_000)
    many = 10**6
    press = Interrupts()
    model = estimator(max_epochs=many, random_state=0, **knobs).set_callbacks(press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    press.heard.set()
    print(f"{1000 * (time.process_time() - press.pressed):.1f} ms from Ctrl-C to KeyboardInterrupt")
    assert model.report_.outcome == "interrupted"
    assert "interrupted" in str(model.report_)
    whole = model.n_iter_
    assert 2 <= whole == len(model.report_.epochs) < many
    model.set_callbacks()
    untouched = estimator(max_epochs=whole, random_state=0, **knobs).fit(X, y)
    assert same_model(model, untouched)
    assert np.array_equal(answers(model, X[:100]), answers(untouched, X[:100]))
    # It goes on where it was.
    assert same_model(model.partial_fit(X, y), untouched.partial_fit(X, y))


@pytest.mark.compiled
def test_while_rows_are_scored_that_were_held_out():
    X, y = table()
    press = Interrupts()
    model = Perceptron(early_stopping=True, validation_fraction=0.9, n_iter_no_change=10**6, max_epochs=10**6)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(press).fit(X, y)
    press.heard.set()
    print(f"{1000 * (time.process_time() - press.pressed):.1f} ms from Ctrl-C to KeyboardInterrupt")
    assert model.report_.outcome == "interrupted"
    assert model.n_iter_ >= 2


SCRIPT = """
import json, os, signal, sys, time, warnings
import numpy as np
from rosenblatt import Perceptron

rng = np.random.default_rng(0)
X, y = rng.normal(size=(200_000, 64)).astype(np.float32), rng.integers(0, 2, size=200_000)
warnings.simplefilter("ignore")
Perceptron(max_epochs=1).fit(X[:10_000], y[:10_000])


class Ready:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch" and context.task_id == 1:
            print("ready", flush=True)


model = Perceptron(max_epochs=10**6, random_state=0).set_callbacks(Ready())
try:
    model.fit(X, y)
    caught = False
except KeyboardInterrupt:
    caught = True
heard = time.time()
again = Perceptron(max_epochs=model.n_iter_, random_state=0).fit(X, y)
same = bool((again.coef_ == model.coef_).all() and (again.intercept_ == model.intercept_).all())
print(json.dumps({
    "caught": caught, "heard": heard, "outcome": model.report_.outcome, "epochs": model.n_iter_, "same": same
}))
"""


@pytest.mark.compiled
@pytest.mark.skipif(sys.platform == "win32", reason="signals between processes are another matter there")
def test_signal_from_outside():
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.1)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        told = json.loads(child.stdout.readline())
        assert child.wait() == 0
    print(f"{1000 * (told['heard'] - sent):.1f} ms from SIGINT to KeyboardInterrupt, {told['epochs']} epochs")
    assert told["caught"]
    assert told["outcome"] == "interrupted"
    assert told["epochs"] >= 2
    assert told["same"]


def forever(call):
    while True:
        call()


def heard(call, *delays):
    """Milliseconds of work from Ctrl-C, pressed so many seconds after the calls began, to KeyboardInterrupt."""
    waits = []
    for delay in delays:
        press = Interrupts(delay=delay)
        thread = threading.Thread(target=press.press)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            forever(call)
        press.heard.set()
        waits.append(1000 * (time.process_time() - press.pressed))
        thread.join()
    print(f"{', '.join(f'{wait:.0f}' for wait in waits)} ms from Ctrl-C to KeyboardInterrupt")
    return waits


@pytest.mark.compiled
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("estimator", [AROW, SecondOrderPerceptron])
def test_a_full_covariance_hears(estimator, classes):
    """Every visit reads and writes all of Σ, here 8 MB."""
    X, y = table(classes, rows=5_000, features=1_000)
    X = X.astype(np.float64)
    model = estimator(covariance="full", max_epochs=10**6, random_state=0)
    estimator(covariance="full", max_epochs=1).fit(X[:50], y[:50])  # compiles
    assert min(heard(lambda: model.fit(X, y), 0.2, 0.3, 0.4)) < 100


@pytest.mark.compiled
@pytest.mark.parametrize("classes", [2, 3])
def test_a_vote_of_many_updates_by_few_rows_hears(classes):
    X, y = table(classes, rows=200, features=4)
    model = VotedPerceptron(margin=1e9, max_epochs=2, random_state=0)  # every visit is an update
    model.fit(X, y, sample_weight=np.full(len(y), 2_000.0))
    asked = np.concatenate([X] * 100)
    model.predict(asked[:2])  # compiles
    assert min(heard(lambda: model.predict(asked), 0.1, 0.2, 0.3)) < 100


@pytest.mark.compiled
def test_a_vote_of_wide_rows_hears():
    X, y = table(rows=3_000, features=3_000)
    model = VotedPerceptron(max_epochs=2, random_state=0).fit(X, y)
    model.predict(X[:2])
    assert min(heard(lambda: model.predict(X), 0.1, 0.2, 0.3)) < 100


@pytest.mark.compiled
def test_while_code_is_compiled():
    """Ctrl-C inside a callback of the compiler, which drops exceptions, is raised all the same."""

    def number(x):
        return x

    @overload(number)
    def _number(x):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return lambda x: x + 1

    @numba.njit
    def plus(x):
        return number(x)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        plus(1)
    assert signal.getsignal(signal.SIGINT) is before
    assert plus(1) == 2


# -- at chosen places, without a clock -------------------------------------------------------------------------------


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 4)), rng.integers(0, 2, size=50)


def breaks_off(monkeypatch, home, name, at):
    """The function `name` raises KeyboardInterrupt, after its work, when it is called for the `at`-th time."""
    work, calls = getattr(home, name), []

    def broken(*args, **kwargs):
        calls.append(name)
        result = work(*args, **kwargs)
        if len(calls) == at:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(home, name, broken)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_before_the_first_whole_epoch_nothing_has_happened(estimator, small, monkeypatch):
    X, y = small
    fresh = estimator(random_state=0)
    y = target_for(fresh, y)
    fitted = estimator(random_state=0, max_epochs=2).fit(X, y)
    for model in (fresh, fitted):
        before = contents(model)
        for call in (model.fit, model.partial_fit):
            with monkeypatch.context() as patch:
                breaks_off(patch, training, "sweep", 1)
                with pytest.raises(KeyboardInterrupt):
                    call(-3 * X, y)
            assert contents(model) == before
    assert same_model(fitted.partial_fit(X, y), estimator(random_state=0, max_epochs=3).fit(X, y))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_in_the_third_epoch_two_are_kept(estimator, small, monkeypatch):
    X, y = small
    model = estimator(random_state=0, max_epochs=9)
    y = target_for(model, y)
    with monkeypatch.context() as patch:
        breaks_off(patch, training, "sweep", 3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", 2)
    assert same_model(model, estimator(random_state=0, max_epochs=2).fit(X, y))
    assert same_model(model.partial_fit(X, y), estimator(random_state=0, max_epochs=3).fit(X, y))


@pytest.mark.parametrize("at", [1, 3])
def test_while_scoring_the_epoch_just_made_is_kept(at, small, monkeypatch):
    X, y = small
    model = Perceptron(early_stopping=True, n_iter_no_change=9, max_epochs=9, random_state=0)
    scored = []
    score = Perceptron._held_out_score

    def broken(self, kept, examples, rows):
        scored.append(kept)
        if len(scored) == at:
            raise KeyboardInterrupt
        return score(self, kept, examples, rows)

    monkeypatch.setattr(Perceptron, "_held_out_score", broken)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", at)
    assert np.array_equal(model.coef_, scored[-1].coef)
    assert model.report_.epochs[-1].score is None


def test_while_the_report_is_made_the_model_is_whole(small, monkeypatch):
    X, y = small
    breaks_off(monkeypatch, online_learner, "scanned", 1)
    model = Perceptron(random_state=0, max_epochs=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", 3)
    monkeypatch.undo()
    assert same_model(model, Perceptron(random_state=0, max_epochs=3).fit(X, y))


def test_while_rows_are_encoded_nothing_has_happened(small, monkeypatch):
    X, y = small
    model = Perceptron(random_state=0, max_epochs=3).fit(X, y)
    before = contents(model)
    breaks_off(monkeypatch, online_learner, "encode_rows", 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(2 * X[:, :3], y)
    assert contents(model) == before
