"""CoNLL columns: what is read, and what is refused with its line."""

import gzip
import io
import sys

import numpy as np
import pytest

from rosenblatt import FileError, SequencePerceptron, read_conll
from rosenblatt.formats import conll

TEXT = "the DT B-NP\ndog NN I-NP\nbarks VB O\n\nit PRP B-NP\n"


@pytest.fixture(params=[conll.CHUNK, 16], ids=["one chunk", "many chunks"], autouse=True)
def _chunks(request, monkeypatch):
    monkeypatch.setattr(conll, "CHUNK", request.param)


def written(tmp_path, text, name="x.conll"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def in_blocks(path):
    return [sentence for block in conll.sentence_blocks(path) for sentence in block]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.removesuffix("\n"),
        "\n\n" + TEXT.replace("\n\n", "\n\n\n \t\n") + "\n\n",
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r\r\n"),
        TEXT.replace("\n", "\r"),
        "\r" + TEXT.replace("\n", "\r"),
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", "  \t ").replace("it", " it"),
        "\ufeff" + TEXT,
    ],
    ids=["plain", "no end", "blank lines", "CRLF", "CRCRLF", "CR", "CR at first", "tabs", "wide", "byte order mark"],
)
def test_sentences_are_read(text, tmp_path):
    path = written(tmp_path, text)
    X, y = read_conll(path)
    assert list(X) == [[("the", "DT"), ("dog", "NN"), ("barks", "VB")], [("it", "PRP")]]
    assert y == [["B-NP", "I-NP", "O"], ["B-NP"]]
    assert in_blocks(path) == [
        [(*cells, tag) for cells, tag in zip(*one, strict=True)] for one in zip(X, y, strict=True)
    ]


def test_sentences_are_a_sequence(tmp_path):
    X, _ = read_conll(written(tmp_path, TEXT))
    assert len(X) == 2
    assert X[-1] == X[1] == [("it", "PRP")]
    assert X[:1] == [X[0]]
    with pytest.raises(IndexError):
        X[2]
    assert X.column(1) == [["DT", "NN", "VB"], ["PRP"]]


def test_any_number_of_columns_any_script_and_several_files(tmp_path):
    first = written(tmp_path, "Häuser a b c NN\n東京 a b c NE\n", "a.conll")
    second = written(tmp_path, gzip.compress(b"Haus a b c NN\n"), "b.conll.gz")
    X, y = read_conll([first, second])
    assert [token[0] for sentence in X for token in sentence] == ["Häuser", "東京", "Haus"]
    assert (len(X), y[1], X.cells.shape) == (2, ["NN"], (3, 4))
    assert read_conll(str(tmp_path / "*.conll*"))[1] == y


def test_standard_input_is_read(monkeypatch):
    class Input:
        buffer = io.BytesIO(TEXT.encode())

    monkeypatch.setattr(sys, "stdin", Input)
    assert read_conll("-")[1] == [["B-NP", "I-NP", "O"], ["B-NP"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\nd e\n", "line 2: expected 3 columns, as in line 1, found 2"),
        ("\n\na b\n\nc d\ne f g\n", "line 6: expected 2 columns, as in line 3, found 3"),
        ("a b\n" * 40 + "c\n", "line 41: expected 2 columns, as in line 1, found 1"),
        (b"a b\nc \xff\n", "line 2: expected text in UTF-8"),
        ("", "expected tokens, found none"),
        ("\n \n", "expected tokens, found none"),
        ("a\nb\n", "expected at least 2 columns, the last being the tag, found 1"),
    ],
)
def test_what_is_no_conll_is_refused_with_its_line(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(FileError, match=message) as caught:
        read_conll(path)
    assert "x.conll" in str(caught.value)


def test_missing_and_damaged_files(tmp_path):
    with pytest.raises(FileError, match=r"none\.conll"):
        read_conll(tmp_path / "none.conll")
    with pytest.raises(FileError, match="gzip"):
        read_conll(written(tmp_path, gzip.compress(TEXT.encode())[:-9], "cut.conll.gz"))


def test_random_bytes_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(0)
    alphabet = np.frombuffer(b"ab \t\n\r\n \xc3\xa4\x00", dtype=np.uint8)
    for _ in range(60):
        data = rng.choice(alphabet, size=int(rng.integers(0, 60))).tobytes()
        path = written(tmp_path, data)
        try:
            X, y = read_conll(path)
        except FileError:
            continue
        lines = [line.split() for line in data.decode().replace("\r", " ").split("\n")]
        assert [(*token, tag) for one in zip(X, y, strict=True) for token, tag in zip(*one, strict=True)] == [
            tuple(line) for line in lines if line
        ]


def test_many_words_are_numbered_once(tmp_path):
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in rng.integers(0, 300, size=2000)]
    path = written(tmp_path, "\n".join(f"{word} {word[-1]}" for word in words))
    X, y = read_conll(path)
    assert [token[0] for token in X[0]] == words
    assert y == [[word[-1] for word in words]]
    assert len(X.words) == len(set(X.words.names)) == len({*words, *y[0]})


def test_a_model_learns_from_what_was_read(tmp_path):
    X, y = read_conll(written(tmp_path, TEXT))
    template = "U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB"
    model = SequencePerceptron(template=template, random_state=0).fit(X, y)
    listed = SequencePerceptron(template=template, random_state=0).fit(list(X), y)
    assert model.predict(X) == listed.predict(list(X)) == y
    for name in listed.features_:
        assert model.weights(name) == listed.weights(name)


def test_a_line_that_is_no_token_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(conll, "LONGEST_LINE", 1000)
    path = written(tmp_path, gzip.compress(b"a A\n" + b"b" * 10**6 + b" B\n"), "x.conll.gz")
    for reads in (read_conll, in_blocks):
        with pytest.raises(FileError, match="line 2: a line of more than 1,000 bytes is not a token"):
            reads(path)


def test_a_sentence_of_many_chunks_is_joined_once(tmp_path, monkeypatch):
    """Not again with every chunk, which would take quadratic time."""
    whole, readers = "".join(f"w{k} T\n" for k in range(300)), []
    make = conll.ColumnReader  # one at the start, and one after each join
    monkeypatch.setattr(conll, "ColumnReader", lambda *given: readers.append(1) or make(*given))
    path = written(tmp_path, f"a A\n\n{whole}\nb B\n")
    assert in_blocks(path) == [[("a", "A")], [(f"w{k}", "T") for k in range(300)], [("b", "B")]]
    assert len(readers) <= 3
