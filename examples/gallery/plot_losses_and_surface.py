"""
Losses, and the landscape that they make
========================================

The number of mistakes is flat almost everywhere as a function of the weights, so that there is no slope to follow. The
perceptron criterion, the hinge and the logistic loss slope towards better weights.
"""

import matplotlib.pyplot as plt

from rosenblatt import plot

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot.losses(["zero_one", "perceptron", "hinge", "log", "exponential"], ax=ax)
plt.show()

# %%
# Three rows and weights w = (w₁, w₂): no w is right on all of them, since the first and the last are each other's
# negatives.

X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, loss in zip(axes, ["zero_one", "perceptron"], strict=True):
    plot.surface(X, y, loss, ax=ax)
plt.show()
