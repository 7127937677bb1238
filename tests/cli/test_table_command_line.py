"""Raw tables on the command line: train, predict, evaluate and info with nothing set."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line_cases import run

from rosenblatt import FileError, LinearSVM, TableClassifier, TableRegressor, fit, load, predict, score
from rosenblatt.tables.settings import GROUPS

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:Column:UserWarning",
    "ignore:Classes with fewer rows:UserWarning",
    "ignore:The model is no better:UserWarning",
)


@pytest.fixture
def churn(tmp_path):
    """A raw table with names, numbers, missing values, an id, a copy of the label and rows without a label."""
    rng = np.random.default_rng(0)
    n = 120
    months = rng.integers(1, 40, n)
    left = np.where(months + rng.normal(0, 6, n) < 18, "Yes", "No").astype(object)
    frame = pd.DataFrame(
        {
            "customer": [f"c{k}" for k in range(n)],
            "months": np.where(rng.random(n) < 0.1, None, months),
            "contract": rng.choice(["one year", "two years"], n),
            "copy": np.where(left == "Yes", "left", "stays"),
            "zip": rng.choice([53111, 53113, 53115], n),
            "churned": left,
            "amount": months * 1.5,
        }
    )
    frame.loc[:2, ["churned", "copy"]] = None
    frame.to_csv(tmp_path / "churn.csv", index=False)
    return tmp_path / "churn.csv"


def test_train_with_nothing_set_tells_the_table_the_score_and_what_counts(churn):
    model = churn.parent / "churn.model"
    code, out, errors = run("train", churn, "--label", "churned", "-o", model)
    assert (code, errors) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("churn.csv: 117 rows, classification of churned (3 rows without a label are left out): ")
    assert "months: " in lines[1]
    assert "  left out customer: all values are different, like an id" in lines
    assert "  left out copy: a one-to-one copy of the label" in lines
    assert any(line.startswith("logistic regression, ") for line in lines)
    assert any(' folds (always "' in line for line in lines)
    assert lines[-1] == f"saved {model}"
    loaded = load(model)
    assert isinstance(loaded, TableClassifier)
    assert loaded.summary_.score > 0.7
    assert sorted(path.name for path in churn.parent.iterdir()) == ["churn.csv", "churn.model"]  # no litter


def test_a_file_larger_than_memory_trains_with_nothing_else_set(churn, monkeypatch):
    monkeypatch.setattr("rosenblatt.scale.large_tables.IN_MEMORY", 10**9)
    model, point = churn.parent / "m", churn.parent / "point"
    code, out, errors = run("train", churn, "--label", "churned", "-o", model, "--checkpoint", point)
    assert (code, errors) == (0, "")
    assert " held-out rows (always " in out
    assert "  left out customer: all values are different, like an id" in out.splitlines()
    assert load(model).summary_.rows == 117
    assert len(load(point).report_.epochs) == load(model).summary_.passes
    code, again, _ = run("train", churn, "--label", "churned", "--checkpoint", point, "--resume", "--memory", "500MB")
    assert code == 0
    assert next(line for line in again.splitlines() if " held-out rows" in line) in out


def test_predict_reads_columns_by_name_and_prints_probabilities(churn):
    model = churn.parent / "m"
    run("train", churn, "--label", "churned", "-o", model)
    frame = pd.read_csv(churn)
    other = frame.drop(columns=["churned", "customer", "copy"])[["zip", "amount", "months", "contract"]]
    other.assign(extra=1).to_csv(churn.parent / "new.csv", index=False)
    code, out, _ = run("predict", model, churn.parent / "new.csv")
    assert code == 0
    assert out == run("predict", model, churn)[1]
    said = [line.split("\t") for line in run("predict", model, churn.parent / "new.csv", "--proba")[1].splitlines()]
    assert [label for label, _ in said] == out.split()
    chances = np.array([list(map(float, text.split())) for _, text in said])
    assert chances.sum(axis=1) == pytest.approx(np.ones(120))
    assert ["No" if no > yes else "Yes" for no, yes in chances] == out.split()
    other.drop(columns="zip").to_csv(churn.parent / "less.csv", index=False)
    code, _, errors = run("predict", model, churn.parent / "less.csv")
    assert (code, errors) == (2, "X has no column 'zip', which the model learned from.")


def test_evaluate_prints_a_confusion_table_log_loss_area_and_f1(churn):
    model = churn.parent / "m"
    run("train", churn, "--label", "churned", "-o", model)
    code, out, _ = run("evaluate", model, churn)
    assert code == 0
    for what in ("accuracy ", "F1 ", "log loss ", "area under the curve ", "predicted", "No ", "Yes "):
        assert what in out
    found = json.loads(run("evaluate", model, churn, "--json")[1])
    counts = np.array(found["confusion"])
    assert counts.sum() == found["rows"] == 117
    assert np.trace(counts) / 117 == pytest.approx(found["accuracy"])
    assert found["classes"] == ["No", "Yes"]


def test_info_shows_the_columns_that_count(churn):
    model = churn.parent / "m"
    run("train", churn, "--label", "churned", "-o", model)
    out = run("info", model)[1]
    assert "  counts   " in out
    assert "classification of churned" in out
    summary = json.loads(run("info", model, "--json")[1])["summary"]
    assert summary["label"] == "churned"


def test_kinds_and_the_task_can_be_told(churn):
    model = churn.parent / "m"
    out = run("train", churn, "--label", "churned", "--column", "zip=names", "--column", "amount=drop", "-o", model)[1]
    assert "left out amount: as requested" in out
    assert "zip=53111" in load(model).encoder_.get_feature_names_out()
    assert "regression of months" in run("train", churn, "--label", "months")[1]
    out = run("train", churn, "--label", "months", "--task", "classification", "-o", model)[1]
    assert "classification of months" in out
    assert run("train", churn, "--label", "amount", "-o", model)[1].startswith("churn.csv: 120 rows, regression")
    assert isinstance(load(model), TableRegressor)
    assert "R² " in run("evaluate", model, churn)[1]
    assert run("train", churn, "--label", "churned", "--column", "zip")[0] == 2
    before = load(model).encoder_
    arguments = ("--label", "amount", "--learner", "linear-regressor", "--column", "zip=names", "-o", model)
    assert run("train", churn, *arguments)[0] == 0
    assert set(before.get_feature_names_out()) - set(load(model).encoder_.get_feature_names_out()) == {"zip"}


def test_labels_of_zero_and_one_and_few_whole_numbers_are_classes(tmp_path):
    lines = [f"{k / 7},{k % 3}" for k in range(60)]
    (tmp_path / "t.csv").write_text("x,label\n" + "\n".join(lines) + "\n")
    model = fit(TableClassifier(learner="linear", random_state=0), tmp_path / "t.csv")
    assert model.classes_.tolist() == [0, 1, 2]
    assert run("train", tmp_path / "t.csv")[1].startswith("t.csv: 60 rows, classification of label: ")


def test_a_column_of_reviews_is_learned_as_text(tmp_path):
    rng = np.random.default_rng(0)
    good, bad = ["great", "loved", "superb"], ["boring", "awful", "dull"]
    rows = []
    for k in range(120):
        words = [*rng.choice(good if k % 2 else bad, 3), *rng.choice(["film", "plot", "actor", "scene"], 4), f"nr{k}"]
        rows.append(f'"{" ".join(rng.permutation(words))}",{"pos" if k % 2 else "neg"}')
    (tmp_path / "reviews.csv").write_text("review,label\n" + "\n".join(rows) + "\n")
    out = run("train", tmp_path / "reviews.csv", "-o", tmp_path / "m")[1]
    assert "1 column of text" in out
    assert "review: great" in out or "review: boring" in out
    assert load(tmp_path / "m").summary_.score > 0.95


def test_lines_of_label_and_text(tmp_path):
    (tmp_path / "mail.txt").write_text("spam\tbuy this now\nham\tsee you at noon\n" * 20)
    code, out, _ = run("train", tmp_path / "mail.txt", "--format", "text", "-o", tmp_path / "m")
    assert code == 0
    assert "1 column of text" in out
    (tmp_path / "new.txt").write_text("now buy this\nat noon\n")
    assert run("predict", tmp_path / "m", tmp_path / "new.txt", "--unlabelled")[1].split() == ["spam", "ham"]
    assert run("evaluate", tmp_path / "m", tmp_path / "mail.txt")[0] == 0
    (tmp_path / "bad.txt").write_text("spam\tone\nno tab here\n")
    assert "line 2: expected a label, a tab and text" in run("evaluate", tmp_path / "m", tmp_path / "bad.txt")[2]


def test_fit_from_a_file_is_fit_of_its_frame(churn):
    from_file = fit(TableClassifier(learner="linear", random_state=0), churn, label="churned")
    frame = pd.read_csv(churn).dropna(subset="churned").reset_index(drop=True)
    from_frame = TableClassifier(learner="linear", random_state=0).fit(frame.drop(columns="churned"), frame["churned"])
    assert np.array_equal(from_file.predict_proba(frame), from_frame.predict_proba(frame))
    with pytest.raises(FileError, match="cannot tell which column is the label"):
        fit(TableClassifier(learner="linear"), churn)


def test_files_that_cannot_be_learned_from_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for text, message in (
        ("a,label\n", "expected rows, found none"),
        ("a,label\n1,\n2,NA\n", "expected labels, found none"),
        ("label\nx\ny\n", "expected columns beside the label, found none"),
        ("a,label\n1,x\n2,x\n", "one class"),
        ("a,label\n1,x\n", "one class"),
    ):
        path.write_text(text)
        code, _, errors = run("train", path)
        assert code == 2
        assert message in errors


@pytest.mark.parametrize("learner", ["logistic", "linear", "linear-svm", "pegasos", "network", "voted", "kernel-svm"])
def test_every_learner_is_there_by_name(learner, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    lines = [f"{a:.4f},{b:.4f},{'ab'[int(a + b > 0)]}" for a, b in X]
    (tmp_path / "t.csv").write_text("p,q,label\n" + "\n".join(lines) + "\n")
    assert run("train", tmp_path / "t.csv", "--learner", learner, "--epochs", 2, "-o", tmp_path / "m")[0] == 0
    assert run("evaluate", tmp_path / "m", tmp_path / "t.csv")[0] == 0
    if learner == "linear-svm":
        assert isinstance(load(tmp_path / "m").learner_, LinearSVM)
        (tmp_path / "r.svm").write_text("1 1:2\n0 1:3\n")
        assert run("train", tmp_path / "r.svm", "--learner", learner, "-o", tmp_path / "m")[0] == 0
        assert "LinearSVM" in run("predict", tmp_path / "m", tmp_path / "r.svm", "--proba")[2]


def test_rows_of_numbers_without_columns_are_refused(tmp_path):
    (tmp_path / "r.svm").write_text("1 1:2\n0 1:3\n")
    with pytest.raises(TypeError, match="online learners from files; TableClassifier is not"):
        fit(TableClassifier(learner="linear"), tmp_path / "r.svm")


def test_what_models_of_tables_do_not_do_with_files_is_refused(churn, tmp_path):
    with pytest.raises(ValueError, match="deadline is for shards"):
        fit(TableClassifier(learner="linear"), churn, label="churned", deadline=3.0)
    with pytest.raises(ValueError, match="TableClassifier determines the classes itself: leave out classes"):
        fit(TableClassifier(learner="linear"), churn, label="churned", classes=["Yes", "No"])
    model = fit(TableClassifier(learner="linear", random_state=0), churn, label="churned")
    for ask in (lambda: score(model, churn), lambda: predict(model, churn, tmp_path / "out")):
        with pytest.raises(ValueError, match="predicts rows of tables in memory"):
            ask()


def test_a_label_that_is_a_name_is_no_position(tmp_path):
    """A column named "1" is meant by --label 1; where there is none, the number is a position."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"1": rng.choice(["a", "b"], 40), "0": rng.normal(size=40), "2": rng.choice(["c", "d"], 40)})
    frame.to_csv(tmp_path / "named.csv", index=False)
    frame.rename(columns={"1": "x", "0": "y", "2": "z"}).to_csv(tmp_path / "other.csv", index=False)
    for name, label, classes in (("named", "1", ["a", "b"]), ("named", "2", ["c", "d"]), ("named", "-1", ["c", "d"]),
                                 ("other", "0", ["a", "b"]), ("other", "2", ["c", "d"])):  # fmt: skip
        path, model = tmp_path / f"{name}.csv", tmp_path / "m"
        assert run("train", path, "--label", label, "-o", model)[0] == 0
        assert load(model).classes_.tolist() == classes
    assert "found only 3 columns" in run("train", tmp_path / "other.csv", "--label", "3")[2]


