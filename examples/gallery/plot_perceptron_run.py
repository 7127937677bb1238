"""
A perceptron learns, update by update
=====================================

Every mistake turns the line. The trace of a run has each step in fractions, as on a blackboard; the picture has the
line after each update, the early ones drawn faintly.
"""

import matplotlib.pyplot as plt

from rosenblatt import plot, trace

X = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]]
y = [1, 1, 1, -1, -1, -1]
run = trace(X, y, learning_rate=0.2, coef_init=[[1, 0.5]], exact=True)
print(run)

# %%
# The line starts at w = (1, 0.5) and is turned three times. The arrow is w, and the row that made the last update is
# ringed.

plot.run(run)

# %%
# From zero there is a bound on the number of mistakes (Novikoff 1962): here are the mistakes so far, and the bound.

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plot.mistakes(trace(X, y), ax=ax)
plt.show()
