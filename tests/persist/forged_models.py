"""Model files forged with a digest that is right: refused, or models whose every method stays within their arrays.

Numbers, flags, names and arrays of every kind of stored record are changed, one or two at a time. What is let in is
asked everything that it can be asked, and goes on to learn. As a program, `python forged_models.py COUNT KIND …`, so
that a crash is seen from outside; compiled code can check its bounds (NUMBA_BOUNDSCHECK), and NumPy always does where
nothing is compiled (NUMBA_DISABLE_JIT).
"""

import faulthandler
import io
import random
import resource
import sys
import tempfile
import warnings
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
import scipy.sparse as sp
from model_file_cases import opened
from sklearn.base import is_regressor

import rosenblatt as r
from forged_files import sealed
from rosenblatt import FileError, Layer
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes

MEMORY, SECONDS = 16 << 30, 120  # no forged model may ask for more
# Numbers that fit may make a model that cannot answer or go on; reading outside an array is never an answer.
REFUSALS = (ValueError, TypeError, AttributeError, KeyError, OverflowError, ZeroDivisionError, NotImplementedError)

# -- models ------------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS = np.round(RNG.normal(size=(12, 4)) * (RNG.random((12, 4)) < 0.7), 2)
SPARSE = sp.csr_matrix(ROWS)
CLASSES = np.array(["no", "so", "yes"])[np.arange(12) % 3]
CODES = np.arange(12) % 3 * 2
TWO = np.where(ROWS[:, 0] + ROWS[:, 1] > 0, "yes", "no")
LABELS = (RNG.random((12, 3)) < 0.5).astype(int)
HALVES = np.arange(12) / 2 + 0.5  # weights of rows, some of which take several visits
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=24),
        "kind": [f"k{k % 4}" for k in range(24)],
        "text": [f"some words {k % 5} of {k % 3} text" for k in range(24)],
        "day": [f"20{10 + k % 9}-0{1 + k % 9}-11" for k in range(24)],
    }
)
TABLE_LABELS = [f"l{k % 3}" for k in range(24)]
NAMED = [[["the", "x"], {"dog": 2.0, "end": "g"}], [["a"], ["cat"], []]]
COLUMNS = [[("the", "DT"), ("dog", "NN")], [("a", "DT"), ("cat", "NN"), ("runs", "VB")]]
WORDS = [["the", "dog"], ["a", "cat", "runs"]]
TAGS = [["B-NP", "I-NP"], ["B-NP", "I-NP", "O"]]
NEW_TAGS = [["B-NP", "I-VP"], ["B-NP", "I-NP", "O"]]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB"
FEW = {"random_state": 1, "max_epochs": 3, "n_units": 6, "n_connections": 2}


def on(name, X=ROWS, y=CLASSES, **settings):
    """How a model is made, and the rows and targets it learned from."""
    made = getattr(r, name)(**settings)
    made.set_params(**{key: FEW[key] for key in FEW.keys() & made.get_params().keys() - settings.keys()})
    return made, X, y


