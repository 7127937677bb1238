"""
Separable or not: convex hulls, and a proof
===========================================

Two classes can be separated by a line if their convex hulls do not meet. `separability` decides it exactly, with a
proof either way, and `plot.hulls` draws the proof.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import plot, separability

rng = np.random.default_rng(4)
X = rng.normal(size=(40, 2))
y = np.where(X[:, 0] + X[:, 1] > 0, "above", "below")
X += 0.35 * np.where(y == "above", 1, -1)[:, None]

# %%
# A gap between the hulls is a proof of separability; the line in the middle of it has the largest margin. With one row
# on the wrong side the hulls cross, and a few rows are enough to prove that no line separates the classes.

wrong = X.copy()
wrong[0] = X[y != y[0]].mean(axis=0)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, rows in zip(axes, (X, wrong), strict=True):
    plot.hulls(rows, y, ax=ax)
    print(separability(rows, y))
plt.show()

# %%
# The proof can be checked without the code that found it, in rational arithmetic. Nothing happens if it is right, and
# `CertificateError` names the first claim that is not.

verdict = separability(wrong, y)
verdict.verify(wrong, y)
print("rows", verdict.rows, "with weights", [f"{float(weight):.3f}" for weight in verdict.weights or ()])
