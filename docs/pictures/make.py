"""The pictures of docs/pictures.md: python docs/pictures/make.py"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

import rosenblatt as rb
from rosenblatt.lab.points import LECTURES, THREE_CLASSES, noise, separable

HERE = Path(__file__).parent
LINE = rb.LinearRegressor(penalty=None, solver="batch")


def save(name, display):
    display.figure_.savefig(HERE / f"{name}.png", dpi=90)
    plt.close(display.figure_)


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