NUMBERS = ROWS @ [1.0, -2.0, 0.5, 0.0]
CASES = {
    "Perceptron": [
        partial(on, "Perceptron"),
        partial(on, "Perceptron", SPARSE, CODES, keep="average", warm_start=True),
        partial(on, "Perceptron", SPARSE, TWO, keep="pocket"),
        partial(on, "Perceptron", keep="pocket", multiclass="ovr"),
        partial(on, "Perceptron", SPARSE, LABELS, keep="average"),
        partial(on, "Perceptron", SPARSE, multiclass="ovo", keep="average"),
        partial(on, "Perceptron", update="batch", keep="average"),
    ],
    "VotedPerceptron": [
        partial(on, "VotedPerceptron"),
        partial(on, "VotedPerceptron", SPARSE),
        partial(on, "VotedPerceptron", y=TWO),
        partial(on, "VotedPerceptron", SPARSE, LABELS),
        partial(on, "VotedPerceptron", SPARSE, multiclass="ovo"),
    ],
    "PassiveAggressive": [
        partial(on, "PassiveAggressive", SPARSE),
        partial(on, "PassiveAggressive", y=TWO),
        partial(on, "PassiveAggressiveRegressor", y=NUMBERS),
        partial(on, "AveragedPerceptron", SPARSE),
        partial(on, "PAUM"),
    ],
    "AROW": [
        partial(on, "AROW"),
        partial(on, "AROW", SPARSE),
        partial(on, "AROW", y=TWO),
        partial(on, "AROW", SPARSE, TWO),
        partial(on, "AROW", covariance="full"),
        partial(on, "AROW", SPARSE, covariance="full", multiclass="ovr"),
        partial(on, "AROW", covariance="full", multiclass="ovo"),
    ],
    "SecondOrderPerceptron": [
        partial(on, "SecondOrderPerceptron", SPARSE),
        partial(on, "SecondOrderPerceptron", y=TWO),
        partial(on, "SecondOrderPerceptron", covariance="full"),
    ],
    "LinearClassifier": [
        partial(on, "LinearClassifier", SPARSE, solver="stochastic", penalty="l1"),
        partial(on, "LinearClassifier", solver="stochastic", penalty="elasticnet", multiclass="ovr"),
        partial(on, "LinearClassifier", SPARSE, TWO, solver="stochastic", penalty="l1"),
        partial(on, "LinearClassifier", solver="batch", warm_start=True),
        partial(on, "LinearClassifier", solver="minibatch"),
        partial(on, "LinearRegressor", SPARSE, NUMBERS, penalty="l1"),
        partial(on, "LinearSVM", SPARSE),
        partial(on, "Pegasos", y=TWO),
    ],
    "HierarchicalPerceptron": [
        partial(on, "HierarchicalPerceptron", SPARSE, keep="average", tree=[["no", "so"], "yes"]),
        partial(on, "HierarchicalPerceptron", tree=[["no", "so"], "yes"]),
        partial(on, "HierarchicalPerceptron", y=TWO, keep="average"),
        partial(on, "HierarchicalPerceptron", y=CODES, tree=[[0, 2], 4]),
    ],
    "MarkI": [
        partial(on, "MarkI", SPARSE),
        partial(on, "MarkI"),
        partial(on, "MarkI", SPARSE, keep="vote"),
        partial(on, "RandomWiring", SPARSE),
        partial(on, "RandomWiring", threshold=0.5),
    ],
    "MultilayerPerceptron": [
        partial(on, "MultilayerPerceptron", hidden_layer_sizes=(5, Layer(4, "tanh", bias=False, gain_control=True))),
        partial(on, "MultilayerPerceptron", SPARSE, TWO, hidden_layer_sizes=(3,), solver="sgd", loss="squared"),
        partial(on, "MultilayerPerceptron", y=CODES, hidden_layer_sizes=(2,), max_epochs=1),
    ],
    "KernelPerceptron": [
        partial(on, "KernelPerceptron"),
        partial(on, "KernelPerceptron", SPARSE, kernel="poly", keep="average"),
        partial(on, "KernelPerceptron", SPARSE, keep="vote"),
        partial(on, "KernelPerceptron", keep="vote", multiclass="ovo", fit_intercept=True),
        partial(on, "KernelPerceptron", SPARSE, LABELS, multiclass="ovr", kernel="linear"),
    ],
    "budgets": [
        partial(on, "KernelPerceptron", SPARSE, max_support=3, multiclass="ovr", when_full="forgetron"),
        partial(on, "KernelPerceptron", y=TWO, max_support=4, when_full="forgetron", kernel="linear"),
        partial(on, "KernelPerceptron", max_support=3, multiclass="ovo"),
        partial(on, "KernelPerceptron", SPARSE, TWO, max_support=9, projection_tol=0.0),
    ],
    "KernelSVM": [
        partial(on, "KernelSVM", SPARSE),
        partial(on, "KernelSVM", y=TWO, kernel="poly"),
        partial(on, "KernelSVM", multiclass="ovo", fit_intercept=False),
    ],
    "MaxMargin": [partial(on, "MaxMargin", y=TWO), partial(on, "MaxMargin"), partial(on, "MaxMargin", SPARSE, TWO)],
    "LinearProbe": [partial(on, "LinearProbe", alphas=(0.01,)), partial(on, "LinearProbe", y=LABELS, alphas=(0.01,))],
    "tables": [
        partial(on, "TableClassifier", TABLE, TABLE_LABELS, learner="linear"),
        partial(on, "TableRegressor", TABLE, np.arange(24) / 3, learner="linear"),
        partial(on, "TableEncoder", TABLE, TABLE_LABELS),
        partial(on, "TextEncoder", TABLE["text"], TABLE_LABELS, min_df=1),
        partial(on, "TableRegressor", TABLE, np.arange(24) / 3, learner="auto"),
    ],
    "SequencePerceptron": [
        partial(on, "SequencePerceptron", NAMED, TAGS),
        partial(on, "SequencePerceptron", NAMED, TAGS, keep="last", constraints="iob2"),
        partial(on, "SequencePerceptron", COLUMNS, TAGS, template=TEMPLATE),
        partial(on, "SequencePerceptron", ROWS, CLASSES.tolist()),
        partial(on, "SequencePerceptron", SPARSE, CLASSES.tolist(), keep="last"),
    ],
    "Tagger": [partial(on, "Tagger", WORDS, TAGS, sure_count=1), partial(on, "Tagger", WORDS, TAGS)],
    "checkpoint": [
        partial(on, "Perceptron", "rows.svm", keep="average"),
        partial(on, "LinearClassifier", "rows.csv", penalty="l1"),
        partial(on, "PassiveAggressive", "rows.txt"),
        partial(on, "SequencePerceptron", "rows.conll", template=TEMPLATE),
    ],
}
FILES = {
    "rows.svm": "".join(f"{k % 3} {k % 5 + 1}:{k / 3} 7:1\n" for k in range(12)),
    "rows.csv": "size,kind,label\n" + "".join(f"{k},k{k % 3},{'xyz'[k % 3]}\n" for k in range(12)),
    "rows.txt": "".join(f"{'xyz'[k % 3]}\tword{k % 4} and word{k % 3}\n" for k in range(12)),
    "rows.conll": "the DT B-NP\ndog NN I-NP\n\na DT B-NP\ncat NN I-NP\nruns VB O\n",
}
FOLDER = tempfile.TemporaryDirectory()


