"""The command line as a user drives it: in a pipe, and in a real terminal."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pexpect
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import rosenblatt
from rosenblatt.cli import main as cli
from rosenblatt.cli.progress import show_progress
from rosenblatt.learn.epochs import EpochRecord
from rosenblatt.scale.progress import Progress

COMMAND = [sys.executable, "-m", "rosenblatt.cli.main"]


def run(*arguments, **settings):
    """The command in this process: exit code, output and errors."""
    outcome = CliRunner().invoke(cli.app, [str(one) for one in arguments], **settings)
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        with pytest.raises(SystemExit) as left:
            cli.fail(outcome.exception)
        return left.value.code, outcome.output, str(outcome.exception)
    return outcome.exit_code, outcome.output, outcome.stderr


@pytest.fixture(autouse=True)
def _quiet():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, seed in (("rows", 1), ("more", 2)):
        X = sp.random(200, 20, 0.3, format="csr", random_state=seed)
        y = np.where(X @ np.arange(-10, 10) > 0, 1, -1)
        dump_svmlight_file(X, y, str(tmp_path / f"{name}.svm"), zero_based=False)
    lines = [f"{a:.3f},{'red' if b else 'blue'},{'yes' if a > 0.5 else 'no'}" for a, b in rng.random((80, 2)).round()]
    (tmp_path / "table.csv").write_text("size,colour,churned\n" + "\n".join(lines) + "\n")
    (tmp_path / "mail.txt").write_text("spam\tbuy this now\nham\tsee you at noon\n" * 20)
    return tmp_path


def test_train_predict_evaluate(folder):
    code, out, _ = run("train", folder / "rows.svm", "--test", folder / "more.svm", "-o", folder / "m", "--epochs", 5)
    assert code == 0
    assert "accuracy" in out
    model = rosenblatt.load(folder / "m")
    X, y = rosenblatt.read(folder / "more.svm")
    code, out, _ = run("predict", folder / "m", folder / "more.svm")
    assert code == 0
    np.testing.assert_array_equal(np.array(out.split(), dtype=float), model.predict(X))
    code, out, _ = run("predict", folder / "m", folder / "more.svm", "--scores")
    assert len(out.splitlines()[0].split("\t")) == 2
    code, out, _ = run("evaluate", folder / "m", folder / "more.svm", "--json")
    assert json.loads(out)["errors"] == int((model.predict(X) != y).sum())
    code, out, _ = run("evaluate", folder / "m", folder / "more.svm", "--one-based")
    assert "accuracy" in out
    code, out, _ = run("info", folder / "m")
    assert "AveragedPerceptron(max_epochs=5" in out
    assert "features 20" in out
    code, out, _ = run("info", folder / "m", "--json")
    assert json.loads(out)["classes"] == [-1.0, 1.0]


def test_info_of_parameters_that_are_arrays(folder):
    X, y = rosenblatt.read(folder / "rows.svm")
    rosenblatt.save(rosenblatt.Perceptron(order=np.arange(30), max_epochs=2).fit(X, y), folder / "m")
    code, out, _ = run("info", folder / "m")
    assert code == 0
    assert "Perceptron(max_epochs=2, order=array([ 0, 1, 2," in out
    code, out, _ = run("info", folder / "m", "--json")
    assert code == 0
    assert json.loads(out)["parameters"] == {"max_epochs": 2, "order": list(range(30))}


@pytest.mark.parametrize("name", [k for k in rosenblatt.__all__ if hasattr(getattr(rosenblatt, k), "get_params")])
def test_info_of_every_estimator(folder, name):
    X, y = rosenblatt.read(folder / "rows.svm")
    model = getattr(rosenblatt, name)()
    few = {"random_state": 0, "max_epochs": 2}
    model.set_params(**{key: few[key] for key in few.keys() & model.get_params().keys()})
    rosenblatt.save(model.fit(X, y), folder / "m")
    code, out, _ = run("info", folder / "m")
    assert code == 0
    assert out.startswith(f"{name}(")
    code, out, _ = run("info", folder / "m", "--json")
    assert json.loads(out)["features"] == 20


def test_json_is_all_that_is_printed(folder):
    code, out, errors = run("train", folder / "rows.svm", "--json", "--test", folder / "more.svm", "--epochs", 3)
    assert code == 0
    assert json.loads(out)["test"]["rows"] == 200
    assert errors == ""


def test_tables_and_text(folder):
    assert run("train", folder / "table.csv", "--label", "churned", "-o", folder / "m", "--epochs", 9)[0] == 0
    (folder / "new.csv").write_text("colour,size\nred,0.9\ngreen,0.1\n")
    code, out, _ = run("predict", folder / "m", folder / "new.csv")
    assert out.split() == ["yes", "no"]
    assert run("evaluate", folder / "m", folder / "new.csv")[0] == 2
    code, _, _ = run(
        "train", folder / "mail.txt", "--format", "text", "--features", 1024, "--ngrams", "1,2", "-o", folder / "t"
    )
    assert code == 0
    (folder / "new.txt").write_text("buy now\nat noon\n")
    assert run("predict", folder / "t", folder / "new.txt", "--unlabelled")[1].split() == ["spam", "ham"]
    assert run("predict", folder / "t", folder / "new.txt")[0] == 2
    plain = folder / "plain.csv"
    plain.write_text((folder / "table.csv").read_text().split("\n", 1)[1])
    assert run("train", plain, "--label", "2", "--categorical", "hash", "--no-header", "--epochs", 2)[0] == 0


def test_a_model_reads_files_as_in_training_whatever_the_options(folder):
    run("train", folder / "table.csv", "--label", "churned", "-o", folder / "m", "--epochs", 9)
    (folder / "new.dat").write_text("colour,size\ngreen,0.9\nred,0.9\nred,0.1\n")
    for options in ((), ("--format", "csv")):
        assert run("predict", folder / "m", folder / "new.dat", *options)[1].split() == ["yes", "yes", "no"]
    said = run("evaluate", folder / "m", folder / "table.csv")
    assert said == run("evaluate", folder / "m", folder / "table.csv", "--format", "csv")
    (folder / "new.tsv").write_text((folder / "new.dat").read_text().replace(",", "\t"))
    assert run("predict", folder / "m", folder / "new.tsv")[1].split() == ["yes", "yes", "no"]
    for other in ("svmlight", "text"):
        code, _, error = run("predict", folder / "m", folder / "new.dat", "--format", other)
        assert code == 2
        assert error == f"The model learned from csv, and {other} cannot take its place."
    arguments = ("--format", "text", "--features", 4096, "--ngrams", "2,2", "-o", folder / "t")
    assert run("train", folder / "mail.txt", *arguments)[0] == 0
    said = run("predict", folder / "t", folder / "mail.txt", "--scores")
    assert said == run("predict", folder / "t", folder / "mail.txt", "--scores", "--format", "text")
    assert float(said[1].split()[1]) != 0
    (folder / "mail.tsv").write_text((folder / "mail.txt").read_text())
    assert said == run("predict", folder / "t", folder / "mail.tsv", "--scores")


def test_a_file_name_without_a_format(folder):
    (folder / "t.dat").write_text((folder / "table.csv").read_text())
    arguments = ("--format", "csv", "--label", "churned", "-o", folder / "m")
    code, out, _ = run("train", folder / "t.dat", "--test", folder / "t.dat", *arguments)
    assert code == 0
    assert "accuracy 1.0000" in out
    assert len(run("predict", folder / "m", folder / "t.dat")[1].split()) == 80


def test_tables_from_standard_input(folder, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_CACHE", str(folder / "caches"))
    table = (folder / "table.csv").read_bytes()
    options = ("--format", "csv", "--label", "churned")
    code, out, _ = run("check", "-", *options, input=table)
    assert code == 0
    assert out == run("check", folder / "table.csv", "--label", "churned")[1]
    assert run("train", "-", *options, "-o", folder / "m", input=table)[0] == 0
    for command in ("predict", "evaluate"):
        expected = run(command, folder / "m", folder / "table.csv")
        assert expected[0] == 0
        for format in ((), options[:2]):
            assert run(command, folder / "m", "-", *format, input=table) == expected
    code, _, error = run("predict", folder / "m", "-", input=b"size,colour\n1,red\nx,red\n")
    assert code == 2
    assert error == "-, line 3, column 'size': expected a finite number, found 'x'"


def test_other_learners(folder):
    X, _ = rosenblatt.read(folder / "rows.svm")
    dump_svmlight_file(X, X @ np.ones(20), str(folder / "numbers.svm"), zero_based=True)
    numbers = folder / "numbers.svm"
    assert run("train", numbers, "--learner", "regressor", "--zero-based", "-o", folder / "r", "--set", "C=0.5")[0] == 0
    assert "mean absolute error" in run("evaluate", folder / "r", numbers)[1]
    assert len(run("predict", folder / "r", numbers, "--scores")[1].split()) == 200
    (folder / "several.svm").write_text("1,3 1:1\n3 2:1\n1 1:2 2:-1\n" * 9)
    assert run("train", folder / "several.svm", "-o", folder / "s", "--set", "margin=0.1")[0] == 0
    assert run("predict", folder / "s", folder / "several.svm")[1].splitlines()[:3] == ["1,3", "3", "1"]
    rosenblatt.save(rosenblatt.Perceptron(max_epochs=3).fit(X, X[:, 0].toarray().ravel() > 0.5), folder / "p")
    assert len(run("predict", folder / "p", folder / "rows.svm")[1].split()) == 200
    rosenblatt.save(rosenblatt.Perceptron(), folder / "u")
    assert "not trained" in run("info", folder / "u")[1]
    rosenblatt.save(rosenblatt.Perceptron(max_epochs=2).fit(X, np.arange(200) % 12), folder / "many")
    assert "12 in all" in run("info", folder / "many")[1]


def test_errors_are_one_sentence(folder):
    (folder / "bad.svm").write_text("1 1:1\n-1 2:x\n")
    for arguments, text in [
        (("train", folder / "bad.svm"), "bad.svm, line 2, column 6: expected a finite number, found 'x'"),
        (("train", folder / "none.svm"), "no such file"),
        (("train", folder / "table.csv"), "cannot tell which column is the label"),
        (("train", folder / "rows.svm", "-o", folder / "no" / "where"), "there is no folder"),
        (("train", folder / "rows.svm", "--set", "margin"), "name=value"),
        (("train", folder / "rows.svm", "--set", "margin=big"), "margin"),
        (("train", folder / "rows.svm", "--set", "colour=1"), "colour"),
        (("train", folder / "rows.svm", "--ngrams", "two"), "ngrams"),
        (("predict", folder / "rows.svm", folder / "rows.svm"), "no model file"),
        (("info", folder / "rows.svm"), "no model file"),
        (("lab", folder / "none.csv"), "no file"),
        (("lab", folder / "bad.svm"), "one column"),
    ]:
        code, _, error = run(*arguments)
        assert code == 2, arguments
        assert text in error
    assert run("train", folder / "rows.svm", "--learner", "nobody")[0] == 2
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    (folder / "empty.svm").write_text("")
    assert "found none" in run("predict", folder / "m", folder / "empty.svm")[2]
    rosenblatt.save(rosenblatt.Perceptron().fit([[1.0], [-1.0]], [0, 1]), folder / "narrow")
    code, _, error = run("predict", folder / "narrow", folder / "rows.svm")
    assert code == 2
    assert "index of at most 1" in error


def test_a_model_that_was_never_trained(folder):
    rosenblatt.save(rosenblatt.Perceptron(), folder / "u")
    for command in ("predict", "evaluate"):
        code, _, error = run(command, folder / "u", folder / "rows.svm")
        assert code == 2
        assert error == "This Perceptron was saved before it was trained: it can say nothing of rows."


def test_an_internal_error_is_one_sentence(monkeypatch, capsys, folder):
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "info", str(folder / "m")])
    monkeypatch.setattr(rosenblatt, "load", lambda path: {}["missing\nkey"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_table_without_labels_for_a_model_from_memory(folder):
    model = rosenblatt.Perceptron().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["a", "b", "b"])
    rosenblatt.save(model, folder / "m")
    (folder / "new.csv").write_text("p,q\n0,1\n2,0\n")
    assert run("predict", folder / "m", folder / "new.csv") == (0, "a\nb\n", "")
    (folder / "known.csv").write_text("p,q,label\n0,1,a\n2,0,a\n")
    assert run("predict", folder / "m", folder / "known.csv") == (0, "a\nb\n", "")
    assert "1 of 2 rows wrong" in run("evaluate", folder / "m", folder / "known.csv")[1]
    assert "cannot tell which column is the label" in run("evaluate", folder / "m", folder / "new.csv")[2]


def test_labels_are_written_out(folder):
    (folder / "several.svm").write_text("0.1,1234567 1:1\n1234567 2:1\n0.1 1:2 2:-1\n" * 9)
    assert run("train", folder / "several.svm", "-o", folder / "s", "--set", "margin=0.1")[0] == 0
    assert run("predict", folder / "s", folder / "several.svm")[1].splitlines()[:3] == ["0.1,1234567", "1234567", "0.1"]
    (folder / "strange.svm").write_text("0.1,7 1:1\n")
    code, _, error = run("evaluate", folder / "s", folder / "strange.svm")
    assert code == 2
    assert "strange.svm: expected one of the labels" in error
    (folder / "number.svm").write_text("0.1 1:1\n")
    arguments = ("--learner", "regressor", "--set", "epsilon=0.0", "--set", "fit_intercept=False")
    assert run("train", folder / "number.svm", *arguments, "-o", folder / "n")[0] == 0
    assert run("predict", folder / "n", folder / "number.svm")[1] == "0.1\n"


def test_labels_of_another_type_are_refused(folder):
    X, y = rosenblatt.read(folder / "rows.svm")
    rosenblatt.save(rosenblatt.Perceptron(max_epochs=3).fit(X, np.where(y > 0, "yes", "no")), folder / "names")
    code, _, error = run("evaluate", folder / "names", folder / "rows.svm")
    assert code == 2
    assert "expected labels of the kind that the model was trained on, such as 'no', found" in error


def test_paths_are_checked_before_training(folder, monkeypatch):
    monkeypatch.setattr("rosenblatt.scale.fit_from_files.training", lambda *given, **more: pytest.fail("it trained"))
    for arguments, text in [
        (("-o", folder), "this is a folder"),
        (("--checkpoint", folder), "this is a folder"),
        (("--checkpoint", folder / "no" / "where"), "there is no folder"),
        (("--test", folder / "missing.svm"), "missing.svm: cannot read it: no such file"),
        (("--test", folder / "missing-*.svm"), "no file matches this pattern"),
    ]:
        code, _, error = run("train", folder / "rows.svm", *arguments)
        assert code == 2
        assert text in error
    assert "cannot be both" in run("train", "-", "--test", "-")[2]


def test_inputs_are_never_outputs(folder, monkeypatch):
    """By inode: under a link's name, within a pattern, and as standard input too; not even by force."""
    rows, more, table = folder / "rows.svm", folder / "more.svm", folder / "table.csv"
    rosenblatt.save(rosenblatt.Perceptron().fit([[1.0], [-1.0]], [0, 1]), folder / "m")
    (folder / "soft.svm").symlink_to(rows)
    os.link(rows, folder / "hard.svm")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("rosenblatt.scale.fit_from_files.steps", lambda *given, **more: pytest.fail("it read"))
    for arguments in [
        ("train", rows, "-o", rows),
        ("train", rows, "--checkpoint", rows),
        ("train", rows, "--checkpoint", rows, "--resume"),
        ("train", rows, "--test", more, "-o", more),
        ("train", rows, "--test", folder / "m*.svm", "--checkpoint", more),
        ("train", rows, "-o", folder / "soft.svm"),
        ("train", folder / "soft.svm", "-o", rows),
        ("train", rows, "-o", folder / "hard.svm"),
        ("train", folder / "*.svm", "-o", more),
        ("train", table, "--label", "churned", "-o", folder / "." / "table.csv"),
        ("export", folder / "m", folder / "m"),
    ]:
        for force in ((), ("--force",)):
            code, _, error = run(*arguments, *force)
            assert code == 2, arguments
            assert "it would be overwritten, but it is also the input" in error
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_standard_input_is_not_overwritten_either(folder):
    rows = folder / "rows.svm"
    before = rows.read_bytes()
    run("train", rows, "-o", folder / "m", "--epochs", 2)
    for words, out in ((("train", "-", "-o", rows), None), (("predict", folder / "m", rows), "ab")):
        with open(rows, "rb") as into, open(rows, out or "rb") as onto:
            command = [*COMMAND, *map(str, words)]
            done = subprocess.run(
                command, stdin=into, stdout=onto if out else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 2
        assert "it would be overwritten" in done.stderr
        assert rows.read_bytes() == before


def test_only_models_are_replaced(folder, monkeypatch):
    rows, notes, point = folder / "rows.svm", folder / "notes.txt", folder / "point"
    notes.write_text("precious")
    for option in ("-o", "--checkpoint"):
        code, _, error = run("train", rows, option, notes, "--epochs", 2)
        assert code == 2
        assert error == f"{notes}: this file exists and rosenblatt did not write it: name another, or give --force."
        assert notes.read_text() == "precious"
        code, _, error = run("train", rows, option, "/dev/null", "--force")
        assert code == 2
        assert "this is a device" in error
    assert run("train", rows, "-o", notes, "--force", "--epochs", 2)[0] == 0
    assert run("train", rows, "-o", notes, "--epochs", 3)[0] == 0
    assert rosenblatt.load(notes).max_epochs == 3
    (folder / "empty").touch()  # as mktemp makes it: nothing is lost
    assert run("train", rows, "-o", folder / "empty", "--epochs", 2)[0] == 0
    for epochs in (2, 4):
        assert run("train", rows, "--checkpoint", point, "--resume", "--epochs", epochs, "--set", "margin=1e9")[0] == 0
    assert rosenblatt.load(point).n_iter_ == 4


def test_only_exports_are_replaced_by_exports(folder):
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    run("train", folder / "rows.svm", "-o", folder / "n", "--epochs", 2)
    for other in (folder / "n", folder / "table.csv"):
        before = other.read_bytes()
        code, _, error = run("export", folder / "m", other)
        assert code == 2
        assert "give --force" in error
        assert other.read_bytes() == before
    for options in ((), (), ("--force",)):
        assert run("export", folder / "m", folder / "m.onnx", *options)[0] == 0
    code, _, error = run("train", folder / "rows.svm", "-o", folder / "m.onnx")
    assert code == 2
    assert run("export", folder / "m", folder / "n", "--force")[0] == 0


def test_resume_is_suggested_only_if_this_run_saved_a_checkpoint(folder, monkeypatch):
    point = folder / "point"
    arguments = ("train", folder / "rows.svm", "--checkpoint", point, "--epochs", 5, "--set", "margin=1e9")
    assert run(*arguments, "--learner", "perceptron")[0] == 0

    def interrupted(steps, quiet, after):
        for step in steps:
            if after == 0 or step.record is not None:
                raise KeyboardInterrupt

    for after, said in ((0, "interrupted\n"), (1, f"interrupted; continue from {point} with --resume\n")):
        monkeypatch.setattr(
            "rosenblatt.cli.progress.show_progress", lambda steps, quiet, after=after: interrupted(steps, quiet, after)
        )
        code, _, error = run(*arguments, "--learner", "perceptron")
        assert code == 130
        assert error == said


@pytest.mark.parametrize(
    "words",
    [
        ("check", "SOURCE"),
        ("check", "SOURCE", "--json"),
        ("check", "--help"),
        ("check", "nowhere"),
        ("check", "--colour"),
    ],
    ids=" ".join,
)
def test_closing_the_output_early_exits_with_141(folder, words):
    """Whatever could not be written, the exit code is no verdict: 1 would mean that nothing separates the rows."""
    (folder / "same.svm").write_text("1 1:1\n-1 1:1\n")
    arguments = [str(folder / "same.svm") if word == "SOURCE" else word for word in words]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, "check", *arguments], stdout=writer, stderr=writer)
    os.close(writer)
    assert done.returncode == 141


