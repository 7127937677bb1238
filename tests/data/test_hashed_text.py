"""Text: words and n-grams, hashed to columns."""

import re

import numpy as np
import pytest
from reading_cases import parse
from sklearn.feature_extraction.text import HashingVectorizer

import rosenblatt
from rosenblatt import FileError, read
from rosenblatt.formats import byte_sources as sources
from rosenblatt.formats import hashed_text, svmlight
from rosenblatt.formats.reading import make_reading
from rosenblatt.formats.row_blocks import row_blocks
from written import written

# -- text ------------------------------------------------------------------------------------------------------------

SENTENCES = [
    "The quick brown fox, the LAZY dog!",
    "a b c dd",
    "",
    "under_score 12 3x",
    "Ünïcode ÉCOLE straße İstanbul",
    "日本語 テキスト x",
    "tab\tinside",
    "😀 emoji ok",
    "x\u2028y zz",
    "word " * 700,
    " ".join(f"word{k % 90}" for k in range(200)),
    " ".join(f"other{k}" for k in range(5000)),
    "re re re peat",
    "ǅ titled ﬁ ligature",
    "a\u0301 combining",
]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("features", [1 << 20, 1000])
@pytest.mark.parametrize("plain", [False, True])
def test_text_is_hashed_as_scikit_learn_hashes_it(tmp_path, ngrams, features, plain):
    texts = [one for one in SENTENCES if one.isascii() or not plain]
    labels = ["Ab", "Çd", "e f"] if not plain else ["A", "b c", "D"]
    lines = [f"{labels[k % 3]}\t{one}" for k, one in enumerate(texts)]
    path = written(tmp_path, "\n\n".join(lines), "rows.txt")
    X, y = read(path, format="text", n_features=features, ngrams=ngrams)
    theirs = HashingVectorizer(n_features=features, ngram_range=ngrams).transform(texts)
    assert X.shape == theirs.shape
    np.testing.assert_allclose(
        X.toarray() if features < 2000 else X.data, theirs.toarray() if features < 2000 else theirs.data
    )
    assert y.tolist() == [labels[k % 3] for k in range(len(texts))]


def test_text_errors_name_the_place(tmp_path):
    for content, line, column, what in [
        (b"a\tx\nno tab here\n", 2, 1, "label<TAB>text, found 'no tab here'"),
        (b"a\tx\n\ty\n", 2, 1, "label<TAB>text"),
        (b"a\tx\nb\ty\xff\n", 2, 4, "expected UTF-8, found the byte 0xff"),
        (b"a\tx b\0\ty\nb\0\tx\n", 2, 1, r"expected a label that does not end with NUL, found 'b\x00'"),
    ]:
        path = written(tmp_path, content, "rows.txt")
        with pytest.raises(FileError, match=re.escape(what)) as caught:
            read(path, format="text")
        assert (caught.value.line, caught.value.column) == (line, column)


def test_nul_within_a_label_is_kept(tmp_path):
    _, y = read(written(tmp_path, b"a\0b\tx\n\0a\tx\n", "rows.txt"), n_features=16)
    assert y.tolist() == ["a\0b", "\0a"]


def test_lines_without_labels():
    data = b"Hello there\nhi you\n"
    found = hashed_text.hash_lines(
        np.frombuffer(data + bytes(8), np.uint8), len(data), "x", 1, features=64, ngrams=(1, 1), labelled=False
    )
    assert found.starts.tolist() == [0, 2, 4]
    other = "Höhe\n".encode()
    found = hashed_text.hash_lines(
        np.frombuffer(other + bytes(8), np.uint8), len(other), "x", 1, features=64, ngrams=(1, 1), labelled=False
    )
    assert found.labels == []
    assert found.values.size == 1


# -- the rest --------------------------------------------------------------------------------------------------------


def test_stamps(tmp_path):
    path = written(tmp_path, "1 1:1\n")
    before = sources.file_stamps([str(path)])
    sources.check_unchanged([str(path)], before)
    with pytest.raises(FileError, match="no such file"):
        sources.file_stamps([str(tmp_path / "nothing")])
    assert next(iter(row_blocks(path, make_reading(path)))).rows == 1


def test_errors_can_be_sent_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(FileError("what", "file", 3, "column")))
    assert str(error) == "file, line 3, column 'column': what"
    assert isinstance(error, rosenblatt.FileError)


def test_a_glance_sees_what_a_parse_finds():
    def glanced(data):
        return svmlight.preview_lines(np.frombuffer(data + bytes(8), np.uint8), len(data))

    for data in (b"1 1:1 7:2\n-1\n2.5 3:1 \n0 \n", b"1 0:1\n", b"3 12345678:1\n"):
        seen, lines = glanced(data), parse(data)
        np.testing.assert_array_equal(seen.labels, lines.labels)
        assert (seen.stored, seen.least, seen.most) == (lines.values.size, lines.least, lines.most)
    for data in (
        b"\n", b" 1:1\n", b"1,2 1:1\n", b"1 1:1 # c\n", b"1 qid:1 1:1\n", b"1\t1:1\n", b"x 1:1\n", b"1 x:1\n", b"1 1\n",
        b"1 99999999999:1\n", b"1 1:1 99999999999:1\n", b"1 1:1 x:1\n",
    ):  # fmt: skip
        assert glanced(data) is None