@cache
def whole(kind):
    """The files of a kind, opened, with rows and targets to use their models on, and the source of checkpoints."""
    made = []
    for case in CASES[kind]:
        model, X, y = case()
        source = None
        if isinstance(X, str):
            source, saved = Path(FOLDER.name, X), Path(FOLDER.name, f"{X}.model")
            source.write_text(FILES[X])
            how = {"format": "text", "n_features": 64, "ngrams": (1, 2)} if X.endswith("txt") else {}
            r.fit(model, source, checkpoint=saved, **how)
            data = saved.read_bytes()
            X, y = r.read_conll(source) if X.endswith("conll") else r.read(source, **how)
        else:
            data = to_bytes(model.fit(X, y))
        made.append((*opened(data), X, y, (case, source) if source else None))
    return made


# -- forging -----------------------------------------------------------------------------------------------------------

WHOLE_NUMBERS = [-1, 0, 1, 2, 3, 7, -(1 << 31), 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 1 << 63, 10**400]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -1e9, 1e9, 1e-300, 1e300, 2.0**31, 2.0**63, np.inf, -np.inf, np.nan]
NAMES = ["", "last", "average", "pocket", "vote", "ovr", "ovo", "multinomial", "two", "forgetron", "projectron++"]
NAMES += ["linear", "poly", "rbf", "cross-entropy", "squared", "identity", "relu", "sign", "logistic", "iob2", "full"]
NAMES += ["diagonal", "batch", "online", "stochastic", "minibatch", "l1", "shuffle", "first", "blocks", "%x[0,3]"]


def leaves(node, path=()):
    """The paths of all leaves of a tree, and of its lists and mappings."""
    if path:
        yield path
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


def changed(node, path, value):
    """A copy of a tree with another value there; with a function, what it makes of the old one."""
    if not path:
        return value(node)
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


def real(number):
    return number if np.isfinite(number) else {"float": repr(float(number))}


