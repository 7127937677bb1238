"""Sequences of tags, compared with python-crfsuite and NLTK: CoNLL-2000 chunking and its parts of speech.

Features are those of CRFsuite's chunking example: 19 templates of words and parts of speech. Both learn from the same
features; from files rosenblatt expands the templates itself, and the peer gets features made in Python. CRFsuite has no
seed; ours is the median of five seeds. The settings of both are chosen on the last tenth of the training sentences,
learned from the others; then both learn from all.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import scipy.sparse as sp
from tables import fastest, head, left_out, say

TEMPLATE = "\n".join(
    [
        *(f"U0{place}:%x[{place - 2},0]" for place in range(5)),
        "U05:%x[-1,0]/%x[0,0]",
        "U06:%x[0,0]/%x[1,0]",
        *(f"U1{place}:%x[{place - 2},1]" for place in range(5)),
        *(f"U1{place + 7}:%x[{place},1]/%x[{place + 1},1]" for place in (-2, -1, 0, 1)),
        *(f"U2{place + 2}:%x[{place},1]/%x[{place + 1},1]/%x[{place + 2},1]" for place in (-2, -1, 0)),
        "B",
    ]
)
WANTED = 0.933
SEEDS = range(5)
PEERS = [("pa", 3), ("ap", 5), ("pa", 5), ("ap", 10), ("pa", 10), ("arow", 10), ("l2sgd", None), ("lbfgs", None)]
OURS = [{"max_epochs": epochs} for epochs in (2, 3, 4, 5)]
OURS += [{"rule": "pa", "max_epochs": epochs} for epochs in (8, 12)]


def run() -> None:
    """Chunking and parts of speech."""
    warnings.simplefilter("ignore")
    head("Sequences: CoNLL-2000, one thread")
    at = datasets.folder("conll2000")
    if at is None:
        left_out("chunking and parts of speech of CoNLL-2000")
        return
    _chunking(at)
    _parts_of_speech(at)


# -- chunking --------------------------------------------------------------------------------------------------------


def columns(path: Path) -> list[list[list[str]]]:
    """Sentences of lines of columns, read in Python."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    return [[line.split() for line in block.split("\n")] for block in blocks]


def _places() -> list[list[tuple[int, int]]]:
    """The offsets and columns of each template."""
    lines = [line.split("%x[")[1:] for line in TEMPLATE.split("\n") if "%x" in line]
    return [[tuple(map(int, part.split("]")[0].split(","))) for part in line] for line in lines]  # type: ignore[misc]


def features(sentence: list[list[str]]) -> list[list[str]]:
    """The features of a sentence as CRFsuite's example makes them."""
    n, found = len(sentence), []
    for t in range(n):
        token = []
        for places in _PLACES:
            if all(0 <= t + offset < n for offset, _ in places):
                name = "|".join(f"{'wp'[column]}[{offset}]" for offset, column in places)
                token.append(name + "=" + "|".join(sentence[t + offset][column] for offset, column in places))
        token += ["__BOS__"] if t == 0 else []
        token += ["__EOS__"] if t == n - 1 else []
        found.append(token)
    return found


_PLACES = _places()


def _peer_trainer(algorithm: str, iterations: int | None, X: Any, y: Any) -> Any:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    if iterations is not None:
        trainer.set_params({"max_iterations": iterations})
    for sentence, tags in zip(X, y, strict=True):
        trainer.append(sentence, tags)
    return trainer


def _peer_tagger(path: str) -> Callable[[Any], list[list[str]]]:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return lambda X: [tagger.tag(sentence) for sentence in X]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


