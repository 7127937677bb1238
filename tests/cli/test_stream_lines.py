"""`rosenblatt stream` on any lines: one answer per line, and a model that can be saved, loaded and gone on from."""

import json
import tempfile
from pathlib import Path

from command_line_cases import run
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt

leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers(min_value=10**308)
row = st.dictionaries(st.text(max_size=3), leaf | st.lists(leaf, max_size=2), max_size=4)
label = leaf | st.sampled_from(["a", "b", "c", "a\0", "", True, 1, 1.0, 2])
written = st.builds(lambda row, label: json.dumps({**row, "label": label}).encode(), row, label)
line = written | st.binary(max_size=12).map(lambda some: some.replace(b"\n", b""))


@settings(max_examples=25, deadline=None)
@given(st.lists(line, min_size=1, max_size=12), st.sampled_from(["averaged", "arow", "regressor"]), st.booleans())
def test_any_lines_are_answered_and_leave_a_whole_model(lines, learner, scores):
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m"
        for _ in range(2):
            options = ("--learner", learner, *(("--scores",) if scores else ()))
            code, output, error = run("stream", model, *options, input=b"\n".join(lines) + b"\n")
            answers = [json.loads(line) for line in output.splitlines() if line.startswith('{"prediction"')]
            assert len(answers) == len(lines)
            assert code == 0 or all("error" in one for one in answers), error
            if model.exists():
                rosenblatt.load(model)
