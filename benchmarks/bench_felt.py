"""What a person waits for: imports, the first fit on a machine, the command line, and texts; in processor seconds."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from datasets import news_texts
from tables import head, left_out, say

ROWS = (
    "import time, warnings, numpy, scipy.sparse, rosenblatt; warnings.simplefilter('ignore')\n"
    "X = numpy.random.default_rng(0).normal(size=(200, 5)).astype('f4'); y = (X[:, 0] > 0).astype(int)\n"
    "{}\nmodel = rosenblatt.{}(); began = time.process_time(); model.fit(X, y); print(time.process_time() - began)"
)
SENTENCES = "X = [['the', 'dog', 'runs'], ['a', 'cat', 'sits']] * 10; y = [['D', 'N', 'V']] * 20"
FIRST_FITS = [
    ("Perceptron", "", 2),
    ("AveragedPerceptron", "X = scipy.sparse.csr_matrix(X)", 2),
    ("LinearClassifier", "", 2),
    ("AROW", "", 2),
    ("LinearSVM", "", 2),
    ("TableClassifier", "", 4),
    ("SequencePerceptron", SENTENCES, 4),
]


def run() -> None:
    """All tables of this section."""
    head("What one waits for, in processor seconds")
    _imports()
    with tempfile.TemporaryDirectory() as cache:
        for name, before, goal in FIRST_FITS:
            found = _printed(ROWS.format(before, name), NUMBA_CACHE_DIR=f"{cache}/{name}")
            say(f"{name}: first fit after imports, cold cache", f"{found:.1f} s", "", "", f"≤ {goal} s")
        _command_line(Path(cache))
    _texts()


def _printed(program: str, **env: str) -> float:
    """What a program prints last."""
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return float(out.stdout.split()[-1])


def _imports() -> None:
    program = "import time\nfrom {} import {}\nprint(time.process_time())"
    ours = min(_printed(program.format("rosenblatt", "Perceptron")) for _ in range(3))
    peer = min(_printed(program.format("sklearn.linear_model", "LogisticRegression")) for _ in range(3))
    theirs = f"sklearn's LogisticRegression {peer:.2f} s"
    say("from rosenblatt import Perceptron", f"{ours:.2f} s", theirs, f"{ours / peer:.2f}", "≤ 1.2")


def _command_line(place: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'yes' if a > 0 else 'no'}" for a, b in rng.normal(size=(300, 2))]
    (place / "small.csv").write_text("a,b,label\n" + "\n".join(lines) + "\n")
    script = Path(sys.executable).with_name("rosenblatt")
    command = [script, "train", place / "small.csv", "--label", "label", "-o", place / "model"]
    for which, goal in (("cold", 4.0), ("warm", 1.3)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, "NUMBA_CACHE_DIR": f"{place}/cli"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        say(f"rosenblatt train, 300 rows of CSV, {which}", f"{taken:.1f} s", "", "", f"≤ {goal} s")


def _texts() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    from rosenblatt import TextEncoder

    parts = news_texts()
    if parts is None:
        left_out("TF-IDF of words and pairs, 20 Newsgroups")
        return
    texts = [text for found, _ in parts.values() for text in found]
    size = sum(map(len, texts)) / 1e6
    encoder = TextEncoder(tokens="sklearn")
    encoder.fit_transform(texts[:100])
    ours = min(_processor(lambda: encoder.fit_transform(texts)) for _ in range(3))
    peer = _processor(lambda: TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts))
    work = f"TF-IDF of words and pairs, 20 Newsgroups, {size:.0f} MB, the same matrix"
    say(work, f"{ours:.2f} s", f"TfidfVectorizer {peer:.2f} s", f"{peer / ours:.1f} ×", "≥ 8 ×")


def _processor(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
