"""`SequencePerceptron`: what it promises as an estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import rosenblatt
from rosenblatt import SequencePerceptron
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes
from rosenblatt.sequence.constraints import forbidden_moves, lengths_without_path

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def corpus(sentences=30, seed=0, noise=0.1):
    """Sentences whose tags depend on the word and on the tag before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        words = rng.integers(0, 12, size=rng.integers(1, 6))
        tags, before = [], "O"
        for word in words:
            tag = "O" if word < 5 else "I-X" if word > 9 and before != "O" else "B-X"
            before = tag if rng.random() > noise else "O"
            tags.append(tag)
        X.append([[f"w{word}", "bias"] if place else [f"w{word}", "bias", "first"] for place, word in enumerate(words)])
        y.append(tags)
    return X, y


X, Y = corpus()


def same(one, other):
    """Two models that are one to the bit."""
    assert np.array_equal(one.classes_, other.classes_)
    assert one.features_ == other.features_
    for name in ("coef_", "transitions_", "start_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("rows", "sums", "transitions", "move_sums", "tally", "slots"):
        assert np.array_equal(getattr(one._state, name), getattr(other._state, name)), name
    return True


# -- learning --------------------------------------------------------------------------------------------------------


def test_it_learns_and_its_report_adds_up():
    model = SequencePerceptron(random_state=0, max_epochs=60).fit(*corpus(noise=0.0))
    report = model.report_
    assert report.outcome == "separated"
    assert (report.errors, report.token_errors) == (0, 0)
    assert report.tokens == sum(map(len, corpus(noise=0.0)[0]))
    assert report.updates == sum(record.updates for record in report.epochs)
    assert report.bound == pytest.approx((report.radius / report.margin) ** 2)
    assert 0 < report.updates <= report.bound
    assert "tags of every training sentence right" in str(report)
    assert model.score(*corpus(noise=0.0)) == 1.0


def test_errors_are_those_of_its_own_predictions():
    with pytest.warns(ConvergenceWarning, match=r"spent its 2 epochs with \d+ of 30 training sentences wrong"):
        model = SequencePerceptron(random_state=0, max_epochs=2).fit(X, Y)
    said = model.predict(X)
    assert model.report_.errors == sum(a != b for a, b in zip(said, Y, strict=True))
    wrong = sum(a != b for one, other in zip(said, Y, strict=True) for a, b in zip(one, other, strict=True))
    assert model.report_.token_errors == wrong
    assert model.score(X, Y) == pytest.approx(1 - wrong / model.report_.tokens)
    assert model.report_.bound is None


@pytest.mark.parametrize("settings", [{}, {"rule": "pa"}, {"keep": "last", "order": "random"}, {"order": "cyclic"}])
def test_partial_fits_are_one_fit(settings):
    whole = SequencePerceptron(random_state=3, max_epochs=4, **settings).fit(X, Y)
    parts = SequencePerceptron(random_state=3, **settings)
    for _ in range(whole.n_iter_):
        parts.partial_fit(X, Y)
    assert same(whole, parts)
    assert [record.updates for record in whole.report_.epochs] == [record.updates for record in parts.report_.epochs]


def test_a_saved_model_learns_on_as_if_never_saved(tmp_path):
    whole = SequencePerceptron(random_state=3, max_epochs=4).fit(X, Y)
    part = SequencePerceptron(random_state=3, max_epochs=2).fit(X, Y)
    rosenblatt.save(part, tmp_path / "model")
    again = rosenblatt.load(tmp_path / "model")
    assert again.predict(X) == part.predict(X)
    assert same(whole, again.partial_fit(X, Y).partial_fit(X, Y))
    assert same(again, pickle.loads(pickle.dumps(again)))


def test_new_features_and_tags_may_come_in_any_call():
    model = SequencePerceptron(random_state=0, order="cyclic").partial_fit([[["a"], ["b"]]], [["N", "V"]])
    before = model.weights("a")
    model.partial_fit([[["c"], ["b"]]], [["A", "V"]])
    assert model.classes_.tolist() == ["A", "N", "V"]
    assert model.features_ == ["a", "b", "c"]
    named = SequencePerceptron(random_state=0, order="cyclic")
    named.partial_fit([[["a"], ["b"]]], [["N", "V"]], classes=["A", "N", "V"])
    assert named.classes_.tolist() == ["A", "N", "V"]
    assert set(before) == {"N", "V"}


def test_growing_keeps_what_was_learned():
    model = SequencePerceptron(random_state=0, keep="last").partial_fit(X, Y)
    old = {name: model.weights(name) for name in model.features_}
    moves = model.transitions_.copy()
    model.partial_fit([[["new"]]], [["C-NEW"]])  # between the other tags
    for name, weights in old.items():
        assert {tag: model.weights(name)[tag] for tag in weights} == weights, name
    kept = [model.classes_.tolist().index(tag) for tag in ("B-X", "I-X", "O")]
    assert np.array_equal(model.transitions_[np.ix_(kept, kept)], moves)


def test_averages_are_means_over_visits():
    few = corpus(4)
    last = SequencePerceptron(random_state=0, keep="last", order="cyclic", max_epochs=1)
    seen = []
    for place in range(4):
        last.set_params(order=[0]).partial_fit(few[0][place : place + 1], few[1][place : place + 1])
        seen.append({name: last.weights(name) for name in last.features_})
    tags = last.classes_.tolist()
    model = SequencePerceptron(random_state=0, order="cyclic", max_epochs=1).fit(*few)
    for name in model.features_:
        for tag in tags:
            mean = sum(weights.get(name, {}).get(tag, 0.0) for weights in seen) / 4
            assert model.weights(name)[tag] == np.float32(mean)


def test_early_stopping_returns_the_best_epoch():
    model = SequencePerceptron(random_state=0, early_stopping=True, n_iter_no_change=2, max_epochs=30)
    model.fit(*corpus(60, noise=0.5))
    scores = [record.score for record in model.report_.epochs]
    assert all(0 <= score <= 1 for score in scores)
    assert model.report_.rows == 54
    best = SequencePerceptron(random_state=0, early_stopping=True, max_epochs=int(np.argmax(scores)) + 1)
    best.fit(*corpus(60, noise=0.5))
    assert np.array_equal(model.coef_, best.coef_)


def test_the_order_is_followed():
    only = SequencePerceptron(order=[2, 2], max_epochs=1, keep="last").fit(X, Y)
    alone = SequencePerceptron(order=[0, 0], max_epochs=1, keep="last").fit(X[2:3], Y[2:3])
    for name in alone.features_:
        assert {tag: only.weights(name)[tag] for tag in alone.classes_} == alone.weights(name)
    assert only._state.tally[0] == 2


def test_callbacks_watch_and_stop():
    from sklearn.callback import ProgressBar

    model = SequencePerceptron(random_state=0, max_epochs=2)
    model.set_callbacks(ProgressBar())
    model.fit(X, Y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_passive_aggressive_steps_are_bounded_by_C(C):
    model = SequencePerceptron(rule="pa", C=C, keep="last", order="cyclic", max_epochs=1).fit(X[:1], Y[:1])
    assert np.abs(model.coef_).max() <= C * max(map(len, X[:1]))
    assert model.report_.bound is None


# -- edges -----------------------------------------------------------------------------------------------------------


def test_empty_and_short_sentences():
    model = SequencePerceptron(random_state=0).fit([[], [["a"]], [["b"], ["a"]]], [[], ["A"], ["B", "A"]])
    assert model.predict([[], [["b"]], []]) == [[], ["B"], []]
    assert model.predict([]) == []
    assert model.predict([[["a"], [], {}]])[0][0] == "A"
    assert model.report_.rows == 3


def test_one_tag_is_learned_at_once():
    model = SequencePerceptron().fit([[["a"], ["b"]]], [["N", "N"]])
    assert model.predict([[["c"]]]) == [["N"]]
    assert (model.report_.outcome, model.report_.updates) == ("separated", 0)
    assert from_bytes(to_bytes(model)).predict([[["c"]]]) == [["N"]]


def test_tags_that_training_did_not_meet_are_never_right():
    model = SequencePerceptron(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
    assert model.score([[["a"], ["b"]]], [["A", "NEW"]]) == 0.5


def test_whole_numbers_are_tags():
    model = SequencePerceptron(random_state=0).fit([[["a"], ["b"]]], [[3, 1]])
    assert model.predict([[["a"], ["b"]]]) == [[3, 1]]
    assert model.classes_.tolist() == [1, 3]
    rows = SequencePerceptron(random_state=0).fit([[1.0, 0.0], [0.0, 1.0]] @ np.eye(2), [-1.0, 1.0])
    assert rows.classes_.tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="continuous"):
        rows.fit(np.eye(2), [0.5, 1.0])


def test_tags_that_never_follow_each_other_can_be_forbidden():
    X = [[["b"], ["i"], ["o"]], [["o"], ["b"]], [["b"], ["b"], ["i"]]]
    Y = [["B-X", "I-X", "O"], ["O", "B-Y"], ["B-X", "B-Y", "I-Y"]]
    model = SequencePerceptron(constraints="iob2", random_state=0).fit(X, Y)
    rng = np.random.default_rng(0)
    for _ in range(20):
        words = [[str(rng.choice(list("bio")))] for _ in range(6)]
        said = model.predict([words])[0]
        for before, tag in zip(["O", *said], said, strict=False):
            assert not tag.startswith("I") or before[1:] == tag[1:], said
    assert np.isfinite(model.transitions_).all()


@pytest.mark.parametrize(
    ("scheme", "tags", "message"),
    [
        ("iob2", ["O", "I-X"], "Sentence 1, token 1: 'I-X' after 'O' is not IOB2"),
        ("iob2", ["I-X", "O"], "Sentence 1, token 0: 'I-X' at the start of a sentence is not IOB2"),
        ("iob1", ["O", "B-X"], "Sentence 1, token 1: 'B-X' after 'O' is not IOB1"),
        ("iobes", ["O", "B-X"], "Sentence 1, token 1: 'B-X' at the end of a sentence is not IOBES"),
        ("iob2", ["O", "S-X"], 'constraints="iob2" needs tags such as I, O, B with a kind'),
    ],
)
def test_gold_tags_must_keep_to_the_constraints(scheme, tags, message):
    with pytest.raises(ValueError, match=message):
        SequencePerceptron(constraints=scheme).fit([[["a"]], [["a"], ["b"]]], [["O"], tags])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[["a"]]], [["A", "B"]], "Sentence 0 has 1 tokens and 2 tags"),
        ([[["a"]]], [["A"], ["B"]], "X has 1 sentences, y has 2"),
        ([[["a"]]], ["A"], "sequence of strings"),
        ([[["a"]]], None, "requires y"),
        ([[["a"]]], [[None]], "Tags must all be strings"),
        ([[["a"], ["b"]]], [["A", 1]], "Tags must all be strings or all whole numbers"),
        ([], [], "no feature"),
        ([[]], [[]], "no feature"),
        ([[[]]], [["A"]], "no feature"),
        ([[["a"]]], [[["A"]]], "Tags must be strings"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(X, Y, message):
    model = SequencePerceptron()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
    assert "_features" not in vars(model)


def test_weights_over_memory_are_refused():
    with pytest.raises(ValueError, match=r"more than memory='1kB': leave out rare features \(min_count"):
        SequencePerceptron(memory="1kB").fit(X, Y)
    with pytest.raises(ValueError, match="memory must be a size"):
        SequencePerceptron(memory="much").fit(X, Y)


def test_what_does_not_exist_is_named():
    model = SequencePerceptron(random_state=0).fit(X, Y)
    for name in ("predict_proba", "predict_marginals"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="marginals do not exist"):
            getattr(model, name)
    with pytest.raises(KeyError, match="'nothing' is not a feature"):
        model.weights("nothing")
    with pytest.raises(NotFittedError):
        SequencePerceptron().predict(X)
    with pytest.raises(NotFittedError):
        SequencePerceptron().transitions_  # noqa: B018


def test_calls_that_do_not_go_on_are_refused():
    model = SequencePerceptron(random_state=0).partial_fit(X, Y)
    before = model.coef_.copy()
    for settings, message in (
        ({"keep": "last"}, "keep was 'average'"),
        ({"min_count": 2}, "min_count"),
        ({"early_stopping": True}, "early_stopping"),
    ):
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(model)).set_params(**settings).partial_fit(X, Y)
    with pytest.raises(ValueError, match="order names sentence 99"):
        SequencePerceptron(order=[99]).fit(X, Y)
    with pytest.raises(ValueError, match="fitted to features by name"):
        model.predict(np.ones((3, 2)))
    with pytest.raises(ValueError, match="lengths is for rows"):
        model.predict(X, lengths=[1])
    assert np.array_equal(model.coef_, before)


