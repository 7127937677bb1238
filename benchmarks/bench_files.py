"""Reading and training from files, compared with scikit-learn and Vowpal Wabbit, on generated text-like rows."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tables import fastest, head, say

SPEAKS = (
    "import sys, time, warnings, numpy, rosenblatt\n"
    "from pathlib import Path\n"
    "warnings.simplefilter('ignore')\n"
    "path, memory, small = sys.argv[1], sys.argv[2], sys.argv[3]\n"
    "def make(epochs): return rosenblatt.Perceptron(max_epochs=epochs, order='cyclic')\n"
    "for epochs in (1, 2): rosenblatt.fit(make(epochs), small, memory=memory)\n"
    "def peak():\n"  # of this program alone: ru_maxrss includes that of the parent process
    "    return next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')) / 1e3\n"
    "before = peak()\n"
    "def timed(epochs, **given):\n"
    "    began = time.perf_counter()\n"
    "    model = rosenblatt.fit(make(epochs), path, memory=memory, **given)\n"
    "    return time.perf_counter() - began, [record.seconds for record in model.report_.epochs], model.coef_.size\n"
    "given = min(timed(1, classes=[-1, 1], n_features=50_001, zero_based=False)[0] for _ in range(2))\n"
    "scanned = min(timed(1)[0] for _ in range(2))\n"
    "several, passes, size = timed(4)\n"
    "print(given, scanned, several - sum(passes[1:]), min(passes), peak() - before, size * 8 / 1e6)\n"
)


def write_rows(path: Path, megabytes: float, vw: Path | None = None, seed: int = 0) -> int:
    """Generated rows of about 75 values out of 50,000 features, as svmlight and as Vowpal Wabbit's text."""
    rng = np.random.default_rng(seed)
    w, written, rows = rng.normal(size=50_001), 0, 0
    words = np.array([f"{k / 10000:.4f}" for k in range(10001)])
    with open(path, "w") as svm, open(vw or os.devnull, "w") as other:
        while written < megabytes * 1e6:
            lines, others = [], []
            for _ in range(2000):
                columns = np.unique((50_000 ** rng.random(75)).astype(np.int64))
                places = rng.integers(1, 10001, columns.size)
                label = "1" if w[columns] @ places > 0 else "-1"
                text = " ".join([f"{c}:{v}" for c, v in zip(columns.tolist(), words[places].tolist(), strict=True)])
                lines.append(f"{label} {text}\n")
                others.append(f"{label} | {text}\n")
            block = "".join(lines)
            repeats = 1 if megabytes < 20 else 10  # generating rows takes longer than learning from them
            for _ in range(repeats):
                svm.write(block)
                other.write("".join(others)) if vw else None
            written, rows = written + repeats * len(block), rows + repeats * 2000
    return rows


def parsing(folder: Path, megabytes: float = 200) -> None:
    """Parse svmlight on one core, with all checks, in a new process."""
    with get_context("spawn").Pool(1) as pool:
        size, ours, peer, same = pool.apply(_parsed, (folder, megabytes))
    verdict = "identical arrays" if same else "ARRAYS DIFFER"
    say(
        f"parse svmlight, {size:,.0f} MB, {verdict}",
        f"{size / ours:,.0f} MB/s",
        f"load_svmlight_file {size / peer:,.0f} MB/s",
        f"{peer / ours:.1f} ×",
        "≥ 10 ×, ≥ 200 MB/s",
    )


def _parsed(folder: Path, megabytes: float) -> tuple[float, float, float, bool]:
    """Megabytes, our seconds, the peer's seconds, and whether the results are equal."""
    from sklearn.datasets import load_svmlight_file

    import rosenblatt

    path = folder / "parse.svm"
    write_rows(path, megabytes)
    size = path.stat().st_size / 1e6
    best = fastest(
        {"ours": lambda: rosenblatt.read(path), "peer": lambda: load_svmlight_file(str(path))},
        repeats=3,
    )
    mine, other = rosenblatt.read(path), load_svmlight_file(str(path))
    same = all(
        np.array_equal(getattr(mine[0], name), getattr(other[0], name)) for name in ("data", "indices", "indptr")
    ) and np.array_equal(mine[1], other[1])
    path.unlink()
    return size, best["ours"], best["peer"], same


