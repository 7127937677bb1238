"""
From scores to probabilities
============================

A logistic regression turns the score of a row into a probability. The steeper the curve, the surer the model; a penalty
keeps it from being too sure.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from rosenblatt import LinearClassifier, plot, separability

X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:]  # two kinds of iris, by the length and the width of their petals
print(separability(X, y))

# %%
# A small penalty makes large scores, a large penalty small ones. Rows that lie between the classes are uncertain in
# both models.

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
for ax, alpha in zip(axes, [0.0001, 0.1], strict=True):
    model = LinearClassifier(loss="log", alpha=alpha, solver="batch", tol=1e-8).fit(X, y)
    plot.logistic(model, X, y, ax=ax)
    ax.set_title(f"alpha = {alpha}: {model.score(X, y):.1%} right")
plt.show()
