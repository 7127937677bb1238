"""`Tagger`: its greedy rule against a slow twin, and what it promises as an estimator."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import rosenblatt
from rosenblatt import Tagger
from rosenblatt.learn.orders import Shuffled
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes
from rosenblatt.sequence.tagger import TEMPLATE
from rosenblatt.sequence.templates import MACRO
from rosenblatt.sequence.words import columns_of, common_form, shape

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WORDS = ["The", "dog", "Barks", "well-known", "1984", "3rd", "in", "IBM", "a"]


def corpus(sentences=25, seed=0):
    """Tags that depend on the word, its ending and the tag before, with exceptions."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        words = [WORDS[k] for k in rng.integers(0, len(WORDS), size=rng.integers(0, 6))]
        tags = []
        for word in words:
            after = tags[-1] if tags else "start"
            tags.append(
                "N" if word in ("The", "a") and after == "V" else "V" if rng.random() < 0.3 else word[:1].upper()
            )
        X.append(words)
        y.append(tags)
    return X, y


X, Y = corpus()


def features_of(words, t, one, two):
    """The features of a token by the template's words, and those of the tags before it."""
    columns = [columns_of(word) for word in words]

    def cell(match):
        at = t + int(match.group(1))
        if at < 0:
            return f"_B{at}"
        return f"_B+{at - len(words) + 1}" if at >= len(words) else columns[at][int(match.group(2))]

    found = [MACRO.sub(cell, line) for line in TEMPLATE.split("\n") if line]
    return [*found, ("one", one), ("two", two), ("both", one, two), ("word", columns[t][0], one)]


def twin(X, Y, sure, epochs, seed):
    """Greedy averaged training in plain Python: the tags that it predicts for the same sentences."""
    tags = sorted({tag for one in Y for tag in one})
    weights, sums, clock, updates = {}, {}, 0, 0

    def best(features, table):
        scores = [sum(table.get((feature, tag), 0.0) for feature in features) for tag in tags]
        return tags[int(np.argmax(scores))]

    for epoch in range(epochs):
        for i in Shuffled(len(X), seed).piece(epoch, 0, len(X)).tolist():
            one = two = None
            for t, word in enumerate(X[i]):
                said = sure.get(word)
                if said is None:
                    features = features_of(X[i], t, one, two)
                    said, gold = best(features, weights), Y[i][t]
                    if said != gold:
                        updates += 1
                        for feature in features:
                            for tag, sign in ((gold, 1.0), (said, -1.0)):
                                weights[feature, tag] = weights.get((feature, tag), 0.0) + sign
                                sums[feature, tag] = sums.get((feature, tag), 0.0) + sign * clock
                    clock += 1
                one, two = said, one
    averages = {key: np.float32(w - sums[key] / clock) for key, w in weights.items()}
    found = []
    for words in X:
        one = two = None
        said = []
        for t, word in enumerate(words):
            tag = sure.get(word) or best(features_of(words, t, one, two), averages)
            said.append(tag)
            one, two = tag, one
        found.append(said)
    return found, updates


@pytest.mark.parametrize("settings", [{}, {"sure_count": 3, "sure_share": 0.6}])
def test_it_is_its_slow_twin(settings):
    model = Tagger(random_state=4, max_epochs=3, **settings).fit(X, Y)
    said, updates = twin(X, Y, model.sure_, 3, 4)
    assert bool(model.sure_) == bool(settings)
    assert model.report_.updates == updates
    assert model.predict(X) == said


def test_sure_words_are_those_with_one_tag():
    words = [["up"] * 3 + ["down"] * 4 + ["rare"]]
    tags = [["A", "A", "B"] + ["C"] * 4 + ["A"]]
    assert Tagger(sure_count=3, sure_share=0.9).fit(words, tags).sure_ == {"down": "C"}
    assert Tagger(sure_count=3, sure_share=0.6).fit(words, tags).sure_ == {"down": "C", "up": "A"}
    assert Tagger().fit(words, tags).sure_ == {}


