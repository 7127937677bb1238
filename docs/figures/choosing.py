"""Accuracy and time of the linear learners on nine data sets, for the page "Choosing a learner".

    ROSENBLATT_DATA=folder python docs/figures/choosing.py          # measure, then draw
    python docs/figures/choosing.py --draw                          # draw what was measured

Writes choosing.json, the tables choosing-accuracy.csv and choosing-time.csv, and choosing.png beside this file. Sets
that the folder ROSENBLATT_DATA does not have are left out. Settings were fixed beforehand, the same for all sets. Time
is processor time of one thread, the least of three fits.
"""

import csv
import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["ROSENBLATT_THREADS"] = "1"

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
datasets = importlib.import_module("datasets")

SEEDS = range(3)
LEARNERS = {
    "Perceptron": lambda seed: rb.Perceptron(max_epochs=10, random_state=seed),
    "AveragedPerceptron": lambda seed: rb.AveragedPerceptron(max_epochs=10, random_state=seed),
    "PAUM": lambda seed: rb.PAUM(keep="average", max_epochs=10, random_state=seed),
    "PassiveAggressive": lambda seed: rb.PassiveAggressive(C=0.1, keep="average", max_epochs=5, random_state=seed),
    "AROW": lambda seed: rb.AROW(max_epochs=3, random_state=seed),
    "SecondOrderPerceptron": lambda seed: rb.SecondOrderPerceptron(max_epochs=5, random_state=seed),
    "LinearClassifier": lambda seed: rb.LinearClassifier(
        solver="stochastic", alpha=1e-5, max_epochs=20, random_state=seed
    ),
    "Pegasos": lambda seed: rb.Pegasos(alpha=1e-4, max_epochs=20, random_state=seed),
    "LinearSVM": lambda seed: rb.LinearSVM(C=0.1, tol=1e-2, random_state=seed),
}


def scaled(X, y):
    """Standardised halves of a table that comes with scikit-learn."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    scale = StandardScaler().fit(train)
    return scale.transform(train), y_train, scale.transform(test), y_test


def covtype():
    """A tenth of the forest cover types, standardised."""
    folder = datasets.folder("covtype")
    if folder is None:
        return None
    X, y = rb.read(next(folder.glob("*.csv*")), label="Cover_Type")
    keep = np.random.default_rng(0).permutation(len(y))[:58_000]
    return scaled(X[keep].toarray() if hasattr(X, "toarray") else X[keep], y[keep])


SETS = {
    "iris": lambda: scaled(*load_iris(return_X_y=True)),
    "wine": lambda: scaled(*load_wine(return_X_y=True)),
    "breast cancer": lambda: scaled(*load_breast_cancer(return_X_y=True)),
    "digits": lambda: scaled(*load_digits(return_X_y=True)),
    "acq (text)": datasets.acq,
    "20 Newsgroups (text)": datasets.news,
    "a9a": datasets.a9a,
    "MNIST": datasets.mnist,
    "covtype, a tenth": covtype,
}


def measure():
    rows = []
    for name, load in SETS.items():
        data = load()
        if data is None:
            print(f"{name}: left out (ROSENBLATT_DATA has none)")
            continue
        X, y, X_test, y_test = data
        few = np.random.default_rng(0).permutation(X.shape[0])[:300]
        for learner, make in LEARNERS.items():
            make(0).fit(X[few], y[few])  # compiled before it is timed
            spent, right = [], []
            for seed in SEEDS:
                start = time.process_time()
                model = make(seed).fit(X, y)
                spent.append(time.process_time() - start)
                right.append(float(model.score(X_test, y_test)))
            row = {"set": name, "rows": X.shape[0], "columns": X.shape[1], "classes": len(np.unique(y))}
            row |= {"learner": learner, "accuracy": float(np.mean(right)), "seconds": min(spent)}
            rows.append(row)
            print(f"{name:22}{learner:24}{row['accuracy']:.4f}{row['seconds']:10.3f} s", flush=True)
    (HERE / "choosing.json").write_text(json.dumps(rows, indent=1) + "\n")


def table(rows, file, form, best):
    """A CSV file with one line per learner and one column per set; the best of each column is bold."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    cells = {(row["learner"], row["set"]): form(row) for row in rows}
    for name in sets:
        first = best((cells[learner, name] for learner in LEARNERS), key=float)
        for learner in LEARNERS:
            cells[learner, name] = f"**{first}**" if cells[learner, name] == first else cells[learner, name]
    with (HERE / file).open("w", newline="", encoding="utf-8") as out:
        write = csv.writer(out)
        write.writerow(["learner", *(name.split(" (")[0].split(",")[0] for name in sets)])
        write.writerows([learner, *(cells[learner, name] for name in sets)] for learner in LEARNERS)


def draw():
    rows = json.loads((HERE / "choosing.json").read_text())
    table(rows, "choosing-accuracy.csv", lambda row: f"{100 * row['accuracy']:.1f}", max)
    table(rows, "choosing-time.csv", lambda row: f"{1000 * row['seconds']:.1f}", min)
    fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for k, learner in enumerate(LEARNERS):
        mine = [row for row in rows if row["learner"] == learner]
        lost, slower = [], []
        for row in mine:
            others = [one for one in rows if one["set"] == row["set"]]
            lost.append(100 * (max(one["accuracy"] for one in others) - row["accuracy"]))
            slower.append(row["seconds"] / min(one["seconds"] for one in others))
        x, y = np.exp(np.mean(np.log(slower))), np.mean(lost)
        ax.plot(x, y, "o", color=f"C{k}", ms=9)
        ax.annotate(learner, (x, y), xytext=(8, 4), textcoords="offset points")
    ax.set(xscale="log", xlabel="time of a fit, in units of the fastest (geometric mean over data sets)")
    ax.set_ylabel("points of accuracy below the best (mean)")
    ax.margins(0.18)
    ax.invert_yaxis()
    ax.grid(alpha=0.3)
    fig.savefig(HERE / "choosing.png", dpi=120)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--draw" not in sys.argv:
        measure()
    draw()