class Chunking:
    """The data of both: lists of features by name, and the same encoded."""

    def __init__(self, at: Path) -> None:
        from rosenblatt.sequence.token_features import ItemFeatures

        self.at, self.model_file = at, tempfile.mktemp(suffix=".crfsuite")
        train, test = columns(at / "train.txt.gz"), columns(at / "test.txt.gz")
        self.X, self.y = [features(one) for one in train], [[row[2] for row in one] for one in train]
        self.Xt, self.yt = [features(one) for one in test], [[row[2] for row in one] for one in test]
        encoded, rows = ItemFeatures.collected(self.X)
        _, named, starts = rows.features
        parts = (np.ones(named.size, np.float32), named.view(np.int32), starts.view(np.int64))
        matrix = sp.csr_matrix(parts, shape=(rows.tokens, encoded.size))
        flat = np.array([tag for tags in self.y for tag in tags])
        self.encoded = (matrix, flat, np.diff(rows.bounds.astype(np.int64)))

    def f1(self, said: list[list[str]], gold: list[list[str]] | None = None) -> float:
        """F1 of chunks on the test sentences, or on others."""
        from rosenblatt import sequence_scores

        return sequence_scores(self.yt if gold is None else gold, said).chunks.f1  # type: ignore[union-attr]

    def chosen(self, learned: Callable[[Any, Any, Any], tuple[float, Any]], settings: list[Any]) -> tuple[Any, Any]:
        """The quickest setting that reaches the wanted F1, else the best, and the best, on the last tenth."""
        cut = len(self.X) * 9 // 10
        found = []
        for setting in settings:
            seconds, tag = learned(setting, self.X[:cut], self.y[:cut])
            found.append((seconds, self.f1(tag(self.X[cut:]), self.y[cut:]), setting))
        best = max(found, key=lambda one: one[1])
        quickest = min((one for one in found if one[1] >= WANTED), key=lambda one: one[0], default=best)
        return quickest[2], best[2]

    def learned_peer(self, setting: tuple[str, int | None], X: Any, y: Any) -> tuple[float, Any]:
        """Seconds of training and the tagger of CRFsuite."""
        trainer = _peer_trainer(*setting, X, y)
        return _timed(lambda: trainer.train(self.model_file))[0], _peer_tagger(self.model_file)

    def learned(self, setting: dict[str, Any], X: Any, y: Any) -> tuple[float, Any]:
        """Seconds of training and the tagger of ours, with the first seed."""
        from rosenblatt import SequencePerceptron

        seconds, model = _timed(lambda: SequencePerceptron(random_state=0, **setting).fit(X, y))
        return seconds, model.predict

    def peer(self, setting: tuple[str, int | None]) -> tuple[float, float]:
        """Seconds of training on all sentences and F1 of CRFsuite."""
        seconds, tag = self.learned_peer(setting, self.X, self.y)
        return seconds, self.f1(tag(self.Xt))

    def ours(self, setting: dict[str, Any]) -> tuple[float, float]:
        """Seconds of training from encoded features and F1, medians of five seeds."""
        from rosenblatt import SequencePerceptron

        seconds, scores = [], []
        for seed in SEEDS:
            model = SequencePerceptron(random_state=seed, **setting)
            seconds.append(_timed(lambda model=model: model.fit(*self.encoded))[0])
            named = SequencePerceptron(random_state=seed, **setting).fit(self.X, self.y)
            scores.append(self.f1(named.predict(self.Xt)))
        return float(np.median(seconds)), float(np.median(scores))


def _chunking(at: Path) -> None:
    from rosenblatt import SequencePerceptron

    try:
        import pycrfsuite  # noqa: F401
    except ImportError:
        left_out("chunking: python-crfsuite is not installed")
        return
    data = Chunking(at)
    SequencePerceptron(max_epochs=1).fit(data.X[:5], data.y[:5]).predict(data.X[:2])  # compiled
    quickest, best = data.chosen(data.learned_peer, PEERS)
    quick, good = data.chosen(data.learned, OURS)
    (theirs, reached), (seconds, score) = data.peer(quickest), data.ours(quick)
    say(
        f"F1 ≥ {WANTED}, from encoded features",
        f"{seconds:.2f} s ({score:.4f}, {_shown(quick)})",
        f"CRFsuite {' '.join(map(str, quickest))}: {theirs:.2f} s ({reached:.4f})",
        f"{theirs / seconds:.1f} ×",
        "≥ 8 ×",
    )
    peer, ours = data.peer(best)[1], data.ours(good)[1]
    say(
        "best F1, same features",
        f"{ours:.4f} ({_shown(good)})",
        f"CRFsuite {' '.join(map(str, best))}: {peer:.4f}",
        f"{ours - peer:+.4f}",
        "≥ −0.001",
    )
    _from_lists(data, quick, quickest)
    _from_files(at, quick, quickest)
    os.unlink(data.model_file)


def _shown(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())


