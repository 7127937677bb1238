"""`rosenblatt stream`: each line answered, learned from where it has a label, and nothing lost at the end."""

import json
import random
import signal
import subprocess
import threading

import pytest
from command_line_cases import COMMAND, _quiet, run  # noqa: F401 (fixtures)

import rosenblatt
from rosenblatt import AROW, AveragedPerceptron, OneByOne, PassiveAggressiveRegressor


def rows(count, seed=0):
    """Numbers and texts, some missing; three classes, one that comes late, and rows without a label."""
    rng = random.Random(seed)
    for k in range(count):
        row = {"words": rng.randint(1, 90), "share": rng.random(), "sender": rng.choice(["bank", "friend", "shop"])}
        row["late"] = True if k > count // 2 else None
        if rng.random() < 0.8:
            row["label"] = "late" if k > count // 2 and row["sender"] == "shop" else ("ham", "spam")[row["words"] > 40]
        yield row


def in_lines(some):
    return "".join(json.dumps(row) + "\n" for row in some)


def by_hand(door, some, scores=False):
    """What the command should answer, in Python."""
    for row in some:
        x = {name: value for name, value in row.items() if value is not None and name != "label"}
        found = {"scores": door.score_one(x)} if scores else {}
        yield {"prediction": door.learn_one(x, row["label"]) if "label" in row else door.predict_one(x), **found}


