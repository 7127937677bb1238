"""The lectures' homework: a multinomial perceptron against multinomial logistic regression.

On scikit-learn's handwritten digits, and on 20 Newsgroups if it is available (ROSENBLATT_DATA, or scikit-learn's
folder). Mistakes are counted during training: visits on which the perceptron made an update.
"""

import importlib
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import AveragedPerceptron, LinearClassifier, Perceptron


def digits() -> Any:
    X, y = load_digits(return_X_y=True)
    X, T, y, u = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    return X, y, T, u


def newsgroups() -> Any:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
    return importlib.import_module("datasets").news()


LEARNERS = {
    "multinomial perceptron, last": Perceptron(max_epochs=10, random_state=0),
    "multinomial perceptron, averaged": AveragedPerceptron(max_epochs=10, random_state=0),
    "multinomial logistic regression, stochastic": LinearClassifier(
        alpha=1e-5, solver="stochastic", max_epochs=10, random_state=0
    ),
    "multinomial logistic regression, batch": LinearClassifier(alpha=1e-5, solver="batch", max_epochs=50),
}


def main() -> None:
    warnings.simplefilter("ignore")
    for name, load in (("digits", digits), ("20 Newsgroups", newsgroups)):
        data = load()
        if data is None:
            print(f"\n{name}: not found (set ROSENBLATT_DATA to the folder that holds it)")
            continue
        X, y, T, u = data
        print(f"\n{name}: {X.shape[0]:,} training rows, {T.shape[0]:,} test rows, {X.shape[1]:,} features")
        print(f"{'':45}{'test accuracy':>14}{'seconds':>9}{'epochs':>8}{'mistakes':>10}{'left':>7}")
        for label, model in LEARNERS.items():
            model.fit(X[::20], y[::20])  # compile, or load the compiled code from disk
            began = time.perf_counter()
            model.fit(X, y)
            seconds, report = time.perf_counter() - began, model.report_
            mistakes = f"{report.updates:,}" if "perceptron" in label else "-"
            print(
                f"{label:45}{model.score(T, u):14.4f}{seconds:9.2f}{model.n_iter_:8}{mistakes:>10}{report.errors:7,}",
                flush=True,
            )
    print("\nmistakes: updates during training; left: training rows that are misclassified at the end.")


if __name__ == "__main__":
    main()
