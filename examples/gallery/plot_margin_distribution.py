"""
The distribution of margins
===========================

How far are the rows from the plane? A perceptron stops as soon as all of them are on the right side, some of them by a
hair. Averaging moves most rows farther away, and the maximum-margin plane moves the nearest one as far as it can be.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rosenblatt import AveragedPerceptron, MaxMargin, Perceptron, margins, plot

X, y = load_digits(return_X_y=True)
y = y == 0

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
curves = []
models: list[Perceptron | MaxMargin] = [
    Perceptron(random_state=0),
    AveragedPerceptron(random_state=0),
    MaxMargin(),
]
for k, model in enumerate(models):
    name = type(model).__name__
    plot.margins(model.fit(X, y), X, y, ax=ax)
    curves.append(max(ax.get_lines()[2 * k :], key=lambda line: np.size(line.get_xdata())))
    curves[-1].set(color=f"C{k}", label=name)
    print(f"{name:20} smallest margin {margins(model, X, y).margin:.3f}")
ax.legend(handles=curves)
plt.show()