# -- rows of an array ------------------------------------------------------------------------------------------------


def as_rows(X, names):
    tokens = [token for sentence in X for token in sentence]
    matrix = sp.lil_array((len(tokens), len(names)))
    for place, token in enumerate(tokens):
        for name in token:
            matrix[place, names.index(name)] += 1
    return sp.csr_array(matrix), [len(sentence) for sentence in X]


def test_rows_with_lengths_are_sentences_of_names():
    named = SequencePerceptron(random_state=0, max_epochs=3).fit(X, Y)
    rows, lengths = as_rows(X, named.features_)
    flat = [tag for tags in Y for tag in tags]
    for given in (rows, sp.csr_matrix(rows), rows.toarray(), rows.astype(np.float32)):
        model = SequencePerceptron(random_state=0, max_epochs=3).fit(given, flat, lengths)
        assert np.array_equal(model.coef_, named.coef_)
        assert model.predict(given, lengths).tolist() == [tag for tags in named.predict(X) for tag in tags]
        assert model.score(given, flat, lengths) == named.score(X, Y)
        assert model.features_ is None
        assert model.weights(0) == named.weights(named.features_[0])


def test_rows_without_lengths_are_one_sentence():
    rows, _ = as_rows(X, sorted({name for one in X for token in one for name in token}))
    flat = [tag for tags in Y for tag in tags]
    model = SequencePerceptron(random_state=0, max_epochs=2).fit(rows, flat)
    assert model.report_.rows == 1
    with pytest.raises(ValueError, match="lengths add up to 3 tokens, X has"):
        model.fit(rows, flat, [1, 2])
    with pytest.raises(ValueError, match="whole numbers"):
        model.fit(rows, flat, [0.5])
    with pytest.raises(ValueError, match="tags"):
        model.fit(rows, flat[:-1])
    with pytest.raises(ValueError, match="NaN at row 0, column 0"):
        model.fit(np.full((2, 2), np.nan), ["a", "b"])
    with pytest.raises(ValueError, match="too large for float32"):
        model.fit(np.full((2, 2), 1e200), ["a", "b"])
    with pytest.raises(ValueError, match="select the columns"):
        SequencePerceptron(min_count=2).fit(rows, flat)
    with pytest.raises(ValueError, match="fitted to rows"):
        model.predict(X)


