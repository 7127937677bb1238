"""The command line types and encodes the columns of a table in one way, whatever is trained or proven on them."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line_cases import run
from scipy.optimize import linprog

from rosenblatt import TableClassifier, load

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Column:UserWarning", "ignore:Accuracy:UserWarning"
)
OPTIONS = [
    (),
    ("--learner", "averaged"),
    ("--learner", "passive-aggressive"),
    ("--learner", "logistic"),
    ("--learner", "linear-svm"),
    ("--learner", "mark-i"),  # whose planes are not over the encoder's features
    ("--epochs", 5),
    ("--order", "cyclic"),
    ("--set", "C=1"),
    ("--ngrams", "1,2"),
]


@pytest.fixture
def customers(tmp_path):
    """Customers with an id, missing ages, names, and fees, which no default unit suits."""
    rng = np.random.default_rng(3)
    n = 92
    frame = pd.DataFrame(
        {
            "id": rng.permutation(np.arange(5_000, 5_000 + n)),
            "age": np.where(rng.random(n) < 0.15, np.nan, rng.integers(20, 70, n)),
            "plan": rng.choice(["basic", "plus", "pro"], n),
            "fee": rng.normal(0, 1, n) * 1e6,
        }
    )
    frame["churned"] = np.where(frame.fee / 1e6 + (frame.plan == "pro") + rng.normal(0, 0.5, n) > 0.2, "yes", "no")
    frame.to_csv(tmp_path / "customers.csv", index=False)
    return frame, tmp_path / "customers.csv"


@pytest.fixture
def reviews(tmp_path):
    """Reviews, each with a word of its own: as categories they say nothing of one another."""
    rng = np.random.default_rng(0)
    kinds = {"pos": ["great", "loved", "superb", "fine"], "neg": ["boring", "awful", "dull", "poor"]}
    lines = []
    for k in range(160):
        label = ("pos", "neg")[k % 2]
        words = [*rng.choice(kinds[label], 3), *rng.choice(["film", "plot", "actor", "scene"], 6), f"nr{k}"]
        lines.append(f"{' '.join(rng.permutation(words))},{label}")
    (tmp_path / "reviews.csv").write_text("review,label\n" + "\n".join(lines) + "\n")
    return tmp_path / "reviews.csv"


@pytest.mark.parametrize("options", OPTIONS)
def test_options_change_the_learner_and_never_the_encoding(options, customers, reviews, tmp_path):
    for path, label, kinds in [
        (customers[1], "churned", {"age": "numbers", "plan": "names", "fee": "numbers"}),
        (reviews, "label", {"review": "text"}),
    ]:
        if options == ("--ngrams", "1,2") and path != reviews:
            continue
        assert run("train", path, "--label", label, "-o", tmp_path / "m", *options)[0] == 0
        model = load(tmp_path / "m")
        assert isinstance(model, TableClassifier)
        assert {one.name: one.kind for one in model.encoder_.columns_} == kinds
        assert model.summary_.score > model.summary_.baseline + 0.1
        chances = np.array(
            [line.split("\t")[1].split() for line in run("predict", tmp_path / "m", path, "--proba")[1].splitlines()],
            float,
        )
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)
    assert model.summary_.score > 0.95  # of reviews


def test_words_of_text_are_hashed_only_where_that_is_asked_for(tmp_path):
    (tmp_path / "mail.txt").write_text("spam\tbuy this now\nham\tsee you at noon\n" * 20)
    for options, table in [
        ((), True),
        (("--ngrams", "1,2"), True),
        (("--ngrams", "1,3"), False),
        (("--features", 512), False),
    ]:
        assert run("train", tmp_path / "mail.txt", "-o", tmp_path / "m", *options)[0] == 0
        assert isinstance(load(tmp_path / "m"), TableClassifier) == table
    (tmp_path / "t.csv").write_text("a,label\n1,x\n2,y\n")
    for options in (("--features", 9), ("--ngrams", "1,3"), ("--one-based",)):
        assert "are for svmlight and text files" in run("train", tmp_path / "t.csv", *options)[2]


def test_a_learner_of_classes_is_not_given_numbers(customers):
    code, _, errors = run("train", customers[1], "--label", "fee", "--epochs", 3)
    assert code == 2
    assert "PassiveAggressive predicts classes, but the labels are numbers" in errors
    for options in (("--task", "regression"), ("--learner", "linear-regressor")):
        code, out, _ = run("train", customers[1], "--label", "age", "--epochs", 3, *options)
        assert code == 0
        assert "regression of age" in out


def separable(frame, y):
    """Whether a plane separates two classes, by a linear programme: y_i (x_i·w + b) ≥ 1 for some w and b."""
    X = np.column_stack([frame.to_numpy(float), np.ones(len(frame))])
    X /= np.abs(X).max(axis=0)
    signed = np.where(y == y.iloc[0], 1, -1)[:, None] * X
    found = linprog(np.zeros(X.shape[1]), A_ub=-signed, b_ub=-np.ones(len(X)), bounds=(None, None))
    return found.status == 0


@pytest.mark.parametrize("last", [12, 92])
def test_check_leaves_out_ids_and_says_how_missing_values_are_taken(last, customers, tmp_path):
    frame, path = customers
    frame = frame[:last]
    frame.to_csv(path, index=False)
    code, out, _ = run("check", path, "--label", "churned")
    used = pd.get_dummies(frame.drop(columns=["id", "churned"]).assign(mark=frame.age.isna()), columns=["plan"])
    expected = 0 if separable(used.fillna({"age": frame.age.mean()}), frame.churned) else 1
    assert code == expected
    assert expected == (last == 92)  # both verdicts are met
    assert "numbers, as they are: age, fee" in out
    assert "names, one column of 0 and 1 per name: plan" in out
    assert "left out id: all values are different whole numbers, like an id" in out
    missing = int(frame.age.isna().sum())
    assert f"age: {missing} missing, taken as the mean {frame.age.mean():.6g}, with a column that marks them" in out
    told = json.loads(run("check", path, "--label", "churned", "--json", "--column", "plan=drop")[1])
    assert told["columns"] == {"age": "numbers", "fee": "numbers"}
    assert told["left_out"] == {"id": "all values are different whole numbers, like an id", "plan": "as requested"}


def test_check_reads_text_as_words_and_says_which_rows_have_no_label(reviews):
    lines = reviews.read_text().splitlines()
    reviews.write_text("\n".join([*lines[:100], "a fine film,", *lines[100:]]) + "\n")
    code, out, _ = run("check", reviews)
    assert code == 0
    assert "text, by words and pairs of words, TF-IDF: review" in out
    assert "160 rows (1 rows without a label are left out" in out


def test_check_says_why_no_column_can_be_used(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n" + "".join(f"{k},7,{'xy'[k % 2]}\n" for k in range(20)))
    code, _, errors = run("check", tmp_path / "t.csv")
    assert code == 2
    assert "a: all values are different whole numbers, like an id; b: constant" in errors
    assert run("check", tmp_path / "t.csv", "--column", "a=numbers")[0] == 1
    (tmp_path / "n.csv").write_text("b,label\nu,x\n,y\nv,x\nu,\nv,y\n")
    assert "b: 1 missing, with a column that marks them" in run("check", tmp_path / "n.csv")[1]
