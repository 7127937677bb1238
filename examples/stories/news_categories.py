"""News categories: headlines of four kinds, told apart by their words; the kinds come in pairs.

The multinomial perceptron has one weight vector per category. On a mistake it raises the true one and lowers the one it
said. In a tree of categories, taking one sport for another is a smaller mistake than taking sport for politics.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from rosenblatt import AveragedPerceptron, HierarchicalPerceptron

COMMON = "after new says first over week year big last plan back two against more fans crisis"
SPORT, WORLD = "match coach season team champion stadium", "minister crisis union talks capital report"
WORDS = {
    "sport.football": f"{SPORT} goal keeper penalty league",
    "sport.tennis": f"{SPORT} serve racket court set",
    "world.economy": f"{WORLD} bank market inflation trade",
    "world.politics": f"{WORLD} vote parliament law court",
}


def headlines(n, seed):
    """Six words each, three of them of its category."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(WORDS), n)
    picked = [[*rng.choice(WORDS[kind].split(), 3), *rng.choice(COMMON.split(), 3)] for kind in y]
    return [" ".join(rng.permutation(words)) for words in picked], y


def main():
    warnings.simplefilter("ignore")
    texts, y = headlines(400, seed=0)
    new, truth = headlines(1000, seed=1)
    words = CountVectorizer().fit(texts)
    X, T = words.transform(texts).astype(float), words.transform(new).astype(float)
    print(f"{len(y)} headlines of {len(words.get_feature_names_out())} words; the first ({y[0]}): {texts[0]}\n")

    how: dict[str, Any] = {"fit_intercept": False, "max_epochs": 5, "random_state": 0}
    flat = AveragedPerceptron(**how).fit(X, y)
    tree = HierarchicalPerceptron(keep="average", **how).fit(X, y)
    print("the words that count most")
    for kind, w in zip(flat.classes_, flat.coef_, strict=True):
        print(f"  {kind:15} {', '.join(words.get_feature_names_out()[np.argsort(-w)[:4]])}")

    print("\n                  right   in another branch, of all mistakes")
    for name, model in (("all alike", flat), ("in a tree", tree)):
        said = model.predict(T)
        wrong = said != truth
        far = np.array([one.split(".")[0] != other.split(".")[0] for one, other in zip(said, truth, strict=True)])
        print(f"  {name:14} {np.mean(~wrong):6.1%}   {far.sum()} of {wrong.sum()}")

    print("\nsaid             true: " + "".join(f"{kind:>16}" for kind in flat.classes_))
    said = flat.predict(T)
    for kind in flat.classes_:
        print(f"{kind:23}" + "".join(f"{np.sum((said == kind) & (truth == other)):16}" for other in flat.classes_))


if __name__ == "__main__":
    main()
