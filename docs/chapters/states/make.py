"""The states of the lab that the chapters open: python docs/chapters/states/make.py

The points are those of the first figure of the chapter, where it has one.
"""

import re
from pathlib import Path

from rosenblatt.lab.points import LECTURES, noise
from rosenblatt.lab.runs import RunSettings
from rosenblatt.lab.sharing import LAST_STEP, Snapshot

HERE = Path(__file__).parent
PERCEPTRON, RULES, CLASSES, LOSSES, NETWORK = range(5)
STATES = {
    "learning": {"step": LAST_STEP},
    "perceptron": {"settings": RunSettings(start=(1.0, 1.0, -3.0))},
    "geometry": {"step": LAST_STEP},
    "convergence": {},
    "separability": {"step": LAST_STEP},
    "batch": {"page": RULES, "step": LAST_STEP},
    "averages": {"page": RULES, "step": LAST_STEP},
    "losses": {"page": LOSSES, "step": LAST_STEP},
    "svm": {"page": RULES, "step": LAST_STEP},
    "classes": {"page": CLASSES},
    "kernels": {"step": LAST_STEP},
    "networks": {"page": NETWORK, "step": LAST_STEP},
}


def points(chapter):
    """The points of a chapter: (x, y, class), from its figure."""
    if chapter == "learning":
        cloud = noise(40, seed=1)
        return [(*row, label) for row, label in zip(cloud.X.tolist(), cloud.y.tolist(), strict=True)]
    if chapter == "classes":  # its page starts with the nine points
        first = LECTURES["CUHK: through the origin"]
        return [(*row, label) for row, label in zip(first.X.tolist(), first.y.tolist(), strict=True)]
    text = (HERE.parent / f"{chapter}.md").read_text(encoding="utf-8")
    given = re.search(r'data-points="([^"]*)"', text)[1].split()
    return [(float(x), float(y), int(label)) for x, y, label in (one.split(",") for one in given)]


def state(chapter):
    """The state of the lab for a chapter."""
    x, y, labels = zip(*points(chapter), strict=True)
    return Snapshot(x, y, labels, **STATES[chapter])


def main():
    for chapter in STATES:
        (HERE / f"{chapter}.json").write_text(state(chapter).to_json() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