def test_its_report_adds_up():
    with pytest.warns(ConvergenceWarning, match="training words wrong"):
        model = Tagger(random_state=0, max_epochs=2).fit(X, Y)
    said = model.predict(X)
    wrong = sum(a != b for one in zip(said, Y, strict=True) for a, b in zip(*one, strict=True))
    assert model.report_.token_errors == wrong
    assert model.report_.errors == sum(a != b for a, b in zip(said, Y, strict=True))
    assert model.score(X, Y) == pytest.approx(1 - wrong / model.report_.tokens)
    easy = Tagger(random_state=0, max_epochs=20).fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
    assert (easy.report_.outcome, easy.score([["a", "b"]], [["A", "NEW"]])) == ("separated", 0.5)


def test_words_that_training_did_not_meet_get_tags_too():
    model = Tagger(random_state=0).fit([["walking", "talking", "cat"]], [["VBG", "VBG", "NN"]])
    assert model.predict([["parking"], [], ["cat", "Ωmega"]])[0] == ["VBG"]
    assert [len(tags) for tags in model.predict([["parking"], [], ["cat", "Ωmega"]])] == [1, 0, 2]


def test_it_is_kept_and_copied():
    model = Tagger(random_state=0, sure_count=3, sure_share=0.6).fit(X, Y)
    again = from_bytes(to_bytes(model))
    assert again.predict(X) == model.predict(X) == pickle.loads(pickle.dumps(model)).predict(X)
    assert again.sure_ == model.sure_
    assert str(again.report_) == str(model.report_)
    assert clone(model).get_params() == model.get_params()
    assert Tagger(random_state=0, sure_count=3, sure_share=0.6).fit(X, Y).predict(X) == model.predict(X)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda model: model._kept.slots.__setitem__(0, 9999),
        lambda model: model._kept.slots.__setitem__(-1, 1),
        lambda model: model._sure.__setitem__("x", 99),
        lambda model: setattr(model, "classes_", model.classes_[:2]),
        lambda model: setattr(model, "n_features_in_", 3),
        lambda model: model._features.keys.__setitem__((0, 0), 99),
    ],
)
def test_a_model_whose_parts_do_not_fit_is_not_saved(break_it):
    model = Tagger(random_state=0).fit(X, Y)
    break_it(model)
    with pytest.raises(rosenblatt.FileError, match="not in a state"):
        to_bytes(model)


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        ([["a", 1]], [["A", "B"]], "lists of words, each a string; found int"),
        (["text"], [["A"]], "expected a sequence of tokens, found str"),
        ([["a"]], [["A", "B"]], "Sentence 0 has 1 tokens and 2 tags"),
        ([], [], "Found no words"),
        ([[]], [[]], "Found no words"),
        (np.eye(2), [["A"], ["B"]], "found float64"),
        (sp.csr_array(np.eye(2)), [["A"], ["B"]], "got csr_array"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(sentences, tags, message):
    model = Tagger()
    with pytest.raises(ValueError, match=message):
        model.fit(sentences, tags)
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict([["a"]])


def test_forms_of_words():
    assert [common_form(word) for word in ("The", "-x", "x-y", "1984", "19", "")] == [
        "the", "-x", "!hyphen", "!year", "!digits", "",
    ]  # fmt: skip
    assert [shape(word) for word in ("IBM", "McDonald", "3.5", "a-b", "")] == ["X", "XxXx", "0.0", "x-x", ""]


def test_weights_beyond_the_memory_are_refused():
    X, y = [[f"w{k}" for k in range(50)]], [["A", "B"] * 25]
    with pytest.raises(ValueError, match=r"words and 2 tags may take [0-9,]+ MB, more than memory=10000"):
        Tagger(memory=10_000).fit(X, y)
    assert Tagger(memory="1MB", random_state=0).fit(X, y).score(X, y) == 1.0


def test_fit_from_a_file_says_how(tmp_path):
    path = tmp_path / "tagged.txt"
    path.write_text("the DT\ndog NN\n\na DT\ncat NN\n")
    for source, options in ((path, {}), (path, {"shards": 2}), (tmp_path / "missing.csv", {"memory": "1GB"})):
        with pytest.raises(TypeError) as caught:
            rosenblatt.fit(Tagger(), source, **options)
    said = str(caught.value)
    names = {"rosenblatt": rosenblatt, "Tagger": lambda: Tagger(random_state=0), "file": path}
    read, taught = re.search(r"(X, y = .*?), then (.*y\))\.", said).groups()
    exec(read, names)
    assert eval(taught, names).predict([["the", "cat"]]) == [["DT", "NN"]]
    assert "SequencePerceptron(template=...)" in said