def forged_value(old, rng, others):
    """Another value in place of this one, most often of its own kind."""
    if rng.random() < 0.1:
        found = rng.choice(others)
        return rng.choice([None, True, -1, 7, 1.5, "one", [], {}, {"tuple": []}, found, found])
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return rng.choice([*WHOLE_NUMBERS, old - 1, old + 1, -old, 2 * old])
    if isinstance(old, float):
        return real(rng.choice([*REALS, -old, old + 1, old * 1e9]))
    if isinstance(old, str):
        texts = [one for one in others if isinstance(one, str)]
        return rng.choice([*NAMES, old + "x", old[:-1], *rng.choices(texts, k=10)])
    if isinstance(old, list) and old:
        k = rng.randrange(len(old))
        return rng.choice([old[:k] + old[k + 1 :], [*old, old[k]], old[::-1], []])
    if isinstance(old, dict) and old:
        gone = rng.choice(sorted(old))
        return rng.choice([{key: value for key, value in old.items() if key != gone}, rng.choice(others)])
    return rng.choice([*WHOLE_NUMBERS[:9], True, False, 1.5, "one", rng.choice(others)])


def forged_tree(about, rng):
    """The header with a value changed: among attributes, among arrays' names, or among parameters."""
    part = rng.choice(["attributes"] * 8 + ["parameters"])
    tree = about[part]
    paths = list(leaves(tree))
    if not paths:
        return about
    others = [at(tree, path) for path in paths]
    scalar = [path for path, value in zip(paths, others, strict=True) if not isinstance(value, dict | list)]
    flags = [path for path in scalar if isinstance(at(tree, path), bool | int) and path[-1] != "object"]
    path = rng.choice(rng.choice([paths, scalar or paths, flags or paths, flags or paths]))
    return {**about, part: changed(tree, path, lambda old: forged_value(old, rng, others))}


def forged_entries(array, rng):
    """The array with some entries changed: the last, the first or any."""
    array = array.copy()
    flat = array.reshape(-1)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        k = rng.choice([0, flat.size - 1, rng.randrange(flat.size), rng.randrange(flat.size)])
        old = flat[k].item()
        if array.dtype.kind == "b":
            flat[k] = not old
        elif array.dtype.kind in "iu":
            known = np.iinfo(array.dtype)
            number = rng.choice([*WHOLE_NUMBERS, old - 1, old + 1, flat.size, known.min, known.max])
            flat[k] = min(max(number, known.min), known.max)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                flat[k] = rng.choice([*REALS, old + 1, old - 1, -old, 3.0, flat.size])
    return array


def forged_array(array, rng):
    """Another array in place of this one."""
    if array.size and rng.random() < 0.7:
        return forged_entries(array, rng)
    flat = array.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        kinds = [np.int64, np.int32, np.uint32, np.float32, np.float64, np.float16, np.uint8, bool]
        found = rng.choice(
            [
                array[:-1] if array.ndim else array,
                np.concatenate([array, array[:1]]) if array.ndim else array,
                array.T,
                flat,
                array[::-1] if array.ndim else array,
                np.zeros_like(array),
                np.ones_like(array),
                array * 100 if array.dtype != bool else ~array,
                -array if array.dtype.kind in "if" else array,
                np.sort(flat).reshape(array.shape),
                array.astype(rng.choice(kinds)),
                array.reshape(*array.shape, 1),
                np.zeros((0, 3)),
            ]
        )
    return np.ascontiguousarray(found).reshape(found.shape)


def forged(about, arrays, rng):
    """A file in which one thing was changed, sometimes two."""
    for _ in range(rng.choice([1, 1, 1, 2])):
        if not arrays or rng.random() < 0.45:
            about = forged_tree(about, rng)
            continue
        names = sorted(arrays)
        # Counters and indices are small beside weights, but compiled code follows them.
        small = [name for name in names if arrays[name].dtype.kind in "iub" or arrays[name].ndim == 1]
        which = rng.choice(rng.choice([names, small or names]))
        arrays = {**arrays, which: forged_array(arrays[which], rng)}
    return sealed(about, arrays)


# -- use ---------------------------------------------------------------------------------------------------------------


def targets(model, y):
    """Targets to go on with: the same, one class more, codes of the model's own classes."""
    if is_regressor(model):
        return [y]
    own = getattr(model, "classes_", None)
    found = [y]
    if isinstance(own, np.ndarray) and own.ndim == 1 and own.size and isinstance(y, np.ndarray) and y.ndim == 1:
        new = "zz" if y.dtype.kind == "U" else 99
        found += [own[np.arange(y.size) % own.size], np.where(np.arange(y.size) == 3, new, y)]
    return found


