"""Ctrl-C: the KeyboardInterrupt arrives, and the model of the last whole epoch is there."""

import contextlib
import copy
import dataclasses
import json
import pickle
import signal
import subprocess
import sys
import time

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.extending import overload

from ctrl_c import CtrlC
from family import ESTIMATORS, answers, contents, same_model, target_for
from from_files import dump_svmlight_file
from rosenblatt import (
    AROW,
    AveragedPerceptron,
    HierarchicalPerceptron,
    KernelPerceptron,
    KernelSVM,
    LinearClassifier,
    LinearSVM,
    MultilayerPerceptron,
    PassiveAggressive,
    Pegasos,
    Perceptron,
    SecondOrderPerceptron,
    SequencePerceptron,
    Tagger,
    VotedPerceptron,
    fit,
)
from rosenblatt.learn import epochs
from rosenblatt.online import solver as training
from rosenblatt.planes import linear_plan
from rosenblatt.shell import encoding, fitting

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Interrupts:
    """A callback that presses Ctrl-C some milliseconds after an epoch, in the middle of a later one."""

    def __init__(self, keys, after_epoch=2, delay=0.02):
        self.keys, self.after_epoch, self.delay = keys, after_epoch, delay

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch" and context.task_id + 1 == self.after_epoch:
            self.keys.press_in(self.delay)


def until_ctrl_c(model, X, y):
    """Fit the model until its third epoch is interrupted."""
    with CtrlC() as keys:
        model.set_callbacks(Interrupts(keys)).fit(X, y)
    print(f"{1000 * (time.process_time() - keys.pressed):.1f} ms from Ctrl-C to KeyboardInterrupt")
    model.set_callbacks()


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
    model = estimator(max_epochs=many, random_state=0, **knobs)
    until_ctrl_c(model, X, y)
    assert model.report_.outcome == "interrupted"
    assert "interrupted" in str(model.report_)
    whole = model.n_iter_
    assert 2 <= whole == len(model.report_.epochs) < many
    untouched = estimator(max_epochs=whole, random_state=0, **knobs).fit(X, y)
    assert same_model(model, untouched)
    assert np.array_equal(answers(model, X[:100]), answers(untouched, X[:100]))
    # It goes on where it was.
    assert same_model(model.partial_fit(X, y), untouched.partial_fit(X, y))


@pytest.mark.compiled
def test_while_rows_are_scored_that_were_held_out():
    X, y = table()
    model = Perceptron(early_stopping=True, validation_fraction=0.9, n_iter_no_change=10**6, max_epochs=10**6)
    until_ctrl_c(model, X, y)
    assert model.report_.outcome == "interrupted"
    assert model.n_iter_ >= 2


