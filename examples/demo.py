"""Learn to read handwritten digits, prove that a plane separates them, and draw what was learned: make demo"""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import AveragedPerceptron, separability

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPOCHS = 10
PICTURE = Path("demo.png")
SHADES = " .:-=+*#%@"


def side_by_side(digits: np.ndarray) -> str:
    """Digits of 8 × 8 pixels as text, two characters per pixel."""
    shades = [["".join(SHADES[int(ink * 9 / 16)] * 2 for ink in row) for row in digit] for digit in digits]
    lines = ["   ".join(rows) for rows in zip(*shades, strict=True)]
    return "\n".join("  " + line.rstrip() for line in lines)


def draw(model: AveragedPerceptron, X: Any, y: Any) -> None:
    """The weights of every class, and the first test digits that the model reads wrongly."""
    answers = model.predict(X)
    wrong = np.flatnonzero(answers != y)[:10]
    figure, axes = plt.subplots(2, 10, figsize=(11, 3.2), layout="constrained")
    largest = np.abs(model.coef_).max()
    for digit, axis in enumerate(axes[0]):
        axis.imshow(model.coef_[digit].reshape(8, 8), cmap="RdBu", vmin=-largest, vmax=largest)
        axis.set_title(f"{digit}")
    for axis, row in zip(axes[1], wrong, strict=False):
        axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{y[row]}, read as {answers[row]}", fontsize=8)
    for axis in axes.flat:
        axis.set_axis_off()
    figure.suptitle(
        "Top: the weights of each digit, blue where ink speaks for it, red where against. Bottom: misread digits."
    )
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)

    print(f"\n{len(X):,} handwritten digits of 8 × 8 pixels, for example {y[0]}, {y[1]} and {y[2]}:\n")
    print(side_by_side(X[:3].reshape(3, 8, 8)))
    print(f"\nA perceptron learns from {len(X_train):,} of them. The other {len(X_test)} test it.")
    print("It looks at the training digits one by one. Whenever it reads one wrongly, it moves its weights: an update.")
    print(
        "One look at every digit is an epoch. (The first epoch also compiles the loops, which takes seconds, once.)\n"
    )

    print("epoch  updates in it  test digits read correctly")
    model, before = AveragedPerceptron(random_state=0), 0
    for epoch in range(1, EPOCHS + 1):
        model.partial_fit(X_train, y_train, classes=np.unique(y))
        right = int(np.sum(model.predict(X_test) == y_test))
        updates, before = model.report_.updates - before, model.report_.updates
        print(
            f"{epoch:5}  {updates:13,}  {right} of {len(y_test)}, test accuracy {right / len(y_test):.3f}", flush=True
        )

    print("\nThe updates become fewer. Ten planes now tell the digits apart.")
    print("Is there a plane with every 0 on one side and all other training digits on the other?\n")
    names = np.where(y_train == 0, "zeros", "other digits")
    verdict = separability(X_train, names)
    print(f"  {verdict}".split("\n")[0])
    verdict.verify(X_train, names)
    print("  Verified in exact arithmetic, row by row, without the code that found it.")

    draw(model, X_test, y_test)
    print(f"\nWhat it learned is drawn in {PICTURE.resolve()}")
    print("\nTo try next, in this folder:")
    print("  .venv/bin/rosenblatt check your.csv --label COLUMN     is your table separated? with proof")
    print("  .venv/bin/rosenblatt train your.csv --label COLUMN -o your.model")
    print('  .venv/bin/pip install -e ".[lab]"; .venv/bin/rosenblatt lab    drag points and step through updates')
    print("  docs/quickstart.md                                     the first ten minutes in Python")


if __name__ == "__main__":
    main()
