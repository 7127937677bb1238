"""The pictures of docs/pictures.md: python docs/pictures/make.py"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

import rosenblatt as rb
from rosenblatt.lab.points import LECTURES, THREE_CLASSES, noise, separable

HERE = Path(__file__).parent
LINE = rb.LinearRegressor(penalty=None, solver="batch")


def save(name, display):
    display.figure_.savefig(HERE / f"{name}.png", dpi=90)
    plt.close(display.figure_)


def overfitting():
    """Polynomials of rising degree through noisy points of a sine curve."""
    rng = np.random.default_rng(0)
    x, new = rng.uniform(-1, 1, 15), rng.uniform(-1, 1, 1000)
    y, truth = (np.sin(3 * part) + rng.normal(0, 0.3, part.size) for part in (x, new))
    grid, degrees = np.linspace(-1, 1, 200), range(1, 10)

    def powers(values, degree):
        return values[:, None] ** np.arange(1, degree + 1)

    curves = [rb.LinearRegressor(penalty=None, solver="batch", tol=1e-10).fit(powers(x, k), y) for k in degrees]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.plot(x, y, "ko", ms=4, label="training rows")
    for k in (1, 3, 9):
        left.plot(grid, curves[k - 1].predict(powers(grid, k)), label=f"degree {k}")
    left.set(ylim=(-2, 2), xticks=(-1, -0.5, 0, 0.5, 1), xlabel="x", ylabel="y")
    left.legend(fontsize=8)
    for name, values, target in (("training", x, y), ("test", new, truth)):
        errors = [
            ((target - one.predict(powers(values, k))) ** 2).mean() for k, one in zip(degrees, curves, strict=True)
        ]
        right.plot(degrees, errors, "o-", label=f"{name} error")
    right.set(yscale="log", xlabel="degree", ylabel="mean squared error")
    right.legend(fontsize=8)
    figure.savefig(HERE / "overfitting.png", dpi=90)
    plt.close(figure)


def rings():
    """What a line, a kernel, a network and the Mark I make of two rings."""
    X, y = make_circles(200, noise=0.08, factor=0.5, random_state=0)
    models = {
        "a line": rb.Perceptron(max_epochs=50, random_state=0),
        "a kernel": rb.KernelPerceptron("rbf", random_state=0),
        "a network": rb.MultilayerPerceptron((8,), activation="tanh", learning_rate_init=0.05, random_state=0),
        "the Mark I": rb.MarkI(n_units=256, n_connections=2, random_state=0),
    }
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        rb.plot.regions(model.fit(X, y), X, y, ax=ax)
        ax.set_title(f"{name}: {model.score(X, y):.0%} right", fontsize=11)
        ax.set(xlabel="", ylabel="")
        ax.get_legend().remove()
    figure.savefig(HERE / "rings.png", dpi=90)
    plt.close(figure)


def averages():
    """The planes of a run on points that overlap, the last one and the average."""
    cloud = noise(60, seed=1)
    how = {"max_epochs": 4, "random_state": 0}
    voted = rb.VotedPerceptron(**how).fit(cloud.X, cloud.y)
    last, average = (rb.Perceptron(keep=keep, **how).fit(cloud.X, cloud.y) for keep in ("last", "average"))
    figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
    for label, mark in ((0, "o"), (1, "s")):
        ax.plot(*cloud.X[cloud.y == label].T, mark, ms=5, color=("#0072b2", "#d98200")[label])
    grid = np.linspace(-4, 4, 2)

    def line(w, b, **style):
        if w[1]:
            ax.plot(grid, -(w[0] * grid + b) / w[1], **style)

    for w, b, votes in zip(voted.vectors_, voted.intercepts_, voted.votes_, strict=True):
        line(w, b, color="#777", lw=0.8, alpha=min(1, votes / 12))
    for name, model, style in (("last", last, {"color": "#c33", "ls": "--"}), ("average", average, {"color": "black"})):
        right = model.score(cloud.X, cloud.y)
        line(model.coef_[0], model.intercept_[0], lw=2.5, label=f"{name}: {right:.0%}", **style)
    ax.set(xlim=(-3.2, 3.2), ylim=(-3, 3))
    ax.legend(loc="upper right")
    figure.savefig(HERE / "averages.png", dpi=90)
    plt.close(figure)


FAMILY = {  # (x, y): what changes on the way there, and the learner
    "perceptron\n1957": (0, 2),
    "PAUM\n2002": (1, 3.1),
    "passive-aggressive\n2003": (1, 2),
    "hard margin\n1992": (1, 0.5),
    "Pegasos\n2007": (2, 2),
    "soft margin\n1995": (2, 0.5),
    "1-norm SVM\n2003": (3, 2),
    "kernel SVM\n1992, 1995": (3, 0.5),
    "kernel perceptron\n1964": (1, -0.7),
}
DESCENT = [
    (0, 1, "a margin per class"),
    (0, 2, "a margin of 1,\nthe smallest step"),
    (0, 3, "the widest gap"),
    (3, 5, "slack"),
    (2, 4, "forgets a little\nat each step"),
    (5, 4, "in the primal,\nrow by row"),
    (5, 6, "penalty |w|"),
    (5, 7, "scalar products\nto kernels"),
    (0, 8, "scalar products\nto kernels"),
]


def family():
    """The family tree of margin learners."""
    figure, ax = plt.subplots(figsize=(10.5, 4.6), layout="constrained")
    box = {"boxstyle": "round,pad=0.45", "fc": "#e8f1f8", "ec": "#0072b2"}
    centre = {"ha": "center", "va": "center"}
    names = [ax.text(4 * x, 1.4 * y, name, fontsize=9.5, bbox=box, **centre) for name, (x, y) in FAMILY.items()]
    ax.set(xlim=(-1.2, 13.2), ylim=(-1.8, 5))
    ax.axis("off")
    figure.canvas.draw()  # the arrows end at the boxes, which have their sizes now
    for start, end, change in DESCENT:
        ends = [names[k].get_position() for k in (start, end)]
        boxes = dict(zip(("patchA", "patchB"), (names[k].get_bbox_patch() for k in (start, end)), strict=True))
        ax.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "->", "color": "#666", **boxes})
        ax.text(
            *np.mean(ends, axis=0),
            change,
            fontsize=8,
            color="#444",
            bbox={"fc": "white", "ec": "none", "pad": 1},
            **centre,
        )
    figure.savefig(HERE / "family.png", dpi=90)
    plt.close(figure)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    points = separable(60, margin=0.25, seed=3)
    model = rb.Perceptron(random_state=0).fit(points.X, points.y)
    save("regions", rb.plot.regions(rb.MaxMargin().fit(points.X, points.y), points.X, points.y))
    save("margins", rb.plot.margins(model, points.X, points.y))
    kth = LECTURES["KTH: from any start"]
    run = rb.trace(kth.X, kth.y, learning_rate=0.2, coef_init=[[1, 0.5]])
    save("run", rb.plot.run(run))
    rb.plot.animate(run, HERE / "run.gif")
    save("surface", rb.plot.surface(trace=run))
    picks = rb.trace(
        kth.X, kth.y, learning_rate=0.2, coef_init=[[1, 0.5]], order=[4, 2, 0], max_epochs=1, exact=True, first=1
    )
    save("update", rb.plot.update(picks))
    save("plane", rb.plot.plane(rb.Perceptron.from_weights([3, 4], -12), [[0, 4]]))
    save("residual_lines", rb.plot.residuals(LINE.fit([[0], [1], [2]], [1, 3, 4]), [[0], [1], [2]], [1, 3, 4]))
    save("three", rb.plot.run(rb.trace(THREE_CLASSES.X, THREE_CLASSES.y)))
    three = LECTURES["Shanahan: three rows"]
    save("steps", rb.plot.surface(three.X, three.y, "zero_one"))
    save("steps_3d", rb.plot.surface(three.X, three.y, "zero_one", in_3d=True))
    save("surface_3d", rb.plot.surface(three.X, three.y, "perceptron", in_3d=True))
    cuhk = LECTURES["CUHK: through the origin"]
    through = rb.Perceptron(fit_intercept=False, order="cyclic").fit(cuhk.X, cuhk.y)
    save("convergence", rb.plot.convergence(rb.trace(cuhk.X, cuhk.y, fit_intercept=False)))
    save("normalised", rb.plot.normalised(cuhk.X, cuhk.y, model=through))
    overfitting()
    rings()
    averages()
    family()
    credit = rb.Perceptron.from_weights([0.8, -1.2, 0.5], -0.3)
    save("unit", rb.plot.network(credit, ["salary", "debt", "years"]))
    cloud = noise(60, seed=1)
    save("slack", rb.plot.regions(rb.LinearSVM(random_state=0).fit(cloud.X, cloud.y), cloud.X, cloud.y, slack=True))
    logistic = rb.LinearClassifier(solver="batch", alpha=0.01).fit(cloud.X, cloud.y)
    save("logistic", rb.plot.logistic(logistic, cloud.X, cloud.y))
    save("mistakes", rb.plot.mistakes(rb.trace(points.X, points.y)))
    digits, labels = load_digits(return_X_y=True)
    odd = labels % 2
    averaged = rb.AveragedPerceptron(random_state=0)
    for against in ("passes", "rows"):
        rows = digits[:1200], odd[:1200], digits[1200:], odd[1200:]
        save(f"learning_{against}", rb.plot.learning(averaged, *rows, against=against))
    noisy = rb.Perceptron(random_state=0, max_epochs=20, record_errors=True).fit(digits, labels)
    save("epochs", rb.plot.epochs(noisy))
    save("losses", rb.plot.losses())
    save("residuals", rb.plot.losses(["squared", "absolute", "huber", "log_cosh", "epsilon_insensitive"]))
    save("hulls", rb.plot.hulls(points.X, points.y))
    xor = LECTURES["KTH: XOR"]
    save("crossing", rb.plot.hulls(xor.X, xor.y))
    net = rb.MultilayerPerceptron((4,), activation="tanh", loss="squared", learning_rate_init=0.1, random_state=0)
    save("network", rb.plot.network(net.fit(xor.X, xor.y)))
    text = [
        "cheap money now",
        "money offer now",
        "cheap cheap offer",
        "lunch with a friend",
        "see you at lunch",
        "my friend",
    ]
    counter = CountVectorizer()
    words = rb.Perceptron(random_state=0).fit(counter.fit_transform(text).astype(np.float64), [1, 1, 1, 0, 0, 0])
    sentences = [["He", "saw", "the", "saw"], ["the", "dog", "saw", "him"], ["a", "saw", "cut", "it"]]
    tags = [["PRP", "VBD", "DT", "NN"], ["DT", "NN", "VBD", "PRP"], ["DT", "NN", "VBD", "PRP"]]
    tokens = [[[word.lower()] for word in sentence] for sentence in sentences]
    tagger = rb.SequencePerceptron(random_state=0, max_epochs=1).fit(tokens[1:], tags[1:])
    save("lattice", rb.plot.lattice(tagger, tokens[0], tags[0]))
    save("words", rb.plot.words(words, counter.get_feature_names_out()))


if __name__ == "__main__":
    main()