def test_an_answer_that_cannot_be_written(folder):
    (folder / "same.svm").write_text("1 1:1\n-1 1:1\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "check", str(folder / "same.svm")], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert subprocess.run([*COMMAND, "check", str(folder / "same.svm")], stdout=subprocess.DEVNULL).returncode == 1


def test_an_unknown_command_or_option(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "check", "--colour"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert "--colour" in capsys.readouterr().err


@pytest.mark.parametrize("error", [BrokenPipeError(), SystemExit(1)], ids=["ours", "of rich"])
def test_a_broken_pipe_is_not_a_verdict(monkeypatch, error):
    def broken(**how):
        raise error

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 141


class Verdict:
    positive, verdict = 1, "complete"

    def __init__(self, separable):
        self.separable = separable


@pytest.mark.parametrize(("separable", "code"), [(True, 0), (False, 1), (None, 3)])
def test_check(folder, monkeypatch, separable, code):
    monkeypatch.setattr(rosenblatt, "separability", lambda X, y: Verdict(separable), raising=False)
    assert run("check", folder / "table.csv", "--label", "churned")[0] == code
    got, out, _ = run("check", folder / "rows.svm", "--json")
    assert got == code
    assert json.loads(out)["separable"] is separable


def test_lab(folder, monkeypatch):
    from rosenblatt.show import lab

    asked = []
    monkeypatch.setattr(lab, "serve", lambda *where, **how: asked.append((where, how)))
    assert run("lab")[0] == run("lab", folder / "table.csv", "--port", 5010, "--no-browser")[0] == 0
    assert asked == [
        ((None,), {"port": 0, "open_browser": True}),
        ((folder / "table.csv",), {"port": 5010, "open_browser": False}),
    ]
    assert run("lab", "--port", 70000)[0] == 2


@pytest.mark.compiled
def test_lab_in_a_process(tmp_path):
    (tmp_path / "own.csv").write_text("a,b,c\n1,2,x\n3,4,y\n")
    child = subprocess.Popen(
        [*COMMAND, "lab", str(tmp_path / "own.csv"), "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", child.stdout.readline())[0]
        for _ in range(200):
            try:
                with urllib.request.urlopen(address) as page:
                    text = page.read().decode()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        assert "rosenblatt lab" in text
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.stdout.close()


def test_lab_without_panel(monkeypatch):
    monkeypatch.setitem(sys.modules, "panel", None)
    code, _, error = run("lab", "--no-browser")
    assert code == 2
    assert 'pip install "rosenblatt[lab]"' in error


def test_export(folder):
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    assert run("export", folder / "m", folder / "m.onnx")[0] == 0
    assert (folder / "m.onnx").stat().st_size > 100


def test_bench(folder, monkeypatch):
    code, out, _ = run("bench", folder / "rows.svm")
    assert code == 0
    assert "MB/s" in out
    assert len(json.loads(run("bench", folder / "rows.svm", "--json")[1])) == 3
    assert "MB/s" in run("bench", folder / "table.csv", "--label", "churned")[1]
    monkeypatch.setenv("ROSENBLATT_CACHE", str(folder / "caches"))
    assert len(json.loads(run("bench", "-", "--json", input=(folder / "rows.svm").read_bytes())[1])) == 3
    monkeypatch.setattr("rosenblatt.cli.scoring.SYNTHETIC_ROWS", 50)
    assert run("bench")[0] == 0


def test_version_and_main(monkeypatch, capsys, folder):
    assert run("--version")[1].strip() == f"rosenblatt {rosenblatt.__version__}"
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "info", str(folder / "rows.svm")])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("rosenblatt: ")


@pytest.mark.compiled
def test_help_has_examples_and_starts_quickly():
    def spent():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "rosenblatt train reviews.svm" in out
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.5
    for name in ("train", "predict", "evaluate", "check", "info", "export", "bench"):
        assert "Example" in run(name, "--help")[1]


def test_heavy_imports_are_deferred():
    script = "import sys, rosenblatt.cli.main; print(sorted({'numba', 'sklearn', 'numpy', 'rich'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "numba" not in out
    assert "sklearn" not in out


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self, real):
        self.real = real

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_progress_in_both_forms(monkeypatch, capsys):
    def steps():
        for epoch in (1, 2):
            yield Progress(epoch, 50, 100, 3, 0.1)
            yield Progress(epoch, 100, 100, 5, 0.2, EpochRecord(epoch, 5, None, 0.25, 0.1))

    show_progress(steps())
    assert "epoch 2: 5 mistakes, loss 0.25, 1,000 rows/s" in capsys.readouterr().err
    show_progress(steps(), quiet=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    show_progress(steps())
    assert "epoch 2: 5 mistakes" in capsys.readouterr().err


# -- as a user -------------------------------------------------------------------------------------------------------


def test_in_a_pipe(folder):
    environment = {**os.environ, "ROSENBLATT_CACHE": str(folder / "caches")}
    data = (folder / "rows.svm").read_bytes()
    trained = subprocess.run(
        [*COMMAND, "train", "-", "-o", str(folder / "m"), "--epochs", "3"],
        input=data,
        capture_output=True,
        env=environment,
    )
    assert trained.returncode == 0, trained.stderr
    assert trained.stderr.decode().count("epoch ") >= 1
    assert b"\x1b" not in trained.stderr + trained.stdout
    said = subprocess.run([*COMMAND, "predict", str(folder / "m"), "-"], input=data, capture_output=True)
    assert len(said.stdout.split()) == 200
    bad = subprocess.run([*COMMAND, "train", str(folder / "nothing.svm")], capture_output=True, text=True)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "Traceback" not in bad.stderr


def test_in_a_terminal(folder):
    arguments = [
        "-m",
        "rosenblatt.cli.main",
        "train",
        str(folder / "rows.svm"),
        "--epochs",
        "3",
        "-o",
        str(folder / "m"),
    ]
    child = pexpect.spawn(sys.executable, arguments, timeout=60, encoding="utf-8", dimensions=(40, 120))
    child.expect("epoch 1: .* mistakes, loss .* rows/s")
    child.expect("converged|budget")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (folder / "m").exists()


@pytest.mark.compiled
def test_ctrl_c_in_a_terminal(folder):
    def arguments(point):
        return [
            "-m", "rosenblatt.cli.main", "train", str(folder / "rows.svm"), "--learner", "perceptron", "--set",
            "margin=1e9", "--epochs", "400", "--checkpoint", str(point), "--resume",
            "-o", str(folder / point.name) + ".m",
        ]  # fmt: skip

    # The terminal writes ^C wherever it comes, within a character too.
    child = pexpect.spawn(
        sys.executable,
        arguments(folder / "point"),
        timeout=60,
        encoding="utf-8",
        codec_errors="replace",
        dimensions=(40, 120),
    )
    child.expect("epoch 2: ")
    time.sleep(0.2)
    child.sendintr()
    child.expect("interrupted; continue from .* with --resume")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130, child.signalstatus == signal.SIGINT
    assert 2 <= rosenblatt.load(folder / "point").n_iter_ < 400
    for point in ("point", "other"):
        subprocess.run([sys.executable, *arguments(folder / point)], check=True, capture_output=True)
    np.testing.assert_array_equal(rosenblatt.load(folder / "point.m").coef_, rosenblatt.load(folder / "other.m").coef_)


@pytest.mark.compiled
def test_a_reader_that_closes_the_pipe_early(folder):
    (folder / "long.svm").write_bytes((folder / "rows.svm").read_bytes() * 200)
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    command = f"{' '.join(COMMAND)} predict {folder / 'm'} {folder / 'long.svm'} | head -1"
    out = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert len(out.stdout.split()) == 1
    assert "Traceback" not in out.stderr
