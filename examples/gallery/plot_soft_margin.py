"""
The soft margin, from wide to hard
==================================

A support vector machine trades the width of its margin for the slack of the rows inside it. The smaller C, the wider
the margin; the larger C, the more each row inside it counts.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import LinearSVM, plot

rng = np.random.default_rng(1)
X = np.vstack([rng.normal(-1.2, 0.9, (40, 2)), rng.normal(1.2, 0.9, (40, 2))])
y = np.repeat([-1, 1], 40)

fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
models = [LinearSVM(C=C, tol=1e-6, random_state=0).fit(X, y) for C in (0.01, 0.1, 10)]
for ax, model in zip(axes, models, strict=True):
    plot.regions(model, X, y, slack=True, ax=ax)
    ax.set_title(f"C = {model.C}: margin {1 / np.linalg.norm(model.coef_):.2f}, {model.support_.size} support vectors")
plt.show()

# %%
# The report says how close to the best solution this is: the duality gap is proven to be at most that share of the
# objective.

print(models[-1].report_)
