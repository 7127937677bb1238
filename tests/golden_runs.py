"""How the cases of `golden_cases` are run, and what is noted of each, as JSON.

Only public names are used, but for `small_pieces`. Data are whole numbers from a generator that every Python has, so
that a rule that only adds them gives the same bits on every processor. Runs do not depend on the number of cores:
shards and threads are those that the case names.
"""

import hashlib
import random
import shutil
import tarfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rosenblatt
from from_files import settled, small_blocks

GOLDEN = Path(__file__).parent / "golden"
MODELS = GOLDEN / "models-2.tar.xz"  # of format 2
LEARNED = (
    "classes_",
    "n_iter_",
    "coef_",
    "intercept_",
    "vectors_",
    "intercepts_",
    "votes_",
    "coefs_",
    "loss_",
    "support_",
    "support_vectors_",
    "dual_coef_",
    "distances_",
    "transitions_",
    "start_",
    "features_",
    "sure_",
    "alpha_",
    "setting_",
)
RECORD = ("epoch", "updates", "errors", "loss", "converged", "score")
REPORT = ("outcome", "updates", "errors", "margin", "radius", "bound", "gap", "rows", "objective")
REPORT = (*REPORT, "tree_distance", "loss")  # of trees and networks
REPORT = (*REPORT, "tokens", "token_errors", "data_loss", "penalty", "gradient_norm")
REPORT = (*REPORT, "held_out", "accuracies", "losses", "accuracy", "interval", "scale")  # of probes
SHARDING = ("mixing", "rows", "mistakes", "weighted")
ANSWERS = ("decision_function", "predict_proba", "transform")
MOST = 12  # values of an array that are all written down


# -- data ------------------------------------------------------------------------------------------------------------


def whole(rng, low, high, *shape):
    """Whole numbers from low to high; `random()` is the method that Python promises to keep."""
    values = [low + int(rng.random() * (high - low + 1)) for _ in range(int(np.prod(shape)))]
    return np.array(values, dtype=float).reshape(shape)


@cache
def table(kind, rows, features, clean, fine):
    """Rows of small numbers, a third of them zero, and a target; `clean` ones have a wide margin.

    They are whole numbers, or `fine`, of ten binary places: then no score is at a margin by chance, where the last
    bit would decide.
    """
    rng = random.Random(f"{kind} {rows}")
    classes = {"two": 2, "three": 3, "four": 4, "labels": 3, "numbers": 1}[kind]
    W = whole(rng, -3, 3, classes, features)
    X, scores = np.zeros((0, features)), np.zeros((0, classes))
    while len(X) < rows:
        x = whole(rng, -4, 4, 1, features) + (whole(rng, -512, 512, 1, features) / 1024 if fine else 0)
        x *= whole(rng, 0, 2, 1, features) > 0
        score = x @ W.T + (0 if clean else whole(rng, -8, 8, 1, classes))
        best = np.sort(score[0])
        if not clean or (kind == "numbers" or best[-1] - best[-2] >= 5):
            X, scores = np.concatenate([X, x]), np.concatenate([scores, score])
    if kind == "numbers":
        return X, scores[:, 0] / 8
    if kind == "labels":
        return X, (scores > 0).astype(int)
    y = np.argmax(scores, axis=1)
    if not clean:
        y[:classes] = np.arange(classes)
    return X, y


