"""Train an averaged perceptron on the handwritten digits that ship with scikit-learn."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import Perceptron

EPOCHS = 10


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)

    print(f"{len(X)} handwritten digits of 8 x 8 pixels: {len(X_train)} for training, {len(X_test)} for testing.")
    print("Run by make, this writes nothing outside the folder .venv.")
    print("The first run compiles the loops, which takes a few seconds.\n")

    print("epoch  updates  accuracy  misclassified test digits")
    model = Perceptron(keep="average", random_state=0)
    for epoch in range(1, EPOCHS + 1):
        model.partial_fit(X_train, y_train, classes=np.unique(y))
        wrong = int(np.sum(model.predict(X_test) != y_test))
        accuracy = 1 - wrong / len(y_test)
        print(f"{epoch:5}  {model.report_.updates:7,}  {accuracy:8.3f}  {'#' * wrong} {wrong}", flush=True)

    print("\nThe same learner in one call of fit, which stops when it converges:\n")
    model = Perceptron(keep="average", random_state=0).fit(X_train, y_train)
    print(model.report_)
    print(f"\ntest accuracy: {model.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
