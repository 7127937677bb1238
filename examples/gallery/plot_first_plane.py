"""
A plane, and the rows that hold it
==================================

The maximum-margin plane of two separable classes, with its margins and its support vectors.
"""

import numpy as np

from rosenblatt import MaxMargin, plot

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(-1.5, 0.6, (30, 2)), rng.normal(1.5, 0.6, (30, 2))])
y = np.repeat(["left", "right"], 30)

model = MaxMargin().fit(X, y)
print(model.report_)
plot.regions(model, X, y)
