"""Sparse matrices whose arrays were changed behind SciPy's back, and every public call that takes rows.

Run as a script it makes the calls from the number given on, one line of output before and after each: a crash is
seen by the one who started it.
"""

import functools
import inspect
import pickle
import sys
import tempfile
import warnings

import numpy as np
import scipy.sparse as sp

import rosenblatt
from rosenblatt import plot, records

X = np.random.default_rng(5).normal(size=(12, 2))
y = (X[:, 0] > 0).astype(int)
FAR = 10**8

# -- what is broken --------------------------------------------------------------------------------------------------


def changed(form, name, place, value, dtype=np.float64):
    """An array of a matrix with another value at one place."""

    def make():
        matrix = form(X.astype(dtype))
        getattr(matrix, name)[place] = value
        return matrix

    return make


def replaced(form, name, change):
    """A matrix with another array."""

    def make():
        matrix = form(X)
        setattr(matrix, name, change(getattr(matrix, name)))
        return matrix

    return make


BROKEN = {
    "CSR: index beyond": changed(sp.csr_array, "indices", 3, FAR),
    "CSR: index negative": changed(sp.csr_matrix, "indices", 3, -FAR),
    "CSR: index just beyond": changed(sp.csr_array, "indices", 3, 2),
    "CSR: integers, index beyond": changed(sp.csr_array, "indices", 3, FAR, np.int64),
    "CSR: starts fall": changed(sp.csr_array, "indptr", 5, 1),
    "CSR: start negative": changed(sp.csr_array, "indptr", 5, -FAR),
    "CSR: start beyond": changed(sp.csr_array, "indptr", 5, FAR),
    "CSR: end beyond": changed(sp.csr_array, "indptr", 12, FAR),
    "CSR: end 0": changed(sp.csr_array, "indptr", 12, 0),  # SciPy's own check ends there
    "CSR: first start": changed(sp.csr_array, "indptr", 0, 1),
    "CSR: few starts": replaced(sp.csr_array, "indptr", lambda old: old[:3]),
    "CSR: many starts": replaced(sp.csr_array, "indptr", lambda old: np.append(old, FAR)),
    "CSR: few indices": replaced(sp.csr_array, "indices", lambda old: old[:5]),
    "CSR: few values": replaced(sp.csr_array, "data", lambda old: old[:5]),
    "CSR: big-endian indices": replaced(sp.csr_array, "indices", lambda old: old.astype(">i4")),
    "CSR: big-endian starts": replaced(sp.csr_array, "indptr", lambda old: old.astype(">i4")),
    "CSR: indices of floats": replaced(sp.csr_array, "indices", lambda old: old + 0.5),
    "CSR: indices in a table": replaced(sp.csr_array, "indices", lambda old: old.reshape(2, -1)),
    "CSC: index beyond": changed(sp.csc_array, "indices", 3, FAR),
    "CSC: index negative": changed(sp.csc_array, "indices", 3, -FAR),
    "CSC: end beyond": changed(sp.csc_matrix, "indptr", 2, FAR),
    "CSC: end 0": changed(sp.csc_array, "indptr", 2, 0),
    "CSC: starts fall": changed(sp.csc_array, "indptr", 1, FAR),
    "BSR: index beyond": changed(sp.bsr_array, "indices", 3, FAR),
    "BSR: end beyond": changed(sp.bsr_array, "indptr", -1, FAR),
    "BSR: two blocks of five rows for twelve": replaced(
        functools.partial(sp.bsr_array, blocksize=(6, 2)), "data", lambda old: old[:, :5]
    ),
    "COO: row beyond": changed(sp.coo_array, "row", 3, FAR),
    "COO: column negative": changed(sp.coo_array, "col", 3, -FAR),
    "COO: few values": replaced(sp.coo_array, "data", lambda old: old[:5]),
    "LIL: index beyond": changed(sp.lil_array, "rows", 3, [0, FAR]),
    "LIL: many values": changed(sp.lil_array, "data", 3, [1.0] * 99),
    "DIA: many offsets": replaced(sp.dia_array, "offsets", lambda old: np.arange(200, dtype=old.dtype)),
    "one dimension": lambda: sp.coo_array(X[:, 0]),
}


# -- what takes rows -------------------------------------------------------------------------------------------------

OTHERS = {"Tagger", "TextEncoder", "GridSearchCV"}  # which take words, not rows; which shows its rows to an estimator
ESTIMATORS = [
    name
    for name in rosenblatt.__all__
    if isinstance(getattr(rosenblatt, name), type) and hasattr(getattr(rosenblatt, name), "fit") and name not in OTHERS
]
METHODS = ("fit", "partial_fit", "predict", "decision_function", "predict_proba", "predict_log_proba", "score",
           "transform", "fit_transform", "tree_distance", "explain")  # fmt: skip
LABELLED = ("fit", "partial_fit", "score", "fit_transform", "tree_distance")


@functools.cache
def learned(name):
    few = {"max_epochs": 2} if "max_epochs" in getattr(rosenblatt, name)().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.dumps(getattr(rosenblatt, name)(**few).fit(X, y))


def fitted(name):
    return pickle.loads(learned(name))


def method(name, which):
    def call(bad):
        model = fitted(name)
        getattr(model, which)(bad, y) if which in LABELLED else getattr(model, which)(bad)

    return call


def in_folder(bad):
    rosenblatt.predict(fitted("Perceptron"), (bad, None), tempfile.mkdtemp())


def measured():
    return rosenblatt.margins(fitted("Perceptron"), X, y)


