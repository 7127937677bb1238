"""Text files made and spoilt at random: each must be read as a plain reader in Python reads it, or be refused.

As a program, `python mutants.py KIND COUNT`, it can run with compiled code that checks its bounds, and a crash is seen
from outside.
"""

import csv
import io
import random
import re
import sys
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from rosenblatt import FileError, read_conll
from rosenblatt.formats import conll, svmlight
from rosenblatt.formats import decimal_numbers as numbers
from rosenblatt.formats.contents import with_layout
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import row_blocks
from written import NUMBER, mutated

BOM = b"\xef\xbb\xbf"
SIZES = (64, 1000, 1 << 16, 1 << 22)  # bytes that are read at once


# -- svmlight --------------------------------------------------------------------------------------------------------


@cache
def words():
    """Numbers in all the ways in which they are written, half of them of twenty and more digits."""
    rng = random.Random(1)
    short = ["0", "1", "-1", "+2.5", "1e-5", ".5", "3.", "1e22", "1e23", "123456789012345678", "5e-324"]
    values = [rng.gauss(0, 1) * 10 ** rng.randrange(-9, 9) for _ in range(200)]
    long = [f"{v:.{rng.randrange(18, 30)}f}" for v in values] + [f"{'0' * 30}{k}" for k in range(20)]
    long += ["0." + "3" * 400, "1" * 300 + "e-290", f"{2**53 + 1}.0000000000000000000001"]
    return short * 10 + [repr(v) for v in values] + long


def svmlight_file(rng, long):
    """Some lines; the numbers of a long one are more than any table of fixed length would hold."""
    lines = []
    for _ in range(rng.choice([1, 2, 2 if long else 5])):
        count = rng.choice([4095, 4096, 4097, 5000]) if long else rng.randrange(7)
        label = ",".join(rng.choices(words(), k=rng.choice([1] * 9 + [2, 3] + [5000] * long)))
        indices = sorted(rng.sample(range(3 * count + 1), count))
        pairs = " ".join(f"{k}:{word}" for k, word in zip(indices, rng.choices(words(), k=count), strict=True))
        query, comment = rng.choice(["", "", "", f" qid:{rng.randrange(9)}"]), rng.choice(["", " # c"])
        lines.append(f"{label}{query} {pairs}{comment}")
    return rng.choice(["\n", "\r\n"]).join(lines).encode()


def slow_svmlight(data):
    """What svmlight says, in plain Python; None where it is malformed."""
    rows = []
    for line in data.removeprefix(BOM).split(b"\n"):
        line = line.split(b"#")[0]
        words = [word for word in re.split(rb"[ \t\r\v\f]+", line) if word]
        if not words:
            continue
        labels = []
        if not (line[:1] in (b" ", b"\t", b"\r", b"\v", b"\f") and re.match(rb"\d{1,16}:", words[0])):
            labels = words.pop(0).split(b",")
            if not all(NUMBER.fullmatch(one) for one in labels):
                return None
        if words and words[0].startswith(b"qid") and not re.fullmatch(rb"qid:\d{1,16}", words.pop(0)):
            return None
        pairs = [word.split(b":", 1) for word in words]
        for pair in pairs:
            if len(pair) != 2 or not re.fullmatch(rb"\d{1,16}", pair[0]) or not NUMBER.fullmatch(pair[1]):
                return None
        index = [int(pair[0]) for pair in pairs]
        if any(b <= a for a, b in pairwise(index)) or any(one > svmlight.MAX_INDEX for one in index):
            return None
        values = [float(pair[1]) for pair in pairs]
        if not np.isfinite([*map(float, labels), *values]).all():
            return None
        if any(one.lstrip(b"+-").isdigit() and int(float(one)) != int(one) for one in labels):
            return None
        rows.append((tuple(map(float, labels)), index, values))
    return rows


def svmlight_rows(path, rng):
    """What the reader makes of it, in the same shape."""
    rows = []
    for piece in row_blocks(path, Reading("svmlight"), rng.choice(SIZES)):
        starts = np.arange(piece.rows + 1) if piece.starts is None else piece.starts
        labels, X = piece.labels.tolist(), piece.X
        columns, values = X.indices.tolist(), X.data.tolist()
        for (a, b), (c, d) in zip(pairwise(starts.tolist()), pairwise(X.indptr.tolist()), strict=True):
            rows.append((tuple(labels[a:b]), columns[c:d], values[c:d]))
    return rows


