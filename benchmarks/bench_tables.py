"""Raw tables with nothing set, compared with scikit-learn's usual pipeline; encoding is part of every time.

The pipeline: impute, standardise, one-hot, `LogisticRegression()` (`Ridge()` for numbers); for text
`TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)` and `LinearSVC()`.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from tables import head, left_out, say

SPLITS = 10
LABELS = {"titanic": "survived", "penguins": "species", "credit_data": "Status", "wa_churn": "churn"}
MORE_LABELS = LABELS | {
    "caravan": "Purchase", "college": "Private", "creditcard": "card", "hmda": "deny", "mroz": "lfp", "chile": "vote",
    "spam7": "yesno", "leaf_id_flavia": "species", "taxi": "tip", "ischemic_stroke": "stroke", "crabs": "sp",
}  # fmt: skip
FEW_SPLITS = 3
TARGETS = {"mpg": "mpg", "concrete": "compressive_strength"}
LARGE_ROWS = 1_000_000


def run() -> None:
    """All tables, in turn."""
    warnings.simplefilter("ignore")
    head("raw tables, nothing set: mean of ten stratified 70/30 splits")
    for learner, least, goals in (
        ("linear", "≥ −0.2 points", "≥ −1 point, ≤ +0.01"),
        ("auto", "≥ +0.2 points", "≤ +0.005"),
    ):
        differences = [_compare(name, X, y, learner, goals) for name, X, y in _classification()]
        if differences:
            mean = 100 * float(np.mean(differences))
            say(f"mean of all tables{_named(learner)}", f"{mean:+.2f} points", "LogisticRegression()", "", least)
    for name, X, y in _classification():
        _time_search(name, X, y)
    for name, X, y in _regression():
        _compare_numbers(name, X, y)
    _text()
    _large()


def defaults() -> None:
    """The default model of every table against the usual pipeline and boosted trees."""
    warnings.simplefilter("ignore")
    head("tables, nothing set: accuracy, log loss and processor seconds of a fit, mean of three 70/30 splits")
    differences = [_against_both(name, X, y) for name, X, y in _classification(MORE_LABELS)]
    linear, trees, loss = np.mean(differences, axis=0)
    say(
        f"mean of {len(differences)} tables",
        "",
        "LogisticRegression(); HistGradientBoosting",
        f"{100 * linear:+.2f} points, log loss {loss:+.4f}; {100 * trees:+.2f} points",
        "≥ +2.7 points, log loss < 0; ≥ +0.8 points",
    )


def _against_both(name: str, X: Any, y: Any) -> tuple[float, float, float]:
    """Print accuracy, log loss and time of all; the differences to both peers, and of the log loss to the first."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    from rosenblatt import TableClassifier

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    ordinal = make_column_transformer((codes, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    plain, found = _plain(X), []
    for seed, (train, test) in enumerate(StratifiedShuffleSplit(FEW_SPLITS, test_size=0.3, random_state=0).split(X, y)):
        models = (
            (TableClassifier(random_state=seed), X),
            (_pipeline(LogisticRegression(max_iter=1000)), plain),
            (make_pipeline(ordinal, HistGradientBoostingClassifier(random_state=seed)), plain),
        )
        row = []
        for model, rows in models:
            began = time.process_time()
            model.fit(rows.iloc[train], y.iloc[train])
            seconds, chances = time.process_time() - began, model.predict_proba(rows.iloc[test])
            score = model.score(rows.iloc[test], y.iloc[test])
            row.append((score, log_loss(y.iloc[test], chances, labels=model.classes_), seconds))
        found.append(row)
    mine, linear, trees = np.mean(found, axis=0)
    say(
        f"{name}, {len(X):,} × {X.shape[1]}",
        f"{mine[0]:.4f}, {mine[1]:.4f}, {mine[2]:.2f} s",
        f"{linear[0]:.4f}, {linear[1]:.4f}, {linear[2]:.2f} s; {trees[0]:.4f}, {trees[1]:.4f}, {trees[2]:.2f} s",
        f"{100 * (mine[0] - linear[0]):+.2f}; {100 * (mine[0] - trees[0]):+.2f} points",
        "",
    )
    return mine[0] - linear[0], mine[0] - trees[0], mine[1] - linear[1]


def _classification(labels: dict[str, str] = LABELS) -> Iterator[tuple[str, Any, Any]]:
    import pandas as pd
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

    at = datasets.folder("tables")
    if at is None:
        left_out(", ".join(labels))
    for name, label in labels.items() if at is not None else ():
        path = next(path for path in (at / f"{name}.csv", at / f"{name}.csv.gz") if path.exists())
        table = pd.read_csv(path).drop(columns=["alive"] if name == "titanic" else []).dropna(subset=[label])
        yield name, table.drop(columns=label), table[label]
    for name, load in (
        ("wine", load_wine),
        ("breast_cancer", load_breast_cancer),
        ("iris", load_iris),
        ("digits", load_digits),
    ):
        bunch = load(as_frame=True)
        yield name, bunch.data, bunch.target


def _regression() -> Iterator[tuple[str, Any, Any]]:
    import pandas as pd

    at = datasets.folder("tables")
    if at is None:
        left_out("mpg, concrete")
    for name, label in TARGETS.items() if at is not None else ():
        table = pd.read_csv(at / f"{name}.csv")
        yield name, table.drop(columns=label), table[label]


def _pipeline(last: Any) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    names = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(
        make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (names, make_column_selector(dtype_exclude="number")),
        ),
        last,
    )


def _plain(X: Any) -> Any:
    """The frame in types that scikit-learn's imputer takes."""
    import pandas as pd

    columns = {
        name: column if pd.api.types.is_numeric_dtype(column) and column.dtype != bool else _objects(column)
        for name, column in X.items()
    }
    return pd.DataFrame(columns)


def _objects(column: Any) -> Any:
    texts = column.map(str).astype(object)
    return texts.where(column.notna(), np.nan)


def _named(learner: str) -> str:
    return f', learner="{learner}"'


def _time_search(name: str, X: Any, y: Any) -> None:
    """The time of a search and of `LogisticRegressionCV` in the same pipeline."""
    from sklearn.linear_model import LogisticRegressionCV

    from rosenblatt import TableClassifier

    plain, models = _plain(X), (TableClassifier(learner="auto", random_state=0), _pipeline(LogisticRegressionCV()))
    seconds = []
    for model, rows in zip(models, (X, plain), strict=True):
        model.fit(rows, y)
        began = time.perf_counter()
        model.fit(rows, y)
        seconds.append(time.perf_counter() - began)
    mine, other = seconds
    say(f"{name}, search", f"{mine:.2f} s", f"LogisticRegressionCV(): {other:.2f} s", f"{other / mine:.1f} ×", "≥ 5 ×")


def _compare(name: str, X: Any, y: Any, learner: str, goals: str) -> float:
    """Print accuracy and log loss of both; the difference of the accuracies."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedShuffleSplit

    from rosenblatt import TableClassifier

    plain, found = _plain(X), []
    for seed, (train, test) in enumerate(StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y)):
        ours = TableClassifier(learner=learner, random_state=seed).fit(X.iloc[train], y.iloc[train])
        peer = _pipeline(LogisticRegression(max_iter=1000)).fit(plain.iloc[train], y.iloc[train])
        row = []
        for model, rows in ((ours, X.iloc[test]), (peer, plain.iloc[test])):
            row += [model.score(rows, y.iloc[test])]
            row += [log_loss(y.iloc[test], model.predict_proba(rows), labels=model.classes_)]
        found.append(row)
    mine, loss, other, other_loss = np.mean(found, axis=0)
    say(
        f"{name}, {len(X):,} rows{_named(learner)}",
        f"accuracy {mine:.4f}, log loss {loss:.4f}",
        f"LogisticRegression(): {other:.4f}, {other_loss:.4f}",
        f"{100 * (mine - other):+.2f} points, {loss - other_loss:+.4f}",
        goals,
    )
    return float(mine - other)


def _compare_numbers(name: str, X: Any, y: Any) -> None:
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import ShuffleSplit

    from rosenblatt import TableRegressor

    plain, found = _plain(X), []
    for seed, (train, test) in enumerate(ShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X)):
        ours = TableRegressor(random_state=seed).fit(X.iloc[train], y.iloc[train])
        peer = _pipeline(Ridge()).fit(plain.iloc[train], y.iloc[train])
        found.append([ours.score(X.iloc[test], y.iloc[test]), peer.score(plain.iloc[test], y.iloc[test])])
    mine, other = np.mean(found, axis=0)
    say(f"{name}, {len(X):,} rows", f"R² {mine:.4f}", f"Ridge(): {other:.4f}", f"{mine - other:+.4f}", "≥ −0.01")


def _text() -> None:
    """20 Newsgroups as a table with one column of text."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    from rosenblatt import TableClassifier

    found = datasets.news_texts()
    if found is None:
        left_out("20 Newsgroups")
        return
    (train, y), (test, truth) = found["train"], found["test"]
    began = time.perf_counter()
    model = TableClassifier(columns={"post": "text"}, random_state=0).fit(pd.DataFrame({"post": train}), y)
    mine, seconds = model.score(pd.DataFrame({"post": test}), truth), time.perf_counter() - began
    began = time.perf_counter()
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    peer = LinearSVC().fit(words.fit_transform(train), y)
    other, peer_seconds = peer.score(words.transform(test), truth), time.perf_counter() - began
    say(
        "20 Newsgroups as a column of text",
        f"accuracy {mine:.4f}, {seconds:.0f} s with 5 folds",
        f"TfidfVectorizer + LinearSVC: {other:.4f}, {peer_seconds:.0f} s",
        f"{100 * (mine - other):+.2f} points",
        "≥ −0.5 points",
    )


def _large() -> None:
    """Training on a large CSV of names and numbers, reading included."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    from rosenblatt import TableClassifier, fit

    with tempfile.TemporaryDirectory() as folder:
        path = _write_large(Path(folder) / "large.csv")
        size = path.stat().st_size / 1e6
        began = time.perf_counter()
        model = fit(TableClassifier(random_state=0), path, label="label")
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        table = pd.read_csv(path)
        peer = _pipeline(LogisticRegression(max_iter=1000)).fit(_plain(table.drop(columns="label")), table["label"])
        peer_seconds = time.perf_counter() - began
        accuracy = peer.score(_plain(table.drop(columns="label")), table["label"])
    say(
        f"CSV of {size:.0f} MB, names and numbers",
        f"{seconds:.1f} s, accuracy {model.summary_.training_score:.4f}",
        f"pandas + pipeline: {peer_seconds:.1f} s, {accuracy:.4f}",
        f"{peer_seconds / seconds:.1f} ×",
        "≥ 5 ×",
    )


def _write_large(path: Path, rows: int = LARGE_ROWS) -> Path:
    import pandas as pd

    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(rows, 4)).round(3)
    names = rng.integers(0, [5, 20, 300], (rows, 3))
    effects = [rng.normal(size=count) for count in (5, 20, 300)]
    score = numbers @ rng.normal(size=4) + sum(effect[names[:, k]] for k, effect in enumerate(effects))
    table = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    for k, name in enumerate(("city", "plan", "shop")):
        table[name] = np.char.add(f"{name}", names[:, k].astype(str))
    table["label"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    table.to_csv(path, index=False)
    return path
