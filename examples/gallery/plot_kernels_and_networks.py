"""
Beyond a straight line
======================

No line separates two rings. A kernel perceptron does, in the space of the kernel; a small network does, with layers of
smooth units; and Rosenblatt's Mark I does, with units that are wired at random and never learn.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from rosenblatt import KernelPerceptron, MarkI, MultilayerPerceptron, Perceptron, plot

X, y = make_circles(200, noise=0.08, factor=0.5, random_state=0)
models = {
    "Perceptron": Perceptron(max_epochs=50, random_state=0),
    "KernelPerceptron": KernelPerceptron("rbf", random_state=0),
    "MultilayerPerceptron": MultilayerPerceptron((8,), activation="tanh", learning_rate_init=0.05, random_state=0),
    "MarkI": MarkI(n_units=256, n_connections=2, random_state=0),
}
fig, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first cannot separate the rings
        model.fit(X, y)
    plot.regions(model, X, y, ax=ax)
    ax.set_title(f"{name}: {model.score(X, y):.1%} right")
plt.show()
