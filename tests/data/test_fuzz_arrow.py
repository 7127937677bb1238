"""Files that are not text, spoilt byte by byte, and Arrow data that point outside their buffers never crash.

They are read by a process of their own, whose crash is a failure.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from written import FUZZ, refused_by_kind

MUTANTS = Path(__file__).parent.parent / "byte_mutants.py"


KINDS = ["arrow", "parquet", "gz", "zst", "cache", "forged"]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutants")
    command = [sys.executable, MUTANTS, str(FUZZ), folder, *KINDS]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    print("left by a crash:", [path.name for path in folder.glob("mutant-*")])
    return refused_by_kind(run)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_say_what_they_say_or_are_refused(refused, kind):
    assert 0 < refused(kind) < FUZZ


BEYOND = """
import sys
import numpy as np, pandas as pd, pyarrow as pa
import rosenblatt
from rosenblatt.records import Reading
from rosenblatt.scale.shards import HeldShard, Store

offsets = np.arange(0, 42, 2, dtype=np.int32)
offsets[10] = 1 << 30
buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"12" * 20)]
column = pa.Array.from_buffers(pa.string(), 20, buffers)
frame = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))})
table, plain, y = pa.table({"a": column}), np.ones((20, 1)), np.arange(20) % 2
"""


USES = [
    "rosenblatt.Perceptron().fit(table, y)",
    "rosenblatt.Perceptron().fit(frame, y)",
    "rosenblatt.Perceptron().fit(plain, column)",
    "rosenblatt.Perceptron().fit(plain, frame['a'])",
    "rosenblatt.MultilayerPerceptron().fit(frame, y)",
    "rosenblatt.PassiveAggressiveRegressor().fit(plain, column)",
    "rosenblatt.MaxMargin().fit(plain, column)",
    "rosenblatt.separability(frame, y)",
    "rosenblatt.separability(plain, column)",
    "rosenblatt.fit(rosenblatt.Perceptron(), (table, y), shards=2)",
    "rosenblatt.fit(rosenblatt.Perceptron(), (plain, frame['a']), shards=2)",
    "rosenblatt.trace(table, y)",
    "next(HeldShard('part', lambda: frame).batches(None))",
    "HeldShard('part', lambda: (frame, y)).piece(Reading('svmlight'), Store(10**6))",
]
REFUSED = """
for use in sys.argv[1:]:
    try:
        eval(use)
    except ValueError as error:
        print(use if "Offset" in str(error) else error)
"""


def test_forged_offsets_in_memory_are_refused():
    command = [sys.executable, "-X", "faulthandler", "-c", BEYOND + REFUSED, *USES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == USES
