"""
A stream with new classes
=========================

Rows arrive in batches, and after a while there are labels that nobody has seen before. Every batch is predicted before
the model learns from it, so that the running accuracy is honest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rosenblatt import PassiveAggressive

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
early = order[y[order] < 5][:600]  # first only 0 to 4, then all ten
stream = np.concatenate([early, rng.permutation(np.setdiff1d(order, early))])

model = PassiveAggressive(C=0.01, random_state=0)
right: list[float] = []
known: list[int] = []
for rows in np.array_split(stream, 60):
    right.append(np.mean(model.predict(X[rows]) == y[rows]) if known else 0.0)
    model.partial_fit(X[rows], y[rows])
    known.append(len(model.classes_))

# %%
# The accuracy falls when the five new digits appear, and recovers within a few batches.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(100 * np.array(right), label="right, before learning from the batch (%)")
ax.step(range(60), 10 * np.array(known), where="mid", label="classes known (× 10)")
ax.set(xlabel="batch of 30 rows", ylim=(0, 105))
ax.legend(loc="lower right")
plt.show()