def asked(model, name, X):
    """What a model says of rows or sentences: of every one of them."""
    found = getattr(model, name)(X)
    assert len({one.shape[0] if hasattr(one, "shape") else len(one) for one in (X, found)}) == 1
    if isinstance(found, list) and isinstance(X, list):
        assert [len(tags) for tags in found] == [len(sentence) for sentence in X]


def calls(model, X, y):
    """Everything that a model can be asked, as functions without arguments."""
    rows = isinstance(X, np.ndarray) or sp.issparse(X)
    given = [X]
    if rows:
        dense = X.toarray() if sp.issparse(X) else X
        given = [dense, sp.csr_matrix(dense), dense.astype(np.float32)]
    for name in sorted(set(dir(type(model))) | set(vars(model))):
        if name.startswith(("_", "get_params", "get_metadata", "set_", "fit")):
            continue
        one = getattr(type(model), name, None)
        if not callable(one):
            yield lambda name=name: repr(getattr(model, name))
        elif name in ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform"):
            yield from (partial(asked, model, name, each) for each in given)
        elif name == "explain":
            yield lambda: repr(model.explain(X))
        elif name in ("score", "tree_distance"):
            yield lambda name=name: getattr(model, name)(X, y)
        elif name == "weights":
            yield from (lambda f=f: model.weights(f) for f in ("U0:the", "dog", 0, 3))
        elif name in ("get_feature_names_out", "plan"):
            yield lambda name=name: getattr(model, name)()
        else:
            assert name in ("partial_fit", "from_weights"), f"{name} is not asked of forged models"
    yield lambda: repr(model)
    yield lambda: str(model.report_)
    yield lambda: str(model.summary_)
    for part in getattr(model, "certificates_", ()):
        yield lambda part=part: part.verify(X, y)
        yield lambda part=part: repr(part) + str(part)
    if not hasattr(type(model), "partial_fit"):
        yield lambda: to_bytes(model)
        return
    if rows and not hasattr(model, "_features"):
        for k, each in enumerate(targets(model, y)):
            yield lambda each=each, k=k: model.partial_fit(given[k % 2], each)
        yield lambda: model.partial_fit(X, y, sample_weight=np.arange(X.shape[0]) / 2 + 0.5)
        if model.get_params().get("warm_start"):
            yield lambda: model.fit(X, y)
    else:
        yield lambda: model.partial_fit(X, y)
        yield lambda: model.partial_fit(X, NEW_TAGS if y is TAGS else [*y[:-1], "new"])
    yield partial(asked, model, "predict", X)
    yield lambda: to_bytes(model)


def calls_with_files(model, data, case, source):
    """What a model can be asked about files, and the end of its training from its own file as a checkpoint."""
    if hasattr(model, "reading_"):
        yield lambda: r.read(source, like=model.reading_)
        yield lambda: r.score(model, source)
    saved = source.with_suffix(".forged")
    saved.write_bytes(data)
    fresh = case()[0].set_params(max_epochs=5)
    how = {"format": "text", "n_features": 64, "ngrams": (1, 2)} if source.suffix == ".txt" else {}
    yield lambda: r.fit(fresh, source, checkpoint=saved, resume=True, **how)


def check(data, X, y, training=None):
    """Whether a file is refused; any error but a refusal is an error."""
    try:
        model = from_bytes(data)
    except FileError:
        return True
    more = () if training is None else calls_with_files(model, data, *training)
    for call in (*calls(model, X, y), *more):
        with suppress(REFUSALS):
            call()
    return False


def run(kind, count, seconds=None):
    """How many of `count` forged files of a kind are refused; the process ends if one takes more than `seconds`."""
    refused, files = 0, whole(kind)
    for about, arrays, X, y, training in files if seconds is not None else ():
        assert not check(sealed(about, arrays), X, y, training)  # compiles, which takes longer than any answer
    for k in range(count):
        rng = random.Random(f"{kind} {k}")
        about, arrays, X, y, training = files[k % len(files)]
        if seconds is not None:
            faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            refused += check(forged(about, arrays, rng), X, y, training)
        except BaseException:
            print(f"forged {kind} {k}", file=sys.stderr)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
    return refused


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for each in sys.argv[2:]:
        with redirect_stdout(io.StringIO()):
            found = run(each, int(sys.argv[1]), SECONDS)
        print(each, found, flush=True)
