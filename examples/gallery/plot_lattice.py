"""
The best path through a sentence
================================

A structured perceptron chooses the tags of a sentence together: Viterbi's table has the score of the best path to every
tag of every word.
"""

import matplotlib.pyplot as plt

from rosenblatt import SequencePerceptron, plot, trace


def features(sentence):
    return [[f"word={word.lower()}", f"ending={word[-2:]}"] for word in sentence.split()]


sentences = ["He saw the saw", "the dog saw him", "a saw cut it", "She saw a dog"]
tags = [["PRP", "VBD", "DT", "NN"], ["DT", "NN", "VBD", "PRP"], ["DT", "NN", "VBD", "PRP"], ["PRP", "VBD", "DT", "NN"]]
model = SequencePerceptron(random_state=0).fit([features(one) for one in sentences], tags)
print(model.report_)

# %%
# "saw" is a verb or a noun, and its neighbours decide. The best path is drawn through the table:

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot.lattice(model, features("the saw saw him"), ax=ax)
plt.show()

# %%
# What moved when the first sentences were learned:

for step in trace([features(one) for one in sentences], tags, model).updates[:2]:
    print("sentence", step.sentence, "->", *step.lattice.path)
    for feature, tag, change in step.moved[:6]:
        print(f"   {feature:20} {tag:4} {change:+.0f}")
