"""A call of `partial_fit` or `predict` on one sparse row costs what the row costs, not what all the weights would."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.planes.state import Machine
from rosenblatt.shell import fitting

D = 100_000
LEARNERS = {
    "last": Perceptron(),
    "average": AveragedPerceptron(),
    "vote": VotedPerceptron(),
    "margin": PAUM(margin=1.0),
    "PA": PassiveAggressive(),
    "AROW": AROW(),
    "second order": SecondOrderPerceptron(),
    "one-vs-rest": AveragedPerceptron(multiclass="ovr"),
    "one-vs-one": Perceptron(multiclass="ovo"),
    "numbers": PassiveAggressiveRegressor(),
}


def row(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    columns = rng.choice(D, 10, replace=False).astype(np.int32)  # not sorted
    return sp.csr_array((scale * rng.normal(size=10), columns, [0, 10]), shape=(1, D))


def label(model, seed, classes):
    return np.array([0.5 * seed if isinstance(model, PassiveAggressiveRegressor) else seed % classes])


def learned(name, classes, calls=6):
    model = copy.deepcopy(LEARNERS[name]).set_params(random_state=0)
    first = {} if name == "numbers" else {"classes": np.arange(classes)}
    model.partial_fit(row(0), label(model, 0, classes), **first)
    for seed in range(1, calls):
        model.partial_fit(row(seed), label(model, seed, classes))
    return model


def state_of(model):
    """Everything that was learned, as bytes."""
    held = pickle.loads(pickle.dumps(model))
    return pickle.dumps([vars(held)["_state"], getattr(held, "coef_", None), vars(held).get("classes_")])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_array_as_long_as_the_weights_is_made(name, classes):
    model = learned(name, classes)
    if name != "vote":
        model.predict(row(5))  # compiles
    tracemalloc.start()
    try:
        for seed in range(6, 16):
            model.partial_fit(row(seed), label(model, seed, classes))
            if name != "vote":
                model.predict(row(seed))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * D, f"{peak:,} bytes"


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "vote"])
def test_scores_by_the_weights_of_a_row_are_those_of_the_model(name, classes):
    model, x = learned(name, classes), row(2)
    score = model.predict if name == "numbers" else model.decision_function
    found = score(x)
    assert "coef_" not in vars(model)
    assert model.coef_.shape[-1] == D
    assert np.array_equal(found, score(x))


# Not compiled, an infinite variance is a step of length 0 for AROW, and nothing overflows.
AROW_OVERFLOWS = pytest.param("AROW", marks=pytest.mark.compiled)


@pytest.mark.parametrize("name", ["last", "average", "vote", AROW_OVERFLOWS, "one-vs-rest"])
def test_a_call_that_overflows_undoes_what_it_changed(name):
    model = learned(name, 3)
    before = state_of(model)
    big = sp.vstack([row(20 + k, 1e200) for k in range(3)] * 5, format="csr")
    with pytest.raises(NotFiniteError):
        model.partial_fit(big, np.arange(15) % 2)
    assert state_of(model) == before
    again = learned(name, 3)
    for one in (model, again):
        one.partial_fit(row(30), [1])
    assert state_of(model) == state_of(again)


def test_what_was_read_stays_and_copies_are_independent():
    model = learned("average", 3)
    before, shallow = model.coef_, copy.copy(model)
    values = before.copy()
    for seed in range(6, 12):
        model.partial_fit(row(seed), [seed % 3])
    assert np.array_equal(before, values)
    assert np.array_equal(shallow.coef_, values)
    assert not np.array_equal(model.coef_, values)
    shallow.partial_fit(row(6), [0])
    other = learned("average", 3, 7)
    assert np.array_equal(shallow.coef_, other.coef_)


def test_assigned_weights_are_gone_on_from():
    model = learned("last", 2)
    model.coef_ = np.zeros((1, D))
    model.partial_fit(row(7), [1])
    assert np.count_nonzero(model.coef_) == 10


def test_models_without_planes_have_no_coef():
    model = learned("vote", 2)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="'Perceptron' object has no attribute 'coef_'"):
        _ = Perceptron().coef_


@pytest.mark.parametrize("memory", ["shared", "read-only"])
def test_a_copy_in_borrowed_memory_has_a_state_of_its_own(memory):
    model, buffers = learned("average", 3), []
    sent = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    before = state_of(model)
    copied = pickle.loads(sent, buffers=buffers if memory == "shared" else [bytes(one) for one in buffers])
    copied.partial_fit(row(6), [0])
    assert state_of(model) == before
    assert np.array_equal(copied.coef_, learned("average", 3, 7).coef_)


def test_pressing_ctrl_c_again_while_a_call_is_undone_does_not_stop_the_undoing(monkeypatch):
    model, presses = learned("average", 3), [3, 2, 1]
    before = state_of(model)
    put = Machine.put

    def pressed(self, features, part):
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        put(self, features, part)

    def published(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Machine, "put", pressed)
    monkeypatch.setattr(fitting, "publish", published)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(row(6), [0])
    assert not presses
    assert state_of(model) == before
