"""The command line as one would guess it: what is kept, where answers go, names of parameters, formats of files."""

import bz2
import csv
import json

import numpy as np
import pandas as pd
import pytest
from command_line_cases import folder as folder
from command_line_cases import run

from rosenblatt import FileError, TableClassifier, fit, load, read


@pytest.fixture
def table(tmp_path):
    """Rows with an id, numbers, a name and a label."""
    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame({"id": rng.permutation(np.arange(100, 100 + n)), "size": rng.normal(size=n).round(3)})
    frame["city"] = rng.choice(["Köln", "Bonn"], n)
    frame["label"] = np.where(frame["size"] + rng.normal(0, 0.3, n) > 0, "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


def test_train_says_when_nothing_is_kept(folder):
    for path in ("rows.svm", "mail.txt"):
        assert run("train", folder / path)[1].splitlines()[-1] == "nothing is kept: -o MODEL saves the model"
        assert "nothing is kept" not in run("train", folder / path, "-o", folder / "m")[1]
    assert json.loads(run("train", folder / "rows.svm", "--json")[1])["model"] is None


def test_help_is_one_screen_and_help_all_has_every_option():
    _, short, _ = run("train", "--help", env={"COLUMNS": "80", "TERM": "dumb"})
    assert len(short.splitlines()) <= 35
    _, whole, _ = run("train", "--help-all", env={"COLUMNS": "80", "TERM": "dumb"})
    for name in ("--output", "--label", "--test", "--learner", "--set", "--epochs", "--column", "--task", "--help-all"):
        assert name in short
    for name in ("--cluster", "--tls-ca", "--checkpoint", "--delimiter", "--encoding", "--order", "--ngrams"):
        assert name not in short
        assert name in whole
    for topic in ("How it learns", "Output", "How the file is read", "Large files, and many machines"):
        assert topic in whole
    assert run("train", "--help", env={"COLUMNS": "80", "TERM": "dumb"})[1] == short


def test_a_misspelt_parameter_is_answered_with_the_right_one(folder):
    code, _, errors = run("train", folder / "rows.svm", "--learner", "perceptron", "--set", "margn=1")
    assert code == 2
    assert "--set margn: Perceptron has no such parameter: did you mean margin?" in errors
    assert "bias_step" in errors
    assert "has no such parameter, only C, " in run("train", folder / "mail.txt", "--set", "zzz=1")[2]


def test_messages_say_the_option(folder):
    assert "give label (--label), one of ['size', 'colour', 'churned']" in run("train", folder / "table.csv")[2]
    (folder / "strange.dat").write_text("what is this\n")
    assert "give format (--format), one of" in run("train", folder / "strange.dat")[2]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_predict_writes_a_table_of_answers(table, tmp_path):
    model, answers = tmp_path / "m", tmp_path / "answers.csv"
    assert run("train", tmp_path / "t.csv", "-o", model)[0] == 0
    new = table.drop(columns="label")
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run("predict", model, tmp_path / "new.csv", "-o", answers)
    assert (code, out) == (0, f"{answers}: 80 rows\n")
    found, loaded = rows_of(answers), load(model)
    assert list(found[0]) == ["id", "prediction", "probability no", "probability yes"]
    assert [int(row["id"]) for row in found] == table.id.tolist()
    assert [row["prediction"] for row in found] == loaded.predict(new).tolist()
    chances = [[float(row["probability no"]), float(row["probability yes"])] for row in found]
    np.testing.assert_allclose(chances, loaded.predict_proba(new), rtol=1e-8)
    assert run("predict", model, tmp_path / "new.csv", "-o", answers, "--scores")[0] == 0  # ours: it may be replaced
    assert list(rows_of(answers)[0])[-1] == "score"
    before = (tmp_path / "new.csv").read_text()
    for other in (tmp_path / "new.csv", tmp_path / "t.csv"):
        assert run("predict", model, tmp_path / "new.csv", "-o", other)[0] == 2
    assert (tmp_path / "new.csv").read_text() == before


def test_predict_explains_each_row(table, tmp_path):
    model, new = tmp_path / "m", tmp_path / "new.csv"
    table["notes\nof the clerk who wrote them down by hand"] = np.where(
        table.label == "yes", "happy with it", "sad day"
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    kinds = ("--column", "notes\nof the clerk who wrote them down by hand=text")
    assert run("train", tmp_path / "t.csv", "--label", "label", "-o", model, "--learner", "logistic", *kinds)[0] == 0
    table.drop(columns="label").to_csv(new, index=False)
    code, out, _ = run("predict", model, new, "--explain")
    assert code == 0
    lines, why, loaded = out.splitlines(), load(model).explain(table), load(model)
    assert [line.split("\t")[0] for line in lines] == loaded.predict(table).tolist()
    for k in (0, 1, 79):
        reason = lines[k].split("\t")[1]
        largest = int(np.abs(why.contributions[k]).argmax())
        told = f"{why.contributions[k, largest]:+.2f}".replace("-", "−")
        name = ["size", "city", "notes of the clerk who wrote them down …"][largest]
        assert reason.startswith(
            f"score {why.scores[k]:+.2f} = base {why.base:+.2f}, ".replace("-", "−") + f"{name} {told}"
        )
        term, value = why.features[k][0]
        assert f"; {' '.join(term.split())} {value:+.2f}".replace("-", "−") in reason
    answers = tmp_path / "answers.csv"
    assert run("predict", model, new, "--explain", "-o", answers)[0] == 0
    assert [row["explanation"] for row in rows_of(answers)] == [line.split("\t")[1] for line in lines]


def test_only_models_of_tables_explain(folder):
    assert run("train", folder / "table.csv", "--label", "churned", "-o", folder / "m")[0] == 0
    code, out, _ = run("predict", folder / "m", folder / "table.csv", "--explain")
    assert code == 0
    assert all("\tscore " in line and "; " not in line for line in out.splitlines())  # no text, no terms
    assert run("train", folder / "rows.svm", "-o", folder / "m")[0] == 0
    code, _, errors = run("predict", folder / "m", folder / "rows.svm", "--explain")
    assert code == 2
    assert "--explain is for models of tables, and this is a model of AveragedPerceptron" in errors


def test_a_model_of_tables_says_why_it_is_not_exported(folder):
    assert run("train", folder / "table.csv", "--label", "churned", "-o", folder / "m")[0] == 0
    code, _, errors = run("export", folder / "m", "-o", folder / "m.onnx")
    assert code == 2
    assert "TableClassifier has no ONNX form: it encodes columns" in errors


def test_another_encoding_is_recognised_as_such(table, tmp_path):
    (tmp_path / "latin.csv").write_bytes((tmp_path / "t.csv").read_bytes().decode().encode("latin-1"))
    code, _, errors = run("train", tmp_path / "latin.csv")
    assert code == 2
    assert "expected UTF-8, found other bytes: give encoding (--encoding)" in errors
    assert run("train", tmp_path / "latin.csv", "--encoding", "latin-1")[0] == 0


def test_a_piped_table_is_answered_with_how_to_read_it(folder):
    for command in ("train", "check"):
        code, _, errors = run(command, "-", "--label", "churned", input=(folder / "table.csv").read_bytes())
        assert code == 2
        assert "Standard input is taken as svmlight, which has no label column: give --format csv" in errors


def test_answers_of_other_models_are_numbered(folder):
    for learner, names in [("averaged", []), ("kernel-svm", [])]:
        assert run("train", folder / "rows.svm", "--learner", learner, "-o", folder / "m")[0] == 0
        assert run("predict", folder / "m", folder / "rows.svm", "-o", folder / "a.csv", "--scores", "--force")[0] == 0
        found = rows_of(folder / "a.csv")
        assert list(found[0]) == ["row", "prediction", *names, "score"]
        assert [int(row["row"]) for row in found] == list(range(1, 201))
        assert [row["prediction"] for row in found] == run("predict", folder / "m", folder / "rows.svm")[1].split()
    (folder / "several.svm").write_text("1,2 1:1\n2 1:-1\n 2:1\n1 1:2\n")
    assert run("train", folder / "several.svm", "-o", folder / "m")[0] == 0
    assert run("predict", folder / "m", folder / "several.svm", "-o", folder / "a.csv", "--force")[0] == 0
    assert {row["prediction"] for row in rows_of(folder / "a.csv")} <= {"", "1", "2", "1 2"}


def test_export_takes_an_option(folder):
    assert run("train", folder / "rows.svm", "-o", folder / "m")[0] == 0
    assert run("export", folder / "m", "-o", folder / "a.onnx")[0] == 0
    assert run("export", folder / "m", folder / "b.onnx")[0] == 0
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()
    assert "rosenblatt export MODEL -o FILE.onnx" in run("export", folder / "m")[2]


def test_one_table_in_every_format(table, tmp_path):
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True, force_ascii=False)
    (tmp_path / "t.csv.bz2").write_bytes(bz2.compress((tmp_path / "t.csv").read_bytes()))
    (tmp_path / "t.jsonl.bz2").write_bytes(bz2.compress((tmp_path / "t.jsonl").read_bytes()))
    odd = (tmp_path / "t.csv").read_text().replace(",", "#")
    (tmp_path / "odd.csv").write_bytes(odd.encode("latin-1"))
    (tmp_path / "wide.csv").write_bytes(odd.replace("#", ",").encode("utf-16"))
    models = []
    for name, options in [
        ("t.csv", ()),
        ("t.jsonl", ()),
        ("t.csv.bz2", ()),
        ("t.jsonl.bz2", ()),
        ("odd.csv", ("--delimiter", "#", "--encoding", "latin-1")),
        ("wide.csv", ("--delimiter", ",", "--encoding", "utf-16")),
    ]:
        assert run("train", tmp_path / name, "-o", tmp_path / "m", *options)[0] == 0, name
        models.append(load(tmp_path / "m"))
        assert "accuracy" in run("evaluate", tmp_path / "m", tmp_path / name)[1]
    chances = models[0].predict_proba(table)
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(table), chances)
    code, _, errors = run("train", tmp_path / "odd.csv", "--encoding", "klingon")
    assert code == 2
    assert "encoding must be an encoding of text that Python knows" in errors
    assert "delimiter must be a character" in run("train", tmp_path / "odd.csv", "--delimiter", "::")[2]