def _from_lists(data: Chunking, settings: dict[str, Any], peer: tuple[str, int | None]) -> None:
    """From lists of strings to the model, and from lists of strings to tags."""
    from rosenblatt import SequencePerceptron

    model = SequencePerceptron(random_state=0, **settings)
    times = fastest(
        {
            "ours": lambda: model.fit(data.X, data.y),
            "peer": lambda: _peer_trainer(*peer, data.X, data.y).train(data.model_file),
        },
        repeats=2,
    )
    ratio = f"{times['peer'] / times['ours']:.1f} ×"
    say("from lists of strings to the model", f"{times['ours']:.2f} s", f"{times['peer']:.2f} s", ratio, "≥ 4 ×")
    tag, tokens = _peer_tagger(data.model_file), sum(map(len, data.Xt)) / 1e6
    times = fastest({"ours": lambda: model.predict(data.Xt), "peer": lambda: tag(data.Xt)})
    ours, theirs = (f"{tokens / times[name]:.2f} M tokens/s" for name in ("ours", "peer"))
    say("tagging, from lists of strings", ours, theirs, f"{times['peer'] / times['ours']:.1f} ×", "≥ 5 ×")


def _from_files(at: Path, setting: dict[str, Any], peer: tuple[str, int | None]) -> None:
    """From the file to the model, each in a process of its own, for its memory."""
    found = {}
    for name in ("ours", "peer"):
        arguments = [sys.executable, __file__, name, str(at / "train.txt.gz"), json.dumps(setting), *map(str, peer)]
        runs = [
            json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout) for _ in range(2)
        ]
        found[name] = (min(run["seconds"] for run in runs), min(run["peak"] for run in runs))
    (ours, mine), (theirs, others) = found["ours"], found["peer"]
    say("from the file to the model", f"{ours:.2f} s", f"{theirs:.2f} s", f"{theirs / ours:.1f} ×", "≥ 10 ×")
    say("the same: peak memory", f"{mine:.0f} MB", f"{others:.0f} MB", f"{mine / others:.2f}", "≤ 0.5")


def _measure(which: str, path: str, setting: str, algorithm: str, iterations: str) -> None:
    """From the file to the model in this process: seconds and peak memory, as JSON."""
    if which == "ours":
        from rosenblatt import SequencePerceptron, read_conll

        warnings.simplefilter("ignore")
        small = [[("a", "A"), ("b", "B")]]
        SequencePerceptron(template=TEMPLATE, max_epochs=1).fit(small, [["X", "Y"]])  # loads machine code

        def work() -> Any:
            return SequencePerceptron(template=TEMPLATE, random_state=0, **json.loads(setting)).fit(*read_conll(path))
    else:
        import pycrfsuite  # noqa: F401

        def work() -> Any:
            train = columns(Path(path))
            X, y = [features(sentence) for sentence in train], [[row[2] for row in sentence] for sentence in train]
            trainer = _peer_trainer(algorithm, None if iterations == "None" else int(iterations), X, y)
            with tempfile.NamedTemporaryFile() as model:
                trainer.train(model.name)

    seconds, _ = _timed(work)
    # Not ru_maxrss, which a child takes over from the process that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().split("\n") if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "peak": int(peak.split()[1]) / 1e3}))


# -- parts of speech -------------------------------------------------------------------------------------------------


def _parts_of_speech(at: Path) -> None:
    from rosenblatt import Tagger

    train, test = columns(at / "train.txt.gz"), columns(at / "test.txt.gz")
    X, y = ([[row[k] for row in sentence] for sentence in train] for k in (0, 1))
    Xt, yt = ([[row[k] for row in sentence] for sentence in test] for k in (0, 1))
    Tagger(max_epochs=1).fit(X[:20], y[:20]).predict(X[:2])  # compiled
    runs = [_timed(lambda s=s: Tagger(random_state=s).fit(X, y)) for s in SEEDS]
    seconds = float(np.median([seconds for seconds, _ in runs]))
    accuracy = float(np.median([model.score(Xt, yt) for _, model in runs]))
    try:
        from nltk.tag.perceptron import PerceptronTagger
    except ImportError:
        say("parts of speech: Tagger", f"{seconds:.2f} s ({accuracy:.4f})", "NLTK is not installed", "", "")
        return
    peer = PerceptronTagger(load=False)
    theirs, _ = _timed(
        lambda: peer.train([list(zip(*pair, strict=True)) for pair in zip(X, y, strict=True)], nr_iter=5)
    )
    said = [[tag for _, tag in peer.tag(words)] for words in Xt]
    right = float(np.mean([a == b for one in zip(said, yt, strict=True) for a, b in zip(*one, strict=True)]))
    say(
        "parts of speech: Tagger",
        f"{seconds:.2f} s ({accuracy:.4f})",
        f"NLTK's PerceptronTagger {theirs:.1f} s ({right:.4f})",
        f"{theirs / seconds:.1f} ×",
        "≥ 10 ×, accuracy not lower",
    )


if __name__ == "__main__":
    _measure(*sys.argv[1:])