# -- scikit-learn ----------------------------------------------------------------------------------------------------


def test_it_is_cloned_and_searched():
    model = SequencePerceptron(rule="pa", C=0.5, constraints="iob2", max_epochs=2, random_state=1)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(SequencePerceptron(random_state=0), {"max_epochs": [1, 3], "rule": ["perceptron", "pa"]})
    search.fit(X, Y)
    assert 0.5 < search.best_score_ <= 1
    assert search.predict(X[:2]) == search.best_estimator_.predict(X[:2])
    assert len(cross_val_score(SequencePerceptron(random_state=0), X, Y, cv=3)) == 3


# -- model files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "break_it",
    [
        lambda model: model._kept.slots.__setitem__(0, 99),
        lambda model: model._kept.slots.__setitem__(-1, 1),
        lambda model: model._kept.forbidden.__setitem__((0, 0), np.nan),
        lambda model: model._state.tally.__setitem__(4, 99),
        lambda model: model._state.tally.__setitem__(0, -1),
        lambda model: setattr(model, "classes_", model.classes_[:2]),
        lambda model: setattr(model, "n_features_in_", 3),
        lambda model: setattr(model._state, "sums", model._state.sums[:1]),
        lambda model: setattr(model._state, "rows", model._state.rows.astype(np.float64)),
        lambda model: setattr(model, "_features", None) or setattr(model, "_kept", None),
        lambda model: model._features.vocabulary.index.pop("bias"),
    ],
)
def test_a_model_whose_parts_do_not_fit_is_not_saved(break_it):
    model = SequencePerceptron(random_state=0, max_epochs=2).fit(X, Y)
    assert from_bytes(to_bytes(model)).predict(X) == model.predict(X)
    break_it(model)
    with pytest.raises(rosenblatt.FileError, match="not in a state"):
        to_bytes(model)