def same_svmlight(data, expected, found):
    """Whether rows and the glance that may come before them say what was expected."""
    whole = data.removeprefix(BOM) + b"\n"
    seen = svmlight.preview_lines(np.frombuffer(whole + bytes(numbers.PADDING), np.uint8), len(whole))
    if seen is not None and expected is not None:
        indices = [one for row in expected for one in row[1]]
        assert seen.labels.tolist() == [label for row in expected for label in row[0]]
        assert (seen.stored, seen.most) == (len(indices), max(indices, default=-1))
    return repr(found) == repr(expected)  # repr tells −0.0 from 0.0


# -- text ------------------------------------------------------------------------------------------------------------

VOCABULARY = ["a", "of", "The", "LAZY", "dog,", "under_score", "12", "Ünïcode", "ÉCOLE", "straße", "İstanbul"]
VOCABULARY += ["日本語", "テキスト", "😀", "\u2028", "ǅ", "ﬁ", "\0"]


def text_file(rng, long):
    """Some lines of label<TAB>text."""
    lines = []
    plain = rng.random() < 0.5
    for _ in range(rng.choice([1, 3, 8])):
        found = rng.choices(VOCABULARY, k=rng.choice([3000, 9000]) if long else rng.randrange(12))
        text = " ".join(f"{one}{rng.randrange(2000)}" if long else one for one in found)
        line = rng.choice(["Spam", "ham", "Çd", "e f"]) + "\t" + text
        lines.append(line.encode("ascii", "ignore").decode() if plain else line)
    return rng.choice(["\n", "\r\n", "\n\n"]).join(lines).encode()


def slow_text(data, features, ngrams):
    """What text says, by scikit-learn; None where it is malformed."""
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [line for line in (text + "\n").replace("\r\n", "\n").split("\n") if line]
    cells = [line.split("\t", 1) for line in lines]
    if any(len(cell) != 2 or not cell[0] or cell[0].endswith("\0") for cell in cells):
        return None
    X = HashingVectorizer(n_features=features, ngram_range=ngrams).transform([cell[1] for cell in cells] or [""])
    return [cell[0] for cell in cells], X[: len(cells)]


def text_rows(path, how, size):
    """What the reader makes of it, in the same shape."""
    found = list(row_blocks(path, how, size))
    labels = [label for piece in found for label in piece.labels]
    return labels, sp.vstack([piece.X for piece in found] or [sp.csr_matrix((0, how.n_features))], format="csr")


def same_text(expected, found):
    """Whether labels are the same, and rows to rounding."""
    (names, X), (labels, Y) = expected, found
    alike = X.shape == Y.shape and (X.indptr == Y.indptr).all() and (X.indices == Y.indices).all()
    return names == labels and alike and np.allclose(X.data, Y.data, rtol=1e-14, atol=0)


# -- tables ----------------------------------------------------------------------------------------------------------