def training(folder: Path, megabytes: float = 2000) -> None:
    """One pass from a file, compared with Vowpal Wabbit's text input, and later passes from the cache."""
    path, vw, small = folder / "train.svm", folder / "train.vw", folder / "small.svm"
    write_rows(small, 1)
    write_rows(path, megabytes, vw)
    time.sleep(2.5)  # the cache of a file that was modified just before is not reused
    size = path.stat().st_size / 1e6
    out = subprocess.run(
        [sys.executable, "-c", SPEAKS, str(path), "256MB", str(small)], capture_output=True, text=True, check=True
    )
    given, scanned, first, later, peak, model = map(float, out.stdout.split())
    theirs = _vowpal(vw)
    for file in folder.iterdir():
        file.unlink()
    peer = f"Vowpal Wabbit {theirs:.2f} s" if theirs else "Vowpal Wabbit left out: it did not run"
    for what, ours in (
        ("features and classes given, as for the peer", given),
        ("nothing given: a first scan", scanned),
    ):
        ratio = f"{theirs / ours:.1f} ×" if theirs else ""
        say(f"train one pass from {size:,.0f} MB of svmlight, {what}", f"{ours:.2f} s", peer, ratio, "≥ 3 ×")
    say(
        "the same, a later pass from the cache",
        f"{later:.2f} s",
        f"first of several passes, which writes the cache {first:.2f} s",
        f"{first / later:.1f} ×",
        "≥ 5 ×",
    )
    say("the same, memory above imports and compilation", f"{peak:.0f} MB", "", "", f"≤ {256 + model:.0f} MB")


def _vowpal(path: Path) -> float | None:
    """Seconds of one pass of Vowpal Wabbit's perceptron-like learner over its text format."""
    script = (
        "import sys, time\nfrom vowpalwabbit import Workspace\nbegan = time.perf_counter()\n"
        "vw = Workspace(f'--data {sys.argv[1]} --loss_function hinge --quiet -b 18 --no_stdin')\n"
        "vw.finish()\nprint(time.perf_counter() - began)\n"
    )
    found = []
    for _ in range(2):
        out = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
        if out.returncode:
            print(f"Vowpal Wabbit did not run: {out.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        found.append(float(out.stdout.split()[-1]))
    return min(found)


def hashing(megabytes: float = 20) -> None:
    """Text to rows, compared with HashingVectorizer with the same tokens."""
    from sklearn.feature_extraction.text import HashingVectorizer

    from rosenblatt.formats.hashed_text import hash_lines

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 11, 20_000)])
    texts, size = [], 0
    while size < megabytes * 1e6:
        texts.append(" ".join(words[(20_000 ** rng.random(120)).astype(int) - 1]).capitalize() + ".")
        size += len(texts[-1])
    data = "".join(f"a\t{text}\n" for text in texts).encode()
    padded = np.frombuffer(data + bytes(8), np.uint8)

    def ours() -> None:
        hash_lines(padded, len(data), "text", 1, features=1 << 20, ngrams=(1, 1))

    best = fastest({"ours": ours, "peer": lambda: HashingVectorizer().transform(texts)}, repeats=3)
    say(
        f"hash text to rows, {size / 1e6:,.0f} MB",
        f"{size / 1e6 / best['ours']:,.0f} MB/s",
        f"HashingVectorizer {size / 1e6 / best['peer']:,.0f} MB/s",
        f"{best['peer'] / best['ours']:.1f} ×",
        "≥ 5 ×",
    )


def run(megabytes: float = 2000) -> None:
    """Every row."""
    head("Files")
    with tempfile.TemporaryDirectory() as folder:
        parsing(Path(folder), min(200, megabytes))
        hashing()
        training(Path(folder), megabytes)
