"""
Last, average, vote: which weights to keep
==========================================

On classes that overlap a perceptron never comes to rest. Its last weights depend on the last rows it saw; the average
of all weights and the vote of all weights hardly do.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron, plot

warnings.simplefilter("ignore")  # the classes overlap, and that is the point
rng = np.random.default_rng(0)
X = np.vstack([rng.normal(-1, 1.2, (80, 2)), rng.normal(1, 1.2, (80, 2))])
y = np.repeat(["blue", "red"], 80)

# %%
# The same rows and settings, with three ways to keep the weights:

fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, keep in zip(axes, ["last", "average", "vote"], strict=True):
    model = Perceptron(keep=keep, max_epochs=20, random_state=0).fit(X, y)
    plot.regions(model, X, y, ax=ax)
    ax.set_title(f"keep={keep!r}: {np.mean(model.predict(X) != y):.1%} wrong")
plt.show()

# %%
# With other seeds the last weights change a lot, and the averaged ones hardly at all. On new rows of the same classes:

new = np.vstack([rng.normal(-1, 1.2, (2000, 2)), rng.normal(1, 1.2, (2000, 2))])
truth = np.repeat(["blue", "red"], 2000)
for keep in ("last", "average", "vote", "pocket"):
    scores = [Perceptron(keep=keep, max_epochs=20, random_state=k).fit(X, y).score(new, truth) for k in range(10)]
    print(f"{keep:8} {np.mean(scores):.3f} right, from {min(scores):.3f} to {max(scores):.3f}")