def table_file(rng, long, separator=","):
    """A table of some columns, the last the label; a large one is read in several blocks."""
    columns, rows = rng.choice([(300, 40), (3, 6000)]) if long else (rng.randrange(1, 4), rng.randrange(15))
    cells = ["{k}", "{k}.5", "{v!r}", "n{h}", '"q{h}"', "{k}e-3", "{k}.0000000000000000000001"]
    kinds = rng.choices(cells, k=columns)
    lines = [separator.join([*(f"c{k}" for k in range(columns)), "label"])]
    for k in range(rows):
        cells = [kind.format(k=k, h=k // 2 % 50, v=rng.gauss(0, 1)) for kind in kinds]
        lines.append(separator.join([*cells, "xy"[k % 2]]))
    return ("\n".join(lines) + "\n").encode()


def slow_table(data, separator=","):
    """The rows of a table and its labels, by Python's csv."""
    text = io.StringIO(data.removeprefix(BOM).decode(), newline="")
    cells = [line for line in csv.reader(text, delimiter=separator) if line][1:]
    *columns, labels = zip(*cells, strict=True)
    return [feature for column in columns for feature in slow_features(column)], list(labels)


def slow_features(cells):
    """One column of cells as features: its numbers, or a column for each of its names, which are in order."""
    plain = [cell.strip(" \t\r") for cell in cells]
    if all(cell.isascii() and NUMBER.fullmatch(cell.encode()) for cell in plain):
        return [[float(cell) for cell in plain]]
    return [[float(cell == name) for cell in cells] for name in sorted(set(cells))]


def table_rows(path, kind, size):
    """What the reader makes of it."""
    how = with_layout(path, Reading(kind, label=-1))
    found = list(row_blocks(path, how, size))
    rows = np.concatenate([piece.X.toarray() if sp.issparse(piece.X) else piece.X for piece in found])
    return rows.T.tolist(), [label for piece in found for label in piece.labels.tolist()]


def same_table(expected, found):
    """Whether features are the same, and labels, which may be numbers."""
    (features, names), (columns, labels) = expected, found
    if not isinstance(labels[0], str):
        names = [float(name) for name in names]
    return features == columns and names == labels


# -- CoNLL columns ---------------------------------------------------------------------------------------------------


def conll_file(rng, long):
    """Some sentences of columns; those of a long file are longer than what is parsed at once."""
    columns, vocabulary = rng.randrange(1, 5), [*VOCABULARY, *map(str, range(50))]
    cells = [one for one in vocabulary if not set(one) & set(" \t")]
    lines = []
    for _ in range(rng.choice([1, 3, 8])):
        for _ in range(rng.choice([500, 2000]) if long else rng.randrange(5)):
            lines.append(rng.choice([" ", "\t", "  "]).join(rng.choices(cells, k=columns)))
        lines += [rng.choice(["", " "])] * rng.choice([1, 1, 2])
    return rng.choice(["\n", "\r\n"]).join(lines).encode()


def slow_conll(data):
    """The sentences of a file with their tags, in plain Python; None where it is malformed."""
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if re.match("[^\r\n]*\r+[^\r\n]", text):  # the first line ends with a carriage return alone
        text = text.replace("\r", "\n")
    lines = [[cell for cell in re.split("[ \t\r]+", line) if cell] for line in text.split("\n")]
    if len({len(line) for line in lines if line}) != 1 or max(map(len, lines)) < 2:
        return None
    sentences = [[]]
    for line in lines:
        if line:
            sentences[-1].append(tuple(line))
        elif sentences[-1]:
            sentences.append([])
    return [one for one in sentences if one]


def conll_sentences(path, rng):
    """What the readers make of it: all at once, and block by block."""
    with patch.object(conll, "CHUNK", rng.choice([16, 1000, 1 << 16])):
        X, y = read_conll(path)
        blocks = [sentence for block in conll.sentence_blocks(path) for sentence in block]
    found = [[(*token, tag) for token, tag in zip(*one, strict=True)] for one in zip(X, y, strict=True)]
    assert blocks == found
    return found


# -- all kinds -------------------------------------------------------------------------------------------------------


def check(kind, data, path, rng):
    """Whether the reader refuses these bytes; an AssertionError where it says something else than they do."""
    path.write_bytes(data)
    size = rng.choice(SIZES)
    features, ngrams = rng.choice([64, 1000, 1 << 20]), rng.choice([(1, 1), (1, 3), (2, 2)])
    try:
        if kind == "svmlight":
            found = svmlight_rows(str(path), rng)
        elif kind == "conll":
            found = conll_sentences(str(path), rng)
        elif kind == "text":
            found = text_rows(str(path), Reading("text", features, True, ngrams=ngrams), size)
        else:
            found = table_rows(str(path), kind, size)
    except FileError:
        found = None
    if kind == "svmlight":
        assert same_svmlight(data, slow_svmlight(data), found), data[:2000]
    elif kind == "conll":
        assert found == slow_conll(data), data[:2000]
    elif kind == "text":
        expected = slow_text(data, features, ngrams)
        assert (found is None) == (expected is None), data[:2000]
        assert found is None or same_text(expected, found), data[:2000]
    elif found is not None:  # PyArrow refuses more than Python does
        assert same_table(slow_table(data, "," if kind == "csv" else "\t"), found), data[:2000]
    return found is None


def run(kind, count, seed=0, longs=0.1):
    """How many of `count` mutants were refused; the share `longs` of them has long lines, or many."""
    make = {"svmlight": svmlight_file, "text": text_file, "csv": table_file, "conll": conll_file}.get(kind) or (
        lambda rng, long: table_file(rng, long, "\t")
    )
    rng, refused = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"mutant.{kind}")
        for _ in range(count):
            data = make(rng, rng.random() < longs)
            data = rng.choice([b"", b"", b"", BOM]) + (mutated(data, rng) if rng.random() < 0.8 else data)
            refused += check(kind, data, path, rng)
    return refused


if __name__ == "__main__":  # python mutants.py COUNT KIND …
    for each in sys.argv[2:]:
        print(each, run(each, int(sys.argv[1])), flush=True)
