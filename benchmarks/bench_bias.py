"""What the bias step does to accuracy: c² = 1, 0.1, 0.01 and 0.001, medians of five seeds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import datasets
import numpy as np
from tables import head, left_out, say

STEPS = (1, 0.1, 0.01, 0.001)
SEEDS = range(5)


def run() -> None:
    """Test accuracies of two-class problems; all rows but those of a9a are TF-IDF, of norm 1."""
    from rosenblatt import AROW, AveragedPerceptron, PassiveAggressive

    learners: dict[str, Any] = {
        "PA-I, averaged": PassiveAggressive(keep="average"),
        "PA-II, averaged": PassiveAggressive(variant="PA-II", keep="average"),
        "AveragedPerceptron": AveragedPerceptron(),
        "AROW": AROW(),
    }
    head(f"Test accuracy by bias step ({', '.join(map(str, STEPS))}), 5 epochs, medians of {len(SEEDS)} seeds")
    for name, data in _problems():
        if data is None:
            left_out(f"{name}, which needs ROSENBLATT_DATA")
            continue
        for label, model in learners.items():
            say(f"{name}, {label}", ", ".join(f"{_median(model, step, *data):.4f}" for step in STEPS), "", "", "")


def _problems() -> Iterator[tuple[str, tuple[Any, Any, Any, Any] | None]]:
    yield "a9a", datasets.a9a()
    yield "acq", datasets.acq()
    news = datasets.news()
    for topic in ("comp", "sci", "rec.sport"):
        data = None
        if news is not None:
            X, y, T, u = news
            data = X, _of_topic(y, topic), T, _of_topic(u, topic)
        yield f"20 Newsgroups, {topic}.* against the rest", data


def _of_topic(groups: Any, topic: str) -> Any:
    return np.char.startswith(np.asarray(groups, dtype=str), topic)


def _median(model: Any, step: float, X: Any, y: Any, T: Any, u: Any) -> float:
    model.set_params(bias_step=step, max_epochs=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five epochs separate few of these rows
        return float(np.median([model.set_params(random_state=seed).fit(X, y).score(T, u) for seed in SEEDS]))