three = np.arange(12) % 3
CALLS = {
    f"{name}.{which}": method(name, which)
    for name in ESTIMATORS
    for which in METHODS
    if hasattr(getattr(rosenblatt, name)(), which)  # not fitted: every process that collects the tests would compile
}
CALLS |= {
    "Perceptron.fit, labels": lambda bad: fitted("Perceptron").fit(X, bad),
    "fit": lambda bad: rosenblatt.fit(rosenblatt.Perceptron(), (bad, y)),
    "fit, shards": lambda bad: rosenblatt.fit(rosenblatt.Perceptron(), (bad, y), shards=2),
    "predict": in_folder,
    "score": lambda bad: rosenblatt.score(fitted("Perceptron"), (bad, y)),
    "separability": lambda bad: rosenblatt.separability(bad, y),
    "max_margin": lambda bad: rosenblatt.max_margin(bad, y),
    "margins": lambda bad: rosenblatt.margins(fitted("Perceptron"), bad, y),
    "Margins.project": lambda bad: measured().project(bad),
    "mistake_bounds": lambda bad: rosenblatt.mistake_bounds(fitted("Perceptron"), bad, y),
    "generalisation_bounds": lambda bad: rosenblatt.generalisation_bounds(fitted("Perceptron"), bad, y),
    "generalisation_bounds, held out": lambda bad: rosenblatt.generalisation_bounds(
        fitted("Perceptron"), X, y, held_out=(bad, y)
    ),
    "Separability.verify": lambda bad: rosenblatt.separability(X, y).verify(bad, y),
    "SeparabilityByClass.verify": lambda bad: rosenblatt.separability(X, three).verify(bad, three),
    "WidestPlane.verify": lambda bad: rosenblatt.max_margin(X, y).verify(bad, y),
    "trace": lambda bad: rosenblatt.trace(bad, y),
    "trace, exact": lambda bad: rosenblatt.trace(bad, y, exact=True),
    "plot.regions": lambda bad: plot.regions(fitted("Perceptron"), bad, y),
    "plot.margins": lambda bad: plot.margins(fitted("Perceptron"), bad, y),
    "plot.margins, kernel": lambda bad: plot.margins(fitted("KernelSVM"), bad, y),
    "plot.hulls": lambda bad: plot.hulls(bad, y),
    "plot.normalised": lambda bad: plot.normalised(bad, y),
    "plot.normalised, model": lambda bad: plot.normalised(
        bad, y, model=rosenblatt.Perceptron(fit_intercept=False, max_epochs=2).fit(X, y)
    ),
    "plot.logistic": lambda bad: plot.logistic(fitted("LinearClassifier"), bad, y),
    "plot.residuals": lambda bad: plot.residuals(
        rosenblatt.LinearRegressor(max_epochs=2).fit(X[:, :1], X[:, 1]), bad, X[:, 1]
    ),
    "plot.learning": lambda bad: plot.learning(rosenblatt.Perceptron(), bad, y, X, y, passes=1),
    "plot.learning, test rows": lambda bad: plot.learning(rosenblatt.Perceptron(), X, y, bad, y, passes=1),
    "plot.plane": lambda bad: plot.plane(fitted("Perceptron"), bad),
    "plot.losses": lambda bad: plot.losses(model=fitted("Perceptron"), X=bad, y=y),
    "plot.surface": lambda bad: plot.surface(bad, y),
    "Layer.forward": lambda bad: rosenblatt.Layer(2).forward(bad, np.ones((X.shape[1], 2))),
    "teaching.augment": lambda bad: rosenblatt.teaching.augment(bad),
    "teaching.normalise_labels": lambda bad: rosenblatt.teaching.normalise_labels(bad, y),
    "teaching.qp": lambda bad: rosenblatt.teaching.qp(bad, y, C=1.0),
    "losses.objective": lambda bad: rosenblatt.losses.objective(fitted("LinearClassifier"), bad, y),
    "GridSearchCV.fit": lambda bad: rosenblatt.GridSearchCV(
        rosenblatt.Perceptron(max_epochs=2), {"margin": [0.0, 1.0]}, cv=2, error_score="raise"
    ).fit(bad, y),
}


def takers():
    """The public functions, and methods of public classes, with a parameter X or a source of rows."""
    found = set()
    public = {name: getattr(rosenblatt, name) for name in set(rosenblatt.__all__) - OTHERS}
    public |= {name: getattr(records, name) for name in records.__all__}
    public |= {f"plot.{name}": getattr(plot, name) for name in plot.__all__}
    for name, thing in public.items():
        if isinstance(thing, type):
            shown = fitted(name) if name in ESTIMATORS else thing
            ways = {f"{name}.{each}": getattr(shown, each, None) for each in dir(thing) if not each.startswith("_")}
        else:
            ways = {name: thing}
        for label, way in ways.items():
            if (inspect.isfunction(way) or inspect.ismethod(way)) and {"X", "source"} & set(
                inspect.signature(way).parameters
            ):
                found.add(label)
    return found


def main(first):
    warnings.simplefilter("ignore")
    cases = [(call, kind) for call in CALLS for kind in BROKEN]
    for number, (call, kind) in enumerate(cases[first:], first):
        print("case", number, "begins", flush=True)
        try:
            CALLS[call](BROKEN[kind]())
            print("case", number, f"{call} took {kind}", flush=True)
        except ValueError:
            print("case", number, "refused", flush=True)
        except Exception as error:
            print("case", number, f"{call}, {kind}: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