def test_sentences_that_constraints_allow_no_path_through_are_tagged_without():
    """Training had chunks of two tokens and more, and a word alone can be none of their tags."""
    words = {"b": "B-X", "i": "I-X", "e": "E-X"}
    X = [[[letter] for letter in sentence] for sentence in ("bebe", "biie", "bie", "be")]
    y = [[words[token[0]] for token in sentence] for sentence in X]
    model = SequencePerceptron(constraints="iobes", random_state=0).fit(X, y)
    free = pickle.loads(pickle.dumps(model))
    object.__setattr__(free._kept, "forbidden", np.zeros_like(model._kept.forbidden))
    alone = [[[letter]] for letter in "bie"]
    assert model.predict([*alone, *X, []]) == [*free.predict(alone), *y, []]
    assert model.predict(alone)[1] == ["I-X"]
    model = SequencePerceptron(constraints="iobes", random_state=0).fit(X[:1], y[:1])  # only even lengths have paths
    assert model.predict([X[0] * 2])[0] == y[0] * 2
    rows = np.zeros_like(model._kept.rows)
    rows[:, 1] = 1
    object.__setattr__(model._kept, "rows", rows)
    assert model.predict([X[0][:3]]) == [["E-X"] * 3]


@pytest.mark.parametrize("longest", [0, 1, 2, 7, 40])
def test_lengths_without_a_path(longest):
    for tags, few in ((["B-X", "E-X"], lambda n: n % 2 == 1), (["B-X", "I-X", "E-X"], lambda n: n == 1),
                      (["O", "B-X", "E-X"], lambda n: False)):  # fmt: skip
        moves = forbidden_moves(tags, "iobes")
        assert lengths_without_path(moves, longest).tolist() == [few(n) for n in range(longest + 1)]


def test_a_series_of_sentences_is_no_table():
    X, y = [[["a"], ["b"]], [["c"]]], [["A", "B"], ["C"]]
    model = SequencePerceptron(random_state=0).fit(pd.Series(X), pd.Series(y))
    assert model.predict(pd.Series(X)) == y
    assert model.score(pd.Series(X), pd.Series(y)) == 1.0