def test_a_search_of_seconds_cannot_be_resumed(churn, monkeypatch):
    """Another run may choose another setting; a search without seconds is repeated, and resumed."""
    monkeypatch.setattr("rosenblatt.scale.large_tables.IN_MEMORY", 10**9)
    monkeypatch.setattr("rosenblatt.tables.search.GROUPS", GROUPS[:1])
    model, point = churn.parent / "m", churn.parent / "point"
    words = ("train", churn, "--label", "churned", "--checkpoint", point)
    for more in ((), ("--resume",)):
        code, _, errors = run(*words, "--seconds", 1, *more)
        assert code == 2
        assert "search without seconds, or leave out checkpoint and resume" in errors
    assert not point.exists()
    assert run(*words, "--learner", "auto")[0] == 0
    assert run(*words, "--learner", "auto", "--resume", "-o", model)[0] == 0
    assert load(model).learner_.coef_.tobytes() == load(point).coef_.tobytes()


def test_train_searches_for_seconds(churn, monkeypatch):
    monkeypatch.setattr("rosenblatt.tables.settings.PASSES", 2)
    model = churn.parent / "churn.model"
    code, out, errors = run("train", churn, "--label", "churned", "--seconds", "1e6", "-o", model)
    assert (code, errors) == (0, "")
    loaded = load(model)
    assert loaded.seconds == 1e6
    assert loaded.summary_.raced >= len(GROUPS)  # no group is left out for want of time
    assert f"of {loaded.summary_.raced} settings" in out
    code, _, errors = run("train", churn, "--label", "churned", "--seconds", "2", "--learner", "averaged")
    assert code == 2
    assert "--seconds" in errors


def test_train_searches_in_a_way_that_every_run_repeats(churn, monkeypatch):
    monkeypatch.setattr("rosenblatt.tables.settings.PASSES", 2)
    found = []
    for name in ("one", "other"):
        code, _, errors = run("train", churn, "--label", "churned", "--learner", "auto", "-o", churn.parent / name)
        assert (code, errors) == (0, "")
        found.append(load(churn.parent / name))
    assert all(model.learner == "auto" and model.seconds is None and model.summary_.tried for model in found)
    assert found[0].setting_ == found[1].setting_
    code, _, errors = run("train", churn, "--label", "churned", "--learner", "auto", "--epochs", "3")
    assert code == 2
    assert "A search (--learner auto, --seconds) takes no --set, --epochs or --order" in errors