SCRIPT = """
import _thread, json, sys, threading, time, warnings
import numpy as np
from rosenblatt import Perceptron

sys.unraisablehook = lambda dropped: threading.Timer(0.05, _thread.interrupt_main).start()  # as in ctrl_c.py

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
        with CtrlC() as keys:
            keys.press_in(delay)
            forever(call)
        waits.append(1000 * (time.process_time() - keys.pressed))
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
def test_while_scoring_the_epoch_just_made_is_kept(at, small):
    X, y = small
    scored = []

    def broken(model, X, y):
        scored.append(model.coef_.copy())
        if len(scored) == at:
            raise KeyboardInterrupt
        return model.score(X, y)

    model = Perceptron(early_stopping=True, scoring=broken, n_iter_no_change=9, max_epochs=9, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", at)
    assert np.array_equal(model.coef_, scored[-1])
    assert model.report_.epochs[-1].score is None


def test_while_the_report_is_made_the_model_is_whole(small, monkeypatch):
    X, y = small
    breaks_off(monkeypatch, linear_plan, "scanned", 1)
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
    breaks_off(monkeypatch, encoding, "encode_rows", 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(2 * X[:, :3], y)
    assert contents(model) == before


# -- before every instruction ----------------------------------------------------------------------------------------

TRAINED = [fitting.train, fitting.publish, fitting.one_epoch, *(vars(epochs.Training)[name] for name in (
    "__post_init__", "__iter__", "_epoch"
))]  # fmt: skip


class Instructions:
    """Raises KeyboardInterrupt before the instruction `at` of those that our functions execute; counts them.

    Signals are handled between two instructions. `places` has the place of each in its function.
    """

    def __init__(self, at=None, everywhere=False):
        self.at, self.everywhere, self.places, self.raised = at, everywhere, [], False
        self.codes = {one.__code__ for one in TRAINED}

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.call)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)

    def call(self, frame, event, _):
        code = frame.f_code
        ours = "/rosenblatt/" in code.co_filename.replace("\\", "/") and "/tests/" not in code.co_filename
        if ours if self.everywhere else code in self.codes:
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
            return self.instruction
        return None

    def instruction(self, frame, event, _):
        if event == "opcode":
            if len(self.places) == self.at:
                self.raised = True
                raise KeyboardInterrupt
            self.places.append((frame.f_code, frame.f_lasti))
        return self.instruction


SHAPES = np.random.default_rng(0).normal(size=(24, 3))
LABELS = np.random.default_rng(1).integers(0, 2, size=24)
CLASSES = np.random.default_rng(1).integers(0, 3, size=24)
WORDS = [[f"w{int(3 * abs(x))}" for x in row] for row in SHAPES]
TAGS = [[f"t{int(5 * abs(x)) % 3}" for x in row] for row in SHAPES]
FEATURES = [[[word] for word in row] for row in WORDS]

TRAINABLE = {
    "last": (Perceptron, {}, SHAPES, LABELS),
    "many": (Perceptron, {}, SHAPES, CLASSES),
    "ovr": (Perceptron, {"multiclass": "ovr"}, SHAPES, CLASSES),
    "ovo": (Perceptron, {"multiclass": "ovo"}, SHAPES, CLASSES),
    "pocket": (Perceptron, {"keep": "pocket"}, SHAPES, LABELS),
    "average": (AveragedPerceptron, {}, SHAPES, LABELS),
    "vote": (VotedPerceptron, {}, SHAPES, LABELS),
    "PA": (PassiveAggressive, {}, SHAPES, LABELS),
    "AROW": (AROW, {}, SHAPES, LABELS),
    "AROW, full": (AROW, {"covariance": "full", "multiclass": "ovr"}, SHAPES, CLASSES),
    "kernel": (KernelPerceptron, {"gamma": 1.0}, SHAPES, LABELS),
    "kernel, average": (KernelPerceptron, {"gamma": 1.0, "keep": "average"}, SHAPES, CLASSES),
    "budget": (KernelPerceptron, {"max_support": 6, "gamma": 1.0}, SHAPES, LABELS),
    "KernelSVM": (KernelSVM, {"C": 1e5, "tol": 1e-13, "kernel": "linear"}, SHAPES, LABELS),
    "LinearSVM": (LinearSVM, {"C": 10.0, "tol": 1e-12}, SHAPES, LABELS),
    "LinearSVM, ovr": (LinearSVM, {"C": 10.0, "tol": 1e-12}, SHAPES, CLASSES),
    "LinearSVM, together": (LinearSVM, {"multiclass": "crammer_singer", "C": 10.0, "tol": 1e-12}, SHAPES, CLASSES),
    "Pegasos": (Pegasos, {"tol": 0.0}, SHAPES, LABELS),
    "stochastic": (LinearClassifier, {"solver": "stochastic", "penalty": "l1", "tol": 0.0}, SHAPES, LABELS),
    "batch": (LinearClassifier, {"solver": "batch", "tol": 1e-12}, SHAPES, CLASSES),
    "gradient": (LinearClassifier, {"solver": "gradient", "tol": 1e-12}, SHAPES, CLASSES),
    "network": (MultilayerPerceptron, {"hidden_layer_sizes": (3,), "tol": 0.0}, SHAPES, LABELS),
    "tree": (HierarchicalPerceptron, {"tree": [[0, 1], 2]}, SHAPES, CLASSES),
    "sequence": (SequencePerceptron, {}, FEATURES, TAGS),
    "tagger": (Tagger, {}, WORDS, TAGS),
}
EPOCHS = 4


def learned(model):
    """What training made, as bytes: without times, and what says how it ended."""
    found, report = dict(vars(model)), model.report_
    del found["report_"]
    for setting in ("max_epochs", "early_stopping"):
        found.pop(setting, None)
    found["records"] = [dataclasses.replace(one, seconds=0.0, converged=False, score=None) for one in report.epochs]
    found["updates"], found["shards"] = report.updates, report.sharding and report.sharding.mistakes
    return {name: pickle.dumps(value) for name, value in found.items()}


def sites(places, few, seed):
    """One instruction for each place in a function, at any of the times that it was executed; `few` of them."""
    times = {}
    for at, place in enumerate(places):
        times.setdefault(place, []).append(at)
    rng = np.random.default_rng(seed)
    found = [int(rng.choice(each)) for each in times.values()]
    return found if few is None else rng.permutation(found)[:few].tolist()


def check_at(train, make, whole, places, few, everywhere=False):
    """Interrupt training at these places: the model is that of the whole epochs that its report has."""
    kept = []
    for at in sites(places, few, len(places)):
        model, interrupt = make(EPOCHS), Instructions(at, everywhere)
        try:
            with interrupt:
                train(model)
            assert not interrupt.raised, (at, places[at])
            continue  # what is done once, such as an import, is not done again
        except KeyboardInterrupt:
            pass
        if not hasattr(model, "report_"):
            assert set(vars(model)) == set(vars(make(EPOCHS))), at
            kept.append(0)
            continue
        count = len(model.report_.epochs)
        assert model.n_iter_ == count >= 1
        assert model.report_.outcome == "interrupted" or (count == EPOCHS and model.report_.errors is not None)
        assert learned(model) == whole[count], (at, places[at])
        kept.append(count)
    return kept


@pytest.mark.compiled
@pytest.mark.parametrize("name", TRAINABLE)
def test_before_any_instruction_weights_and_records_are_of_the_same_epoch(name):
    """All of them for one learner, and for the others some at random."""
    estimator, knobs, X, y = TRAINABLE[name]

    def make(most):
        model = estimator(max_epochs=most, **knobs)
        return model.set_params(random_state=0)

    whole = {count: learned(make(count).fit(X, y)) for count in range(1, EPOCHS + 1)}
    with Instructions() as counted:
        make(EPOCHS).fit(X, y)
    kept = check_at(lambda model: model.fit(X, y), make, whole, counted.places, None if name == "last" else 12)
    assert name != "last" or set(kept) == set(range(EPOCHS + 1))
    with Instructions(everywhere=True) as counted:
        make(EPOCHS).fit(X, y)
    check_at(lambda model: model.fit(X, y), make, whole, counted.places, 5, everywhere=True)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["last", "stochastic", "network"])
def test_before_any_instruction_the_best_epoch_is_not_mistaken_for_the_last(name):
    """With rows to score, every epoch is the plain fit's; once all is reported, the best is the model."""
    estimator, knobs, X, y = TRAINABLE[name]
    X_val, y_val = SHAPES[::-1] + 0.5, LABELS

    def make(most, early=True):
        return estimator(max_epochs=most, n_iter_no_change=99, early_stopping=early, random_state=0, **knobs)

    whole = {count: learned(make(count, early=False).fit(X, y)) for count in range(1, EPOCHS + 1)}
    ended = make(EPOCHS).fit(X, y, X_val=X_val, y_val=y_val)
    with Instructions() as counted:
        make(EPOCHS).fit(X, y, X_val=X_val, y_val=y_val)
    for at in sites(counted.places, 20, 0):
        model = make(EPOCHS)
        with Instructions(at), pytest.raises(KeyboardInterrupt):
            model.fit(X, y, X_val=X_val, y_val=y_val)
        if hasattr(model, "report_"):
            expected = whole[model.n_iter_]
            if model.report_.outcome != "interrupted":
                expected = learned(ended)
            assert learned(model) == expected, (at, counted.places[at])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["last", "average", "AROW", "kernel", "stochastic", "network", "tree", "sequence"])
