"""
A rare class: margins, weights and a threshold
==============================================

Nineteen rows of one class for each row of the other. A perceptron that makes few mistakes misses many of the rare rows.
Uneven margins, class weights and another threshold give them more room; the curve shows what that costs.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import PrecisionRecallDisplay, precision_score, recall_score

from rosenblatt import PAUM, AveragedPerceptron

warnings.simplefilter("ignore")  # the classes overlap
rng = np.random.default_rng(0)


def draw(n):
    y = (rng.random(n) < 0.05).astype(int)
    X = rng.normal(size=(n, 10))
    X[:, :4] += 1.1 * y[:, None]
    return X, y


X, y = draw(4000)
X_test, y_test = draw(4000)
models = {
    "as it is": AveragedPerceptron(max_epochs=10, random_state=0),
    "class weights": AveragedPerceptron(class_weight="balanced", max_epochs=10, random_state=0),
    "uneven margins": PAUM(margin=(1, 500), keep="average", max_epochs=10, random_state=0),
}

# %%
# The three curves are close to each other: the planes differ mostly in where they stand, which the dots show. Another
# threshold moves a model along its curve.

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for k, (name, model) in enumerate(models.items()):
    said = model.fit(X, y).predict(X_test)
    PrecisionRecallDisplay.from_estimator(model, X_test, y_test, ax=ax, name=name, color=f"C{k}")
    ax.plot(recall_score(y_test, said), precision_score(y_test, said), "o", ms=10, color=f"C{k}")
plt.show()
