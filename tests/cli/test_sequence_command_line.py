"""Sequences on the command line: train, tag, evaluate, and what goes wrong."""

import json
import os
import signal
import subprocess
import time

import pytest
from command_line_cases import COMMAND, _quiet, run  # noqa: F401

import rosenblatt
from rosenblatt import SequencePerceptron

TRAIN = "the DT B-NP\ndog NN I-NP\nbarks VB O\n\na DT B-NP\ncat NN I-NP\nsleeps VB O\n\n"
TEST = "the DT B-NP\ncat NN I-NP\nbarks VB B-VP\n"
TEMPLATE = "# words and tags\nU00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\n\nB\n"


@pytest.fixture
def at(tmp_path):
    for name, text in (("train.conll", TRAIN), ("test.conll", TEST), ("chunk.tpl", TEMPLATE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def trained(at, *more):
    return run("train", at / "train.conll", "--template", at / "chunk.tpl", "-o", at / "model", *more)


def test_train_test_tag_and_evaluate(at):
    code, out, errors = trained(at, "--test", at / "test.conll")
    assert code == 0, errors
    assert "separated: the last iterate has the tags of every training sentence right" in out
    assert "accuracy  0.6667 of 3 tokens" in out
    assert "NP  precision 1.0000" in out
    code, out, _ = run("tag", at / "model", at / "test.conll")
    assert (code, out) == (0, "the DT B-NP B-NP\ncat NN I-NP I-NP\nbarks VB B-VP O\n\n")
    bare = "the DT\ncat NN\n\nit VB\n"
    code, out, _ = run("tag", at / "model", input=bare)
    assert (code, out) == (0, "the DT B-NP\ncat NN I-NP\n\nit VB B-NP\n\n")
    code, out, _ = run("evaluate", at / "model", at / "test.conll", "--json")
    scores = json.loads(out)
    assert (scores["tokens"], scores["chunks"]["gold"], scores["kinds"]["VP"]["recall"]) == (3, 2, 0.0)
    code, out, _ = run("info", at / "model")
    assert code == 0
    assert "SequencePerceptron(" in out


def test_training_is_that_of_python(at):
    trained(at, "--epochs", 1, "--seed", 4, "--set", "rule=pa", "--set", "C=0.5")
    X, y = rosenblatt.read_conll(at / "train.conll")
    there = SequencePerceptron(template=TEMPLATE, max_epochs=1, random_state=4, rule="pa", C=0.5).fit(X, y)
    here = rosenblatt.load(at / "model")
    assert here.get_params() == there.get_params()
    assert (here.coef_ == there.coef_).all()
    assert rosenblatt.fit(SequencePerceptron(template=TEMPLATE), at / "train.conll").predict(X) == y


def test_json(at):
    code, out, _ = trained(at, "--json", "--test", at / "test.conll")
    told = json.loads(out)
    assert code == 0
    assert (told["report"]["outcome"], told["report"]["tokens"]) == ("separated", 6)
    assert told["test"]["accuracy"] == pytest.approx(2 / 3)


def test_a_resumed_training_is_an_uninterrupted_one(at):
    hard = "\n".join(f"{word} x {tag}\n" for word, tag in (("a", "A"), ("a", "B"), ("b", "B"), ("b", "A"))) * 3
    (at / "train.conll").write_text(hard)
    point = at / "point"
    assert trained(at, "--epochs", 2, "--checkpoint", point)[0] == 0
    assert trained(at, "--epochs", 5, "--checkpoint", point, "--resume")[0] == 0
    resumed = rosenblatt.load(at / "model")
    assert trained(at, "--epochs", 5)[0] == 0
    whole = rosenblatt.load(at / "model")
    assert (resumed.coef_ == whole.coef_).all()
    assert (resumed._state.sums == whole._state.sums).all()
    assert [one.updates for one in resumed.report_.epochs] == [one.updates for one in whole.report_.epochs]
    for change, message in (
        (["--set", "keep=last"], "another training"),
        (["--set", "early_stopping=True"], "cannot be resumed"),
    ):
        code, _, errors = trained(at, "--checkpoint", point, "--resume", *change)
        assert code == 2
        assert message in errors
    (at / "train.conll").write_text(hard + TRAIN)
    assert "other rows" in trained(at, "--checkpoint", point, "--resume")[2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.conll", "a b c\nd e\n", "train.conll, line 2: expected 3 columns, as in line 1, found 2"),
        ("train.conll", "", "train.conll: expected tokens, found none"),
        ("train.conll", "a B\n", "The template needs column 1"),
        ("chunk.tpl", "U00:%x[0]\n", "chunk.tpl: Template, line 1: expected %x[row,column]"),
        ("chunk.tpl", "B\n", "chunk.tpl: The template has no feature"),
        ("chunk.tpl", "X\n", "chunk.tpl: Template, line 1: expected U… or B"),
    ],
)
def test_malformed_files_are_refused_with_their_place(at, name, text, message):
    (at / name).write_text(text)
    code, _, errors = trained(at)
    assert code == 2
    assert message in errors
    assert not (at / "model").exists()


def test_what_does_not_fit_together_is_refused(at):
    assert "give --template" in run("train", at / "train.conll", "-o", at / "model")[2]
    for option in (
        ("--learner", "arow"),
        ("--no-header",),
        ("--mixing", "mistakes"),
        ("--ngrams", "1,2"),
        ("--tls-ca", at / "chunk.tpl"),
        ("--cache-dir", at),
        ("--zero-based",),
    ):
        assert "--template goes with" in trained(at, *option)[2], option
    trained(at)
    assert "use rosenblatt tag" in run("predict", at / "model", at / "test.conll")[2]
    assert "expected at least 2 columns, found 1" in run("tag", at / "model", input="word\n")[2]
    assert "column with the tag" in run("evaluate", at / "model", "-", input="a b\n")[2]
    assert "expected tokens" in run("evaluate", at / "model", "-", input="\n")[2]
    assert run("tag", at / "model", input="")[:2] == (0, "")
    rosenblatt.save(SequencePerceptron().fit([[["a"], ["b"]]], [["A", "B"]]), at / "named")
    assert "train it with --template" in run("tag", at / "named", at / "test.conll")[2]
    rosenblatt.save(rosenblatt.Perceptron().fit([[0.0], [1.0]], [0, 1]), at / "rows")
    assert "use rosenblatt predict" in run("tag", at / "rows", at / "test.conll")[2]
    with pytest.raises(ValueError, match="needs a template to learn from files"):
        rosenblatt.fit(SequencePerceptron(), at / "train.conll")
    with pytest.raises(ValueError, match="leave out shards"):
        rosenblatt.fit(SequencePerceptron(template=TEMPLATE), at / "train.conll", shards=2)


@pytest.mark.compiled
def test_a_kill_while_saving_leaves_the_old_model(at):
    """Killed at many moments of saving over and over, the file is always one of the two models."""
    first = SequencePerceptron(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
    rosenblatt.save(first, at / "model")
    code = (
        "import sys, rosenblatt\n"
        "model = rosenblatt.load(sys.argv[1])\n"
        "X, y = [[[f'w{i}'] for i in range(2000)]], [['A', 'B'] * 1000]\n"
        "other = rosenblatt.SequencePerceptron(random_state=1).fit(X, y)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    rosenblatt.save(other, sys.argv[1]); rosenblatt.save(model, sys.argv[1])\n"
    )
    for wait in (0.01, 0.03):
        child = subprocess.Popen(
            [COMMAND[0], "-W", "ignore", "-c", code, str(at / "model")], stdout=subprocess.PIPE, env=os.environ
        )
        assert child.stdout.readline() == b"ready\n"
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert rosenblatt.load(at / "model").classes_.tolist() == ["A", "B"]


def test_ctrl_c_before_the_first_checkpoint_promises_none(at, monkeypatch):
    def interrupted(training, quiet=False):
        raise KeyboardInterrupt

    monkeypatch.setattr("rosenblatt.cli.progress_bar.show_progress", interrupted)
    code, _, errors = trained(at, "--checkpoint", at / "point")
    assert code == 130
    assert errors.strip() == "interrupted"


def test_a_template_may_begin_with_a_byte_order_mark(at):
    (at / "chunk.tpl").write_text("\ufeff" + TEMPLATE, encoding="utf-8")
    assert trained(at)[0] == 0


def test_a_tagger_takes_the_first_column(at):
    X, y = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3, [["D", "N", "V"]] * 6
    rosenblatt.save(rosenblatt.Tagger(random_state=0).fit(X, y), at / "pos")
    code, out, _ = run("tag", at / "pos", input="the x\ncat y\n\na z\n")
    assert (code, out) == (0, "the x D\ncat y N\n\na z D\n\n")
    code, out, _ = run("evaluate", at / "pos", "-", "--json", input="the D\ncat V\n")
    assert (code, json.loads(out)["accuracy"]) == (0, 0.5)
    assert "expected a column with the tag" in run("evaluate", at / "pos", "-", input="the\n")[2]
    assert "use rosenblatt tag" in run("predict", at / "pos", at / "test.conll")[2]
