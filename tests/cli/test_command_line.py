"""The command line as a user drives it: in a pipe, and in a real terminal."""

import json
import sys

import numpy as np
import pytest
from command_line_cases import COMMAND, _quiet, folder, run  # noqa: F401 (fixtures)
from sklearn.datasets import dump_svmlight_file

import rosenblatt
from rosenblatt.cli import main as cli


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


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in rosenblatt.__all__
        if hasattr(getattr(rosenblatt, name), "get_params")
        and name not in ("Tagger", "TextEncoder", "GridSearchCV")  # which take words, not rows; which holds a model
    ],
)
def test_info_of_every_estimator(folder, name):
    X, y = rosenblatt.read(folder / "rows.svm")
    model = getattr(rosenblatt, name)()
    few = {"random_state": 0, "max_epochs": 2}
    model.set_params(**{key: few[key] for key in few.keys() & model.get_params().keys()})
    X = X.toarray() if name == "LinearProbe" else X  # which takes dense rows only
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
    assert run("train", plain, "--label", "2", "--no-header", "--epochs", 2)[0] == 0


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
        assert error == f"The model was trained on csv, and cannot read {other}."
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
        (("predict", folder / "rows.svm", folder / "rows.svm"), "not a rosenblatt model file"),
        (("info", folder / "rows.svm"), "not a rosenblatt model file"),
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
        assert error == "This Perceptron was saved before it was trained, and cannot predict."


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
