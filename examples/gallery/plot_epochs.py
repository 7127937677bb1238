"""
How many passes?
================

After one pass the weights are rough; after many they know the noise by heart. Held-out rows say when to stop.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import AveragedPerceptron, Perceptron, plot

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Updates made during each epoch, and errors left at its end:

model = Perceptron(max_epochs=30, record_errors=True, random_state=0).fit(X, y)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot.epochs(model, ax=ax)
plt.show()

# %%
# With `early_stopping` the epoch with the best score on held-out rows becomes the model. Any scorer of scikit-learn
# can be the measure.

early = AveragedPerceptron(early_stopping=True, scoring="f1_macro", n_iter_no_change=5, random_state=0).fit(X, y)
scores = [epoch.score for epoch in early.report_.epochs]
print(early.report_)
print(f"best epoch {1 + scores.index(max(scores))}; right on test rows: {early.score(X_test, y_test):.3f}")