def answers(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def streamed(*arguments, input):
    """The answers and what was said on standard error."""
    code, output, errors = run("stream", *arguments, input=input)
    assert code == 0, errors
    return answers(output), errors


@pytest.mark.parametrize(
    ("options", "estimator"),
    [
        (["--learner", "averaged"], AveragedPerceptron(random_state=0)),
        (["--learner", "arow", "--set", "r=2.0"], AROW(r=2.0, random_state=0)),
    ],
)
def test_answers_and_model_are_those_of_one_by_one(tmp_path, options, estimator):
    some, door = list(rows(300)), OneByOne(estimator)
    found, errors = streamed(tmp_path / "m", *options, "--scores", input=in_lines(some))
    assert found == json.loads(json.dumps(list(by_hand(door, some, scores=True))))
    ours, theirs = rosenblatt.load(tmp_path / "m"), door.estimator()
    assert ours.feature_names_in_.tolist() == theirs.feature_names_in_.tolist()
    assert (ours.coef_ == theirs.coef_).all()
    assert (ours.intercept_ == theirs.intercept_).all()
    assert f"300 lines: {door.learned} learned, {door.mistakes} of {door.learned - 1} predicted wrongly" in errors


def test_a_stream_goes_on_where_it_ended(tmp_path):
    some = list(rows(200))
    whole, _ = streamed(tmp_path / "whole", "--learner", "averaged", input=in_lines(some))
    first, _ = streamed(tmp_path / "m", "--learner", "averaged", input=in_lines(some[:90]))
    second, _ = streamed(tmp_path / "m", "--every", 10, input=in_lines(some[90:150]))
    (tmp_path / "rest.jsonl").write_text(in_lines(some[150:]).rstrip("\n"))  # the last line has no end
    third, _ = streamed(tmp_path / "m", tmp_path / "rest.jsonl", "--learner", "averaged", input="")
    assert first + second + third == whole
    assert (rosenblatt.load(tmp_path / "m").coef_ == rosenblatt.load(tmp_path / "whole").coef_).all()


def test_hashed_names(tmp_path):
    some, door = list(rows(60)), OneByOne(AROW(random_state=0), features=64)
    hashed = (tmp_path / "m", "--learner", "arow", "--features", 64)
    found = streamed(*hashed, input=in_lines(some[:30]))[0] + streamed(*hashed, input=in_lines(some[30:]))[0]
    assert found == list(by_hand(door, some))
    code, _, error = run("stream", tmp_path / "m", input=in_lines(some))
    assert code == 2
    assert "if its 64 were hashed, give --features 64" in error


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
def test_csv_is_answered_as_json_lines_are(tmp_path, suffix, mark):
    some = list(rows(120))
    names = ["words", "sender", "label", "late"]
    table = [[row.get(name) for name in names] for row in some]
    lines = ["" if value is None else str(value) for row in table for value in row]
    text = "".join(mark.join(f'"{value}"' for value in lines[at : at + 4]) + "\r\n" for at in range(0, len(lines), 4))
    (tmp_path / f"rows.{suffix}").write_bytes(("\ufeff" + mark.join(names) + "\r\n" + text).encode())
    likes = [
        {n: str(v) if n == "late" else v for n, v in zip(names, row, strict=True) if v is not None} for row in table
    ]
    delimiter = ("--delimiter", ";") if mark == ";" else ()
    found, _ = streamed(tmp_path / "m", tmp_path / f"rows.{suffix}", "--learner", "averaged", *delimiter, input="")
    assert found == list(by_hand(OneByOne(AveragedPerceptron(random_state=0)), likes))


def test_numbers_as_labels(tmp_path):
    """A regressor reads them from CSV; so does a model that learned classes that are numbers."""
    text = "x,y\n" + "".join(f"{k % 7},{2 * (k % 7) + 1}\n" for k in range(70))
    csv = ("--format", "csv", "--label", "y")
    found, errors = streamed(tmp_path / "r", "--learner", "regressor", *csv, input=text)
    door = OneByOne(PassiveAggressiveRegressor(random_state=0))
    expected = [door.learn_one({"x": float(k % 7)}, float(2 * (k % 7) + 1)) for k in range(70)]
    assert [one["prediction"] for one in found] == expected
    off = sum(abs(said - (2 * (k % 7) + 1)) for k, said in enumerate(expected) if said is not None) / 69
    assert f"mean absolute error {off:.4g} before the update" in errors
    streamed(tmp_path / "c", "--learner", "averaged", "--label", "y", input='{"x": 1, "y": 0}\n{"x": -1, "y": 1}\n')
    found, _ = streamed(tmp_path / "c", *csv, input="x,y\n1,0\n-1,1\n1,\n")
    assert [one["prediction"] for one in found] == [0, 1, 0]
    assert rosenblatt.load(tmp_path / "c").classes_.tolist() == [0, 1]


BROKEN = {
    "oops": "it is not JSON: expecting value, character 1",
    "": "it is not JSON",
    "[1, 2]": "expected an object",
    '{"words": NaN, "label": "spam"}': "'words' is nan, which is not a finite number",
    '{"words": [1], "label": "spam"}': "a value is a number, a boolean or text",
    '{"words": 1, "label": ["spam"]}': "unhashable",
    '{"words": 1, "label": 3}': "labels",
    '{"\\ud800": 1, "label": "spam"}': "surrogates not allowed",
    "[" * 100_000: "recursion",
    '{"words": 1' + "0" * 400 + ', "label": "spam"}': "too large",
}


def test_broken_lines_are_reported_skipped_and_counted(tmp_path):
    good = list(rows(20))
    mixed, at = [], {}
    for k, row in enumerate(good):
        mixed.append(json.dumps(row))
        if k > 2 and k - 3 < len(BROKEN):
            mixed.append(list(BROKEN)[k - 3])
            at[len(mixed)] = list(BROKEN.values())[k - 3]
    raw = "\n".join(mixed).encode() + b"\n\xff\n"
    code, output, errors = run("stream", tmp_path / "m", "--learner", "averaged", input=raw)
    assert code == 0
    found = answers(output)
    assert len(found) == len(mixed) + 1  # one answer per line, so that a pipe never waits in vain
    for number, why in {**at, len(mixed) + 1: "invalid start byte"}.items():
        assert found[number - 1]["prediction"] is None
        assert why in found[number - 1]["error"]
        assert f"line {number}: {found[number - 1]['error']}" in errors
    assert f"{len(BROKEN) + 1} broken and skipped" in errors
    alone, _ = streamed(tmp_path / "n", "--learner", "averaged", input=in_lines(good))
    assert [one for one in found if "error" not in one] == alone
    assert (rosenblatt.load(tmp_path / "m").coef_ == rosenblatt.load(tmp_path / "n").coef_).all()


def test_broken_rows_of_csv(tmp_path):
    text = 'a,b,label\n1,x_1,yes\n1,2\n"1,2,no\n1_0,nan,no\n2,1_0,no\n'
    found, errors = streamed(tmp_path / "m", "--learner", "averaged", "--format", "csv", input=text)
    assert [("error" in one) for one in found] == [False, True, True, True, False]
    assert "line 3: expected 3 values, as in the header, found 2" in errors
    assert "line 4: it is not a row of CSV: unexpected end of data" in errors
    assert "line 5: 'b' is nan" in errors
    assert rosenblatt.load(tmp_path / "m").feature_names_in_.tolist() == ["a", "b=x_1", "b=1_0"]


def test_what_is_refused_before_a_line_is_read(tmp_path):
    line = in_lines([{"a": 1, "label": "x"}, {"a": -1, "label": "y"}])
    model, other = tmp_path / "m", tmp_path / "rows.svm"
    other.write_text("1 1:1\n")
    streamed(model, "--learner", "averaged", input=line)
    before = model.read_bytes()
    for arguments, text in [
        ((tmp_path / "none",), "there is no such model: --learner averaged"),
        ((tmp_path / "none", "--learner", "linear-svm"), "OneByOne learns with online learners"),
        ((tmp_path / "none", "--learner", "auto"), "auto needs all rows"),
        ((tmp_path / "none", "--learner", "averaged", "--set", "C=1"), "AveragedPerceptron has no such parameter"),
        ((tmp_path / "none", "--learner", "averaged", "--format", "npy"), "CSV and TSV, not npy"),
        ((tmp_path / "none", other, "--learner", "averaged"), "CSV and TSV, not svmlight"),
        ((tmp_path / "none", tmp_path / "no.jsonl", "--learner", "averaged"), "no such file"),
        ((tmp_path / "none", "--learner", "averaged", "--format", "csv"), "expected a header of distinct names"),
        ((model, "--set", "margin=1"), "it goes with --learner"),
        ((model, "--learner", "arow"), "the model there is another (AveragedPerceptron)"),
        ((model, "--learner", "averaged", "--set", "margin=1.0"), "the model there is another (margin=0.0)"),
        ((model, model), "m"),
        ((other, "--learner", "averaged"), "rosenblatt did not write it"),
    ]:
        code, _, error = run("stream", *arguments, input="" if "csv" in arguments else line)
        assert code == 2, arguments
        assert text in error
    code, _, error = run("stream", model, "--format", "csv", "--label", "z", input="a,b\n1,2\n")
    assert (code, "there is no column 'z' among 'a', 'b'" in error) == (2, True)
    assert model.read_bytes() == before
    assert not (tmp_path / "none").exists()


def test_nothing_learned_writes_nothing(tmp_path):
    code, output, errors = run("stream", tmp_path / "m", "--learner", "averaged", input='{"a": 1}\n')
    assert (code, answers(output)) == (0, [{"prediction": None}])
    assert "1 lines: 0 learned\nnothing was learned" in errors
    code, _, errors = run("stream", tmp_path / "m", "--learner", "averaged", input="a,b\n1,2\n")
    assert code == 2
    assert "standard input: no line could be read" in errors
    assert not (tmp_path / "m").exists()


def test_damaged_input_keeps_what_was_learned(tmp_path):
    import gzip

    packed = gzip.compress(random.Random(0).randbytes(1 << 20).hex().join([in_lines(rows(50)), "\n"]).encode())
    (tmp_path / "rows.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    code, output, error = run("stream", tmp_path / "m", tmp_path / "rows.jsonl.gz", "--learner", "averaged")
    assert code == 2
    assert "expected a complete gzip file" in error
    assert len(answers(output)) == 50
    assert rosenblatt.load(tmp_path / "m").classes_.size == 3


# -- through a pipe ----------------------------------------------------------------------------------------------------


class Pipe:
    """The command as another program has it."""

    def __init__(self, *arguments):
        command = [*COMMAND, "stream", *map(str, arguments)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.watchdog = threading.Timer(120, self.process.kill)  # an answer that never comes fails the test
        self.watchdog.start()

    def ask(self, row):
        self.process.stdin.write((json.dumps(row) + "\n").encode())
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        _, errors = self.process.communicate()
        self.watchdog.cancel()
        return self.process.returncode, errors.decode()


def test_each_line_is_answered_before_the_next_is_written(tmp_path):
    some = list(rows(30))
    pipe = Pipe(tmp_path / "m", "--learner", "averaged", "--every", 10)
    found = [pipe.ask(row) for row in some[:15]]
    assert rosenblatt.load(tmp_path / "m").report_.epochs  # saved on the way
    found += [pipe.ask(row) for row in some[15:]]
    assert found == list(by_hand(OneByOne(AveragedPerceptron(random_state=0)), some))
    code, errors = pipe.end()
    assert code == 0
    assert "30 lines" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_model(tmp_path, number):
    some = list(rows(30))
    pipe, door = Pipe(tmp_path / "m", "--learner", "averaged"), OneByOne(AveragedPerceptron(random_state=0))
    assert [pipe.ask(row) for row in some] == list(by_hand(door, some))
    pipe.process.send_signal(number)
    code, errors = pipe.end()
    assert code == 128 + number, errors
    assert errors.endswith(f"saved {tmp_path / 'm'}\n")
    assert (rosenblatt.load(tmp_path / "m").coef_ == door.estimator().coef_).all()


def test_a_reader_that_leaves_saves_the_model(tmp_path):
    some = list(rows(30))
    pipe = Pipe(tmp_path / "m", "--learner", "averaged")
    for row in some:
        pipe.ask(row)
    pipe.process.stdout.close()
    pipe.process.stdin.write(in_lines(some).encode())
    pipe.process.stdin.close()
    errors = pipe.process.stderr.read().decode()
    pipe.process.wait()
    pipe.watchdog.cancel()
    assert pipe.process.returncode == 141
    assert "60 lines" in errors
    assert rosenblatt.load(tmp_path / "m").classes_.size == 3