@cache
def columns(kind, rows=120):
    """A table as people have them: numbers, names, dates, text, missing values; and its target."""
    rng = random.Random(f"table {kind}")
    if kind == "checkers":
        left, right = ([round(3 * rng.random(), 3) for _ in range(rows)] for _ in "xy")
        colours = ["black" if (int(x) + int(y)) % 2 else "white" for x, y in zip(left, right, strict=True)]
        return pd.DataFrame({"left": left, "right": right}), np.array(colours)
    words = ["good", "bad", "late", "early", "box", "broken", "fine", "again", "never", "quick"]
    size = [int(rng.random() * 50) for _ in range(rows)]
    frame = {
        "age": [None if rng.random() < 0.1 else 18 + int(rng.random() * 60) + 0.5 for _ in range(rows)],
        "size": size,
        "place": [["Bonn", "Graz", "Lund", None][int(rng.random() * 4)] for _ in range(rows)],
        "day": [f"2021-{1 + int(rng.random() * 12):02}-{1 + int(rng.random() * 28):02}" for _ in range(rows)],
        "remark": [" ".join(words[int(rng.random() * 10)] for _ in range(6)) + f" {k}" for k in range(rows)],
        "member": [rng.random() < 0.5 for _ in range(rows)],
    }
    score = [
        n / 10 - 2 * (p == "Bonn") + ("good" in r) - ("bad" in r) + 3 * rng.random()
        for n, p, r in zip(size, frame["place"], frame["remark"], strict=True)
    ]
    if kind == "numbers":
        return pd.DataFrame(frame), np.array(score)
    order = sorted(score)
    names = ["low", "high"] if kind == "two" else ["low", "middle", "high"]
    marks = [order[len(order) * k // len(names)] for k in range(1, len(names))]
    return pd.DataFrame(frame), np.array([names[sum(one >= mark for mark in marks)] for one in score])


@cache
def sentences(kind, count=24):
    """Sentences of words that nearly tell their tag (of `clean` ones exactly), and their tags in IOB2."""
    rng = random.Random(f"sentences {kind}")
    forms = {"B-N": ["Dog", "Cat", "Oak", "Elm"], "I-N": ["tree", "tail"], "O": ["runs", "sleeps", "the", "a"]}
    X, y = [], []
    for _ in range(count):
        tags, words = [], []
        for _ in range(2 + int(rng.random() * 5)):
            tag = ["B-N", "O", "I-N"][int(rng.random() * (3 if tags and tags[-1] != "O" else 2))]
            other = kind != "clean" and rng.random() < 0.15
            words.append(["tree", "Dog", "runs"][int(rng.random() * 3)] if other else forms[tag][int(rng.random() * 2)])
            tags.append(tag)
        X.append(words)
        y.append(tags)
    make = {
        "items": lambda word: [f"w={word}", f"s={word[-1]}", f"u={word[0].isupper()}"],
        "clean": lambda word: [f"w={word}"],
        "mappings": lambda word: {"w": word, "length": len(word) / 4, "upper": word[0].isupper()},
        "columns": lambda word: (word, word[-1]),
        "words": lambda word: word,
    }[kind]
    return [[make(word) for word in words] for words in X], y


def rows_of(case):
    """The rows and the target of a data set, e.g. "long four", dense or sparse, of one type or another."""
    size, _, kind = case.data.rpartition(" ")
    if size in ("table", "sentences"):
        return (columns if size == "table" else sentences)(kind)
    rows, features = {"long": (150, 6), "few": (7, 2)}.get(size, (40, 5))
    X, y = table("four" if kind == "words" else kind, rows, features, size == "clean", case.kind != "exact")
    if kind == "words":
        y = np.array(["a.x", "a.y", "b.x", "b.y"])[y]
    layout, dtype = case.form.split()
    X = X.astype(dtype)
    return (sp.csr_matrix(X) if layout == "sparse" else X), y


def probes(features, form):
    """Rows to ask a model about."""
    layout, dtype = form.split()
    X = whole(random.Random("probes"), -4, 4, 3, features).astype(dtype)
    return sp.csr_matrix(X) if layout == "sparse" else X


def asked(model, case):
    """Rows to ask a model about: a few of its own, where it does not learn from numbers."""
    if case.data.startswith(("table", "sentences")):
        return rows_of(case)[0][:4]
    return probes(model.n_features_in_, case.form)


def weights_of(case, count):
    if "weights" not in case.how:
        return {}
    weights = whole(random.Random("weights"), 0, 3, count)
    return {"sample_weight": weights if case.how["weights"] == "whole" else weights / 4}


# -- what is noted ---------------------------------------------------------------------------------------------------


def number(value):
    """A float as JSON; one of single precision by its own, shorter digits."""
    return float(str(value)) if isinstance(value, np.float32) else value.item()


def array_noted(value):
    """An array by its type, shape and values; a large one by some of them, their sum, and a digest of its bytes."""
    kind = f"{value.dtype.name} {'x'.join(map(str, value.shape))}"
    flat = value.ravel()
    if flat.size <= MOST or flat.dtype.kind not in "biuf":
        return [kind, [number(one) for one in flat]]
    some = flat[np.linspace(0, flat.size - 1, 4).astype(int)]
    digest = hashlib.sha256((flat + 0).astype(flat.dtype).tobytes()).hexdigest()  # + 0: no −0
    total = float(np.sum(flat, dtype=np.float64))
    return [kind, [number(one) for one in some], {"sum": total, "sha256": digest[:16]}]


def noted(value):
    """A value as JSON."""
    if sp.issparse(value):
        return ["sparse", noted(value.toarray())]
    if isinstance(value, np.ndarray):
        return array_noted(value)
    if isinstance(value, np.generic):
        return number(value)
    if isinstance(value, dict):
        return {str(key): noted(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        if len(value) > MOST and all(isinstance(one, np.ndarray) for one in value):
            return [len(value), noted(np.concatenate([one.ravel() for one in value]))]
        return [noted(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def attributes(source, names):
    """Those attributes that there are and that are not None."""
    found = {name: noted(getattr(source, name)) for name in names if hasattr(source, name)}
    return {name: value for name, value in found.items() if value is not None}


def records_noted(records):
    """Columns of the records, of a long run its first and last ones; a column without a word is left out."""
    chosen = [records[k] for k in range(len(records)) if len(records) <= 10 or k < 4 or k >= len(records) - 4]
    columns = {name: [noted(getattr(one, name)) for one in chosen] for name in RECORD}
    return {name: column for name, column in columns.items() if any(one not in (None, False) for one in column)}


def report_noted(report):
    """All that a report says, but for times."""
    found = {"report": attributes(report, REPORT)}
    if getattr(report, "witness", None) is not None:
        found["report"]["witness"] = type(report.witness).__name__
    if getattr(report, "sharding", None) is not None:
        found["report"]["sharding"] = attributes(report.sharding, SHARDING)
    return found | ({"records": records_noted(report.epochs)} if hasattr(report, "epochs") else {})


def summary_noted(model):
    """All that a table model says of itself, but for times."""
    summary = {name: value for name, value in vars(model.summary_).items() if name != "seconds"}
    names = model.encoder_.get_feature_names_out().tolist()
    return {"summary": noted(summary), "features": names, "learner": model_noted(model.learner_, None)}


def model_noted(model, case):
    """All that can be seen of a model from outside."""
    found = attributes(model, LEARNED)
    if hasattr(model, "summary_"):  # whose report is that of its learner
        found |= summary_noted(model)
    elif hasattr(model, "report_"):
        found |= report_noted(model.report_)
    if case is not None and hasattr(model, "n_features_in_"):
        X = asked(model, case)
        answers = [name for name in ANSWERS if hasattr(model, name)] or ["predict"]
        found |= {name: noted(getattr(model, name)(X)) for name in answers}
    return found


def went_on(model, X, y, **weights):
    """The model after one more epoch: what it remembers beside its weights shows then."""
    if not hasattr(model, "partial_fit"):
        return None
    if getattr(model, "early_stopping", False):
        model.set_params(early_stopping=False)
    if callable(getattr(model, "learning_rate", None)):
        model.set_params(learning_rate=1.0)
    if getattr(model, "min_count", 1) > 1:
        model.set_params(min_count=1)
    if getattr(model, "class_weight", None) == "balanced":
        model.set_params(class_weight=None)
    model.partial_fit(X, y, **weights)
    found = attributes(model, ("n_iter_", "coef_", "intercept_", "votes_", "coefs_", "dual_coef_"))
    return found | {"updates": model.report_.updates, "record": attributes(model.report_.epochs[-1], RECORD)}


# -- what is done with a learner -------------------------------------------------------------------------------------


def made(case, **more):
    # The solver is named, so that a case does not depend on a default.
    solver = {"solver": "stochastic"} if case.learner in ("LinearClassifier", "LinearRegressor") else {}
    settings = {"random_state": 7, "max_epochs": 3, **solver, **case.settings, **more}
    kind = getattr(rosenblatt, case.learner)
    known = kind().get_params()
    if settings["random_state"] == "drawn":
        settings["random_state"] = np.random.RandomState(7)
    return kind(**{name: value for name, value in settings.items() if name in known})


class Watcher:
    """A callback of scikit-learn's that takes down what it is told, and may stop or break off the second epoch."""

    def __init__(self, act):
        self.act, self.told = act, []

    def setup(self, estimator, context):
        self.told.append(["setup"])

    def teardown(self, estimator, context):
        self.told.append(["teardown"])

    def on_fit_task_begin(self, estimator, context):
        self.told.append(["begin", context.task_name, context.task_id, context.max_subtasks])

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.told.append(["end", context.task_name, context.task_id])
        if context.task_name != "epoch":
            return False
        self.told[-1].append(noted(fitted_estimator.predict(X[:4])))
        if context.task_id == 1 and self.act == "interrupted":
            raise KeyboardInterrupt
        if context.task_id == 1 and self.act == "failed":
            raise RuntimeError("a callback's own trouble")
        return self.act == "stopped" and context.task_id == 1


def fit(case, model, X, y, notes, folder):
    more = weights_of(case, len(y))
    if "start" in case.how:
        planes = 1 if y.dtype.kind == "f" or y.max() == 1 else 4
        rng = random.Random("start")
        more |= {"coef_init": whole(rng, -2, 2, planes, X.shape[1]), "intercept_init": whole(rng, -2, 2, planes)}
    model.fit(X, y, **more)


def leave(case, model, X, y, notes, folder):
    pass


def fit_again(case, model, X, y, notes, folder):
    model.fit(X, y)
    notes["first"] = model_noted(model, case)
    model.set_params(max_epochs=2)
    model.fit(X[5:], y[5:])


def fit_pieces(case, model, X, y, notes, folder):
    weights = weights_of(case, len(y)).get("sample_weight")
    for k, part in enumerate((slice(0, 13), slice(13, 26), slice(26, 40), slice(0, 13))):
        classes = {"classes": np.unique(y)} if y.dtype.kind != "f" and y.ndim == 1 and k == 0 else {}
        more = {} if weights is None else {"sample_weight": weights[part]}
        model.partial_fit(X[part], y[part], **classes, **more)


def fit_new_classes(case, model, X, y, notes, folder):
    for most in (2, 3, 4):
        some = np.flatnonzero(y < most)
        model.partial_fit(X[some], y[some])


def fit_watched(case, model, X, y, notes, folder):
    if case.act == "failed":
        model.set_params(max_epochs=1).fit(X, y)
        model.set_params(**case.settings)
    watcher = Watcher(case.act)
    notes["told"] = watcher.told
    try:
        model.set_callbacks(watcher).fit(X, y)
    finally:
        model.set_callbacks()


def text_of(X, y):
    lines = []
    for x, label in zip(sp.csr_matrix(X).toarray(), y, strict=True):
        marks = ",".join(str(k) for k in np.flatnonzero(label)) if np.ndim(label) else repr(float(label))
        lines.append(" ".join([marks, *(f"{j + 1}:{float(x[j])!r}" for j in np.flatnonzero(x))]))
    return lines


def file_of(case, X, y, folder):
    """The rows as files, and how `fit` is told of them."""
    if case.how.get("table"):
        path = folder / "rows.csv"
        names = ",".join([*(f"c{j}" for j in range(X.shape[1])), "label"])
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=names, comments="", fmt="%.17g")
        return path, {"label": "label"}
    lines, count = text_of(X, y), case.how.get("files", 1)
    paths = [folder / f"rows-{k}.svm" for k in range(count)]
    for k, path in enumerate(paths):
        path.write_text("\n".join(lines[len(lines) * k // count : len(lines) * (k + 1) // count]) + "\n")
    how = {"n_features": X.shape[1], "zero_based": False} | case.how.get("fit", {})
    return (paths[0] if count == 1 else paths), how


def fit_file(case, model, X, y, notes, folder):
    path, how = file_of(case, X, y, folder)
    rosenblatt.fit(model, path, **how)


def fit_resumed(case, model, X, y, notes, folder):
    path, how = file_of(case, X, y, folder)
    if not (folder / "point").exists():
        rosenblatt.fit(made(case, max_epochs=2), path, checkpoint=folder / "point", **how)
        shutil.copy(folder / "point", folder / "half")
    notes["checkpoint"] = model_noted(rosenblatt.load(folder / "point"), case)
    model.set_params(max_epochs=max(model.max_epochs, 4))
    rosenblatt.fit(model, path, checkpoint=folder / "point", resume=True, **how)
    notes["last checkpoint"] = rosenblatt.load(folder / "point").n_iter_


def fit_shards(case, model, X, y, notes, folder):
    rosenblatt.fit(model, (X, y), **case.how)


def fit_table_file(case, model, X, y, notes, folder):
    X.assign(label=y).to_csv(folder / "rows.csv", index=False)
    rosenblatt.fit(model, folder / "rows.csv", label="label")


def fit_sentence_pieces(case, model, X, y, notes, folder):
    for part in (slice(0, 8), slice(8, 24), slice(0, 8)):
        model.partial_fit(X[part], y[part])


def fit_resumed_sentences(case, model, X, y, notes, folder):
    lines = [
        "\n".join("\t".join([*cells, tag]) for cells, tag in zip(*one, strict=True)) for one in zip(X, y, strict=True)
    ]
    (folder / "rows.conll").write_text("\n\n".join(lines) + "\n")
    if not (folder / "point").exists():
        rosenblatt.fit(made(case, max_epochs=2), folder / "rows.conll", checkpoint=folder / "point")
        shutil.copy(folder / "point", folder / "half")
    rosenblatt.fit(model, folder / "rows.conll", checkpoint=folder / "point", resume=True)


def search(case, model, X, y, notes, folder):
    found = rosenblatt.GridSearchCV(model, case.how["grid"], cv=3, return_train_score=True).fit(X, y)
    names = ("mean_test_score", "std_test_score", "mean_train_score", "rank_test_score")
    notes["search"] = {name: noted(found.cv_results_[name]) for name in names}
    notes["search"] |= {"one pass": found.one_pass_, "best": noted(found.best_params_)}
    notes["best"] = model_noted(found.best_estimator_, case)


def follow(case, model, X, y, notes, folder):
    run = rosenblatt.trace(X, y, model, **case.how)
    names = ("epoch", "row", "updated", "updates", "margin", "margin_after", "plane", "intercept")
    notes["steps"] = {name: [noted(getattr(step, name)) for step in run.steps] for name in names}
    notes["coef of each step"] = [noted(step.coef) for step in run.steps if step.updated]
    notes["run"] = {name: noted(getattr(run, name)) for name in ("outcome", "coef", "intercept", "bound")}


ACTS = {
    "fit": fit,
    "made": leave,
    "again": fit_again,
    "pieces": fit_pieces,
    "new classes": fit_new_classes,
    "watched": fit_watched,
    "stopped": fit_watched,
    "interrupted": fit_watched,
    "failed": fit_watched,
    "file": fit_file,
    "resumed": fit_resumed,
    "shards": fit_shards,
    "trace": follow,
    "table file": fit_table_file,
    "sentence pieces": fit_sentence_pieces,
    "resumed sentences": fit_resumed_sentences,
    "search": search,
}
IN_MEMORY = ("fit", "pieces", "sentence pieces", "new classes", "again", "stopped", "interrupted", "failed", "watched")


def shortened(value):
    """The same notes with floats of ten digits: more is not compared of what BLAS computes."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items() if name != "sha256"}
    return [shortened(one) for one in value] if isinstance(value, list) else value


def finished(case, notes):
    return shortened(noted(notes)) if case.kind == "blas" else noted(notes)


def run(case, folder, keep=None):
    """Run a case in an empty folder and note what came of it; `keep` is called with the model before it goes on."""
    X, y = rows_of(case)
    model, notes = made(case), {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as heard:
        settled(patch)
        small_blocks(patch)
        warnings.simplefilter("always")
        try:
            ACTS[case.act](case, model, X, y, notes, folder)
        except (KeyboardInterrupt, RuntimeError, ValueError) as error:
            notes["raised"] = type(error).__name__
        notes["warned"] = [
            [str(one.message).partition(". ")[0], one.filename == __file__]
            for one in heard
            if issubclass(one.category, ConvergenceWarning) or one.category is UserWarning
        ]
        notes["model"] = model_noted(model, case)
        if case.settings.get("random_state") == "drawn":
            notes["next draw"] = int(model.random_state.randint(10**6))
        if keep is not None:
            keep(model)
        if case.act in IN_MEMORY:
            notes |= learned_on(case, model, X, y)
    return finished(case, notes)


def learned_on(case, model, X, y):
    """What becomes of the model in one more epoch, and then in a warm start."""
    notes = {"went on": went_on(model, X, y, **weights_of(case, len(y)))}
    if getattr(model, "warm_start", False):
        model.fit(X, y)
        notes["warm"] = attributes(model, LEARNED)
    return notes


# -- model files -----------------------------------------------------------------------------------------------------


def stored_models():
    """The bytes of each stored model file, by the name of its case."""
    if not MODELS.exists():
        return {}
    with tarfile.open(MODELS) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def run_stored(case, path, folder):
    """What a stored model says, and what it becomes when it learns on; a checkpoint, when it is resumed."""
    X, y = rows_of(case)
    model, notes = made(case), {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        settled(patch)
        small_blocks(patch)
        warnings.simplefilter("ignore")
        if case.act.startswith("resumed"):
            shutil.copy(path, folder / "point")
            ACTS[case.act](case, model, X, y, notes, folder)
            return finished(case, notes | {"model": model_noted(model, case)})
        loaded = rosenblatt.load(path)
        assert type(loaded) is type(model)
        if case.act != "again":  # which changes a parameter
            assert noted(loaded.get_params()) == noted(model.get_params())
        notes["model"] = model_noted(loaded, case)
        if case.act in IN_MEMORY:
            notes |= learned_on(case, loaded, X, y)
    return finished(case, notes)
