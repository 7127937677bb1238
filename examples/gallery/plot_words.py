"""
Which words count?
==================

A linear model of text has one weight per word. The largest ones say what it has learned, and whether it has learned the
right thing.
"""

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

from rosenblatt import AveragedPerceptron, plot

good = [
    "a warm and funny film with a brilliant cast",
    "brilliant acting and a moving story",
    "funny, clever and moving from start to finish",
    "a beautiful film, and the cast is wonderful",
    "clever story, wonderful acting",
]
bad = [
    "a dull film with a weak story",
    "boring from start to finish",
    "weak acting and a dull, predictable plot",
    "the plot is a mess and the jokes are boring",
    "a predictable mess with a tired cast",
]
vectorizer = TfidfVectorizer()
X = vectorizer.fit_transform(good + bad)
y = ["good"] * len(good) + ["bad"] * len(bad)
model = AveragedPerceptron(random_state=0).fit(X, y)
print(model.predict(vectorizer.transform(["a funny story with a wonderful cast", "dull and predictable"])))

# %%
# "the" and "are" count too: with ten texts, chance decides about frequent words.

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
plot.words(model, vectorizer.get_feature_names_out(), most=8, ax=ax)
plt.show()