def test_before_any_instruction_of_a_piece_the_model_has_it_or_not(name):
    estimator, knobs, X, y = TRAINABLE[name]
    # A copy, as those to be compared are: which objects two attributes share is written to a pickle.
    before = copy.deepcopy(estimator(max_epochs=2, random_state=0, **knobs).fit(X, y))
    after = copy.deepcopy(before).partial_fit(X, y)
    with Instructions() as counted:
        copy.deepcopy(before).partial_fit(X, y)
    seen = set()
    for at in sites(counted.places, 20, 0):
        model = copy.deepcopy(before)
        with Instructions(at), pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y)
        seen.add(model.n_iter_)
        assert learned(model) == learned(before if model.n_iter_ == before.n_iter_ else after), (at, counted.places[at])
    assert seen <= {before.n_iter_, after.n_iter_}


@pytest.mark.compiled
@pytest.mark.parametrize("shards", [None, 2])
def test_before_any_instruction_of_a_fit_from_files_too(shards, tmp_path):
    path = tmp_path / "rows.svm"
    dump_svmlight_file(SHAPES, LABELS, path)

    def make(most):
        return AveragedPerceptron(max_epochs=most, random_state=0)

    def train(model):
        fit(model, path, shards=shards, checkpoint=tmp_path / "point")

    whole = {}
    for count in range(1, EPOCHS + 1):
        whole[count] = learned(fit(make(count), path, shards=shards))
    with Instructions(everywhere=True) as counted:
        train(make(EPOCHS))
    trained = [at for at, (code, _) in enumerate(counted.places) if code.co_filename.endswith(FOLLOWED)]
    kept = []
    for at in np.random.default_rng(0).permutation(trained)[:12].tolist():
        model = make(EPOCHS)
        try:
            with Instructions(at, everywhere=True):
                train(model)
        except KeyboardInterrupt:  # holds the frames, and with them what iterates over the steps of training
            if hasattr(model, "report_"):
                assert learned(model) == whole[model.n_iter_], (at, counted.places[at])
            else:
                assert not hasattr(model, "coef_"), (at, counted.places[at])
            kept.append(model.n_iter_ if hasattr(model, "report_") else 0)
    assert len(set(kept)) > 1


FOLLOWED = ("epochs.py", "fitting.py", "progress.py", "mixing.py", "fit_from_files.py")
