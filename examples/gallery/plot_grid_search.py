"""
A grid search in one pass
=========================

All settings and all folds of an online learner are columns of one matrix of weights: a pass over the rows serves them
all. `plot.search` draws the scores.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from rosenblatt import GridSearchCV, PassiveAggressive, plot

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
grid = {"C": np.logspace(-4, 1, 11), "keep": ["last", "average"]}
search = GridSearchCV(PassiveAggressive(max_epochs=5, random_state=0), grid, cv=5).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}", f"{search.one_pass_} fits in one pass")

# %%
# The band is one standard deviation over the folds. At its best the average is better than the last weights, and it
# loses less where C is too large.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot.search(search, "C", ax=ax)
plt.show()
