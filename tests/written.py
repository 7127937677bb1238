"""Files for tests of readers: written, spoilt at random, and the same small table for every format."""

import os
import re

FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "300"))
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
TABLE = {
    "size": [1.5, 2.0, -3.0, 4.0],
    "colour": ["red", "blue", "red", ""],
    "n": [1, 2, 3, 4],
    "label": ["a", "b", "a", "b"],
}
ROWS = [[1.5, 0, 0, 1, 1], [2, 0, 1, 0, 2], [-3, 0, 0, 1, 3], [4, 1, 0, 0, 4]]


def written(tmp_path, content, name="rows.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(4)
        if kind == 0:
            data[at : at + 1] = rng.choice(
                ["0", "9", "e", ".", "-", " ", ":", ",", "#", "\n", "q", "\t", '"', "x", "é"]
            ).encode()
        elif kind == 1:
            del data[at : at + rng.choice([1, 1, 3, 10])]
        elif kind == 2:
            data[at:at] = data[at : at + rng.choice([1, 2, 8])]
        else:
            data[at:at] = bytes([rng.randrange(256)])
    return bytes(data)


def refused_by_kind(run):
    """Of a process that prints a line per kind of file, the number in that line; a crash fails the kinds after it."""
    counts = dict(line.split() for line in run.stdout.splitlines())

    def refused(kind):
        assert kind in counts, (run.returncode, run.stderr[-4000:])
        return int(counts[kind])

    return refused