def test_arrays_in_files(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > X[:, 1], "up", "down")
    np.savez(tmp_path / "a.npz", X=X, y=y)
    found = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(found[0], X)
    assert found[1].tolist() == y.tolist()
    model = fit(TableClassifier(random_state=0), tmp_path / "a.npz")
    assert [one.name for one in model.encoder_.columns_] == ["x0", "x1", "x2"]
    np.save(tmp_path / "a.npy", np.column_stack([X, X[:, 0] > X[:, 1]]))
    np.testing.assert_array_equal(read(tmp_path / "a.npy", label=-1)[0], X)
    assert run("train", tmp_path / "a.npy", "--label", "-1", "-o", tmp_path / "m")[0] == 0
    np.save(tmp_path / "new.npy", X)
    found = [int(one) for one in run("predict", tmp_path / "m", tmp_path / "new.npy")[1].split()]
    assert np.mean(found == (X[:, 0] > X[:, 1])) > 0.9


def test_damaged_arrays_and_objects_are_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(4.0))
    np.savez(tmp_path / "none.npz", Z=np.ones((2, 2)))
    np.savez(tmp_path / "odd.npz", X=np.ones((2, 2)), y=np.ones(3))
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:40])
    (tmp_path / "cut.npz").write_bytes((tmp_path / "odd.npz").read_bytes()[:90])
    (tmp_path / "cut.jsonl").write_text('{"a": 1, "label": "x"}\n{"a": ')
    (tmp_path / "cut.csv.bz2").write_bytes(bz2.compress(b"a,label\n1,x\n" * 99)[:40])
    for name in ("flat.npy", "none.npz", "odd.npz", "objects.npy", "cut.npy", "cut.npz", "cut.jsonl", "cut.csv.bz2"):
        with pytest.raises(FileError, match="expected "):
            read(tmp_path / name)


def test_text_and_ids_are_no_categories_of_single_learners(tmp_path):
    (tmp_path / "t.csv").write_text("review,label\n" + "".join(f"film {k},{'xy'[k % 2]}\n" for k in range(60)))
    with pytest.raises(FileError, match="found 60 in 60 rows, like text or ids") as caught:
        read(tmp_path / "t.csv")
    assert caught.value.column == "review"
