"""CRF++'s templates: expanded as its documentation says, and refused with the line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import FileError, SequencePerceptron
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes
from rosenblatt.sequence import templates
from rosenblatt.sequence.templates import Template, TemplateFeatures

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# The example of CRF++'s documentation.
WORDS = [[("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("account", "NN")]]


def expanded(template, sentences, token=None):
    """The names of the features of each token of the first sentence."""
    features, rows = TemplateFeatures.collected(sentences, template)
    names, columns = features.names, rows.features.columns.tolist()
    per = len(Template.parse(template).lines)
    each = [[names[column] for column in columns[at : at + per]] for at in range(0, len(columns), per)]
    return each if token is None else each[token]


def by_the_book(template, sentence):
    """The expansion of one sentence by the words of the documentation."""
    found = []
    for t in range(len(sentence)):
        names = []
        for line in template.splitlines():
            if not line.startswith("U"):
                continue

            def cell(match, t=t):
                at = t + int(match.group(1))
                if at < 0:
                    return f"_B{at}"
                if at >= len(sentence):
                    return f"_B+{at - len(sentence) + 1}"
                return sentence[at][int(match.group(2))]

            names.append(templates.MACRO.sub(cell, line))
        found.append(names)
    return found


def test_the_example_of_the_documentation():
    template = "\n".join(["U:%x[0,0]", "U:%x[0,1]", "U:%x[-1,0]", "U:%x[-2,1]", "U:%x[0,0]/%x[0,1]", "U:ABC%x[0,1]123"])
    assert expanded(template, WORDS, 2) == ["U:the", "U:DT", "U:reckons", "U:PRP", "U:the/DT", "U:ABCDT123"]


def test_beyond_the_sentence_cells_have_names_of_their_own():
    assert expanded("U1:%x[-2,0]/%x[2,1]", [[("a", "A"), ("b", "B")]]) == [["U1:_B-2/_B+1"], ["U1:_B-1/_B+2"]]


def test_lines_with_the_same_text_share_features():
    features, rows = TemplateFeatures.collected([[("a",), ("b",), ("a",)]], "U:%x[-1,0]\nU:%x[1,0]")
    assert sorted(features.names) == ["U:_B+1", "U:_B-1", "U:a", "U:b"]
    a = features.number("U:a")
    assert rows.features.columns.reshape(-1, 2)[1].tolist() == [a, a]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), max_size=4), min_size=1, max_size=4),
    st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), max_size=3).map(
            lambda cells: "U" + "/".join(f"%x[{offset},{column}]" for offset, column in cells)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_expansion_is_by_the_book(sentences, lines):
    template = "\n".join(f"{line[0]}{number}:{line[1:]}" for number, line in enumerate(lines))
    wanted = [token for sentence in sentences for token in by_the_book(template, sentence)]
    assert expanded(template, sentences) == wanted
    features, rows = TemplateFeatures.collected(sentences, template)
    assert features.rows(sentences).features.columns.tolist() == rows.features.columns.tolist()


def test_pieces_give_what_one_piece_gives(monkeypatch):
    sentences = [[("a", "x"), ("b", "y")], [], [("c", "x")] * 5, [("a", "z")]] * 3
    template = "U0:%x[0,0]\nU1:%x[-1,1]/%x[1,0]"
    whole, rows = TemplateFeatures.collected(sentences, template)
    monkeypatch.setattr(templates, "TOKENS_AT_ONCE", 1)
    parts, again = TemplateFeatures.collected(sentences, template)
    assert sorted(whole.names) == sorted(parts.names)
    said = [[features.names[column] for column in found.features.columns] for features, found in
            ((whole, rows), (parts, again))]  # fmt: skip
    assert said[0] == said[1]


def test_unknown_cells_are_passed_over():
    features, _ = TemplateFeatures.collected([[("a", "x"), ("b", "y")]], "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[0,0]/%x[0,1]")
    known = features.rows([[("a", "new"), ("b", "x")]]).features.columns.reshape(-1, 3).tolist()
    none = features.size
    assert known == [[features.number("U0:a"), none, none], [features.number("U0:b"), features.number("U1:x"), none]]


def test_min_count_and_known_features():
    sentences = [[("a",), ("b",), ("a",)]]
    features, rows = TemplateFeatures.collected(sentences, "U:%x[0,0]", min_count=2)
    assert features.names == ["U:a"]
    assert rows.features.starts.tolist() == [0, 1, 1, 2]
    more, _ = TemplateFeatures.collected([[("c",)]], "U:%x[0,0]", features)
    assert more.names == ["U:a", "U:c"]


def test_without_B_tags_are_chosen_one_by_one():
    X, y = [[("a",), ("a",), ("b",)], [("b",), ("a",)]], [["A", "B", "B"], ["B", "A"]]
    alone = SequencePerceptron(template="U:%x[0,0]", random_state=0).fit(X, y)
    assert not alone.transitions_.any()
    assert not alone.start_.any()
    assert SequencePerceptron(template="U:%x[0,0]\nB", random_state=0).fit(X, y).transitions_.any()


def test_model_files_hold_template_and_cells():
    X, y = [[("the", "DT"), ("dog", "NN")], [("a", "DT")]], [["B", "I"], ["B"]]
    model = SequencePerceptron(template="# comment\n\nU0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB", random_state=0).fit(X, y)
    again = from_bytes(to_bytes(model))
    assert again.features_ == model.features_
    assert again.predict([*X, [("new", "NN"), ("dog", "XX")]]) == model.predict([*X, [("new", "NN"), ("dog", "XX")]])
    assert again.partial_fit(X, y).predict(X) == model.partial_fit(X, y).predict(X)
    with pytest.raises(ValueError, match="template must be the same"):
        model.set_params(template="U0:%x[0,0]").partial_fit(X, y)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda keys: keys.__setitem__((0, 0), 7),
        lambda keys: keys.__setitem__((0, 1), 99),
        lambda keys: keys.__setitem__((0, 1), -1),
    ],
)
def test_features_that_do_not_fit_are_not_saved(break_it):
    model = SequencePerceptron(template="U0:%x[0,0]\nU1:x\nB", random_state=0).fit([[("a",), ("b",)]], [["A", "B"]])
    break_it(model._features.keys)
    with pytest.raises(FileError, match="not in a state"):
        to_bytes(model)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("U00:%x[0,0]\nX01:%x[0,0]", "Template, line 2: expected U… or B, found 'X01"),
        ("U00:%x[0]", r"Template, line 1: expected %x\[row,column\]"),
        ("U00:%x[a,0]", "Template, line 1: expected %x"),
        ("# nothing\n\nU00:%x[0,-1]", "Template, line 3"),
        ("U00:%x[0,0]\nB01:%x[0,0]", "Template, line 2: pairs of tags with cells are not supported; use B alone"),
        ("U00:%x[0,99999]", "Template, line 1: .* is too far away"),
        ("", "The template has no feature"),
        ("B", "The template has no feature"),
        ("U00:%x[0,2]", "The template needs column 2, counted from 0; sentence 0, token 0 has 2 columns"),
    ],
)
def test_malformed_templates_are_refused(template, message):
    with pytest.raises(ValueError, match=message):
        SequencePerceptron(template=template).fit([[("a", "b")]], [["A"]])


@pytest.mark.parametrize("token", [5, {"a": 1}, ("a", 1)])
def test_tokens_must_be_columns(token):
    with pytest.raises(ValueError, match="Sentence 0, token 1: with a template a token is a sequence of columns"):
        SequencePerceptron(template="U:%x[0,0]").fit([["word", token]], [["A", "B"]])
