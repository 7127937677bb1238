"""The learners by name: what the command line, the trace, the lab and the book offer. Reading it imports none of them.

To offer a learner in these places, add a line to `LEARNERS` (CONTRIBUTING.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SVM_IN_LAB = {"C": 10.0, "max_epochs": 1000, "random_state": 0}


@dataclass(frozen=True)
class Learner:
    """A learner that can be chosen by name.

    Attributes
    ----------
    name : str
        On the command line.
    estimator : str
        A public name of this package.
    title : str
        In the lab's list of learners; "" if it is not in it.
    settings : mapping
        The parameters that make the estimator this learner.
    lab_settings : mapping
        Further parameters, for the few points of the lab.
    from_files : bool
        Whether it learns from files; if not, the command line reads all rows into memory.
    traced : bool
        Whether `trace` records its steps.
    """

    name: str
    estimator: str
    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    lab_settings: Mapping[str, Any] = field(default_factory=dict)
    from_files: bool = True
    traced: bool = False

    @property
    def kind(self) -> Any:
        """The class of the estimator."""
        import rosenblatt

        return getattr(rosenblatt, self.estimator)


_ALL = (
    Learner("perceptron", "Perceptron", "Perceptron", traced=True),
    Learner("averaged", "AveragedPerceptron", "Averaged", traced=True),
    Learner("voted", "VotedPerceptron", "Voted", from_files=False, traced=True),
    Learner("paum", "PAUM", "PAUM", traced=True),
    Learner("passive-aggressive", "PassiveAggressive", "Passive-aggressive", traced=True),
    Learner("regressor", "PassiveAggressiveRegressor", traced=True),
    Learner("arow", "AROW", "AROW", traced=True),
    Learner("second-order", "SecondOrderPerceptron", "Second order", traced=True),
    Learner("pegasos", "Pegasos", "Pegasos", lab_settings={"alpha": 1e-2}),
    Learner("linear", "LinearClassifier"),
    Learner("logistic", "LinearClassifier", "Logistic", {"loss": "log"}, {"alpha": 1e-3}),
    Learner("linear-regressor", "LinearRegressor"),
    Learner("linear-svm", "LinearSVM", "SVM", lab_settings=SVM_IN_LAB, from_files=False),
    Learner("network", "MultilayerPerceptron"),
    Learner("hierarchical", "HierarchicalPerceptron"),
    Learner("kernel", "KernelPerceptron", from_files=False),
    Learner("kernel-svm", "KernelSVM", from_files=False),
    Learner("mark-i", "MarkI", from_files=False),
)
LEARNERS = {learner.name: learner for learner in _ALL}
IN_LAB = {learner.title: learner for learner in _ALL if learner.title}
TRACED = {learner.estimator: learner for learner in _ALL if learner.traced}

_FAMILIES = {
    "TableClassifier": "tables",
    "TableRegressor": "tables",
    "SequencePerceptron": "sequences",
    "Tagger": "words",
}


def family(model: Any) -> str:
    """What a model of this package learns from: "tables", "sequences", "words" or "rows"; "" if it is another's.

    >>> from rosenblatt import Perceptron, Tagger
    >>> family(Perceptron()), family(Tagger()), family("a string")
    ('rows', 'words', '')
    """
    for kind in type(model).__mro__:
        if kind.__module__.startswith("rosenblatt."):
            return _FAMILIES.get(kind.__name__, "rows")
    return ""
