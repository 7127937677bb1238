"""The perceptron for classes that form a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.declared_fields import is_array, must
from rosenblatt.learn.examples import encode_weights
from rosenblatt.learn.labels import encode_labels
from rosenblatt.learn.models import Planes
from rosenblatt.learn.schemes import JOINT, TWO
from rosenblatt.online.hierarchy import TreePlan, TreeState
from rosenblatt.shell.epoch_classifier import EpochClassifier
from rosenblatt.shell.fitted_attributes import assigned, check_assigned_planes, check_model
from rosenblatt.shell.parameters import COMMON, PASSES, chosen_bias

Array = np.ndarray[Any, Any]

HIERARCHICAL: dict[str, Any] = {
    **{name: rule for name, rule in COMMON.items() if name not in ("multiclass", "warm_start")},
    "tree": [dict, list, tuple, None],
    "keep": [StrOptions({"last", "average"})],
    "bias_step": [StrOptions({"unit"}), Interval(Real, 0, None, closed="neither")],
    "order": PASSES,
}


class HierarchicalPerceptron(EpochClassifier):
    """The perceptron for a tree of classes: an error weighs as much as its distance in the tree.

    Each node v of the tree but its root has a vector w^v, and a class is scored by the sum over its path from the
    root, W^y = Σ w^v. With γ the number of tree edges between y and the prediction ŷ ≠ y,

        ℓ = [W^ŷ·x − W^y·x + √γ]₊        τ = ℓ/(γ‖x‖²)

    and τx is added to the nodes on y's path only, and subtracted from those on ŷ's path only. With
    `fit_intercept` the bias counts as a feature, in ‖x‖² too.

    Parameters
    ----------
    tree : nested lists, dict or None, default=None
        Nested lists have the classes as leaves: [["cat", "dog"], ["oak", "elm"]]. A dict has the parent of each node,
        None or a name that has no parent for those below the root; a class may be an inner node too. None: names with
        dots, such as `comp.sys.mac`, define the tree if all classes have them; otherwise the tree is flat.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : "unit" or float, default="unit"
        c²: the bias counts as a feature of value c.
    order : {"shuffle", "blocks", "cyclic", "random"} or sequence of rows, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    keep : {"last", "average"}, default="last"
        Which weights are the model: the last, or the average over all visits.
    max_epochs, early_stopping, validation_fraction, scoring, n_iter_no_change, record_errors, class_weight, \
random_state
        As in `Perceptron`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (K, d)
        The sum of each class's path.
    intercept_ : ndarray
        The bias of each plane.
    classes_ : ndarray
        The classes, sorted.
    distances_ : ndarray of shape (K, K)
        Tree edges between classes.
    n_iter_ : int
        Epochs that were run.
    report_ : TreeReport
        How the fit ended, with the mean tree distance.

    References
    ----------
    O. Dekel, J. Keshet, Y. Singer, "Large margin hierarchical classification", ICML 2004.

    Examples
    --------
    >>> from rosenblatt import HierarchicalPerceptron
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]
    >>> y = ["rec.sport", "rec.music", "comp.sys", "comp.org"]
    >>> model = HierarchicalPerceptron(order="cyclic").fit(X, y)
    >>> model.classes_.tolist()
    ['comp.org', 'comp.sys', 'rec.music', 'rec.sport']
    >>> model.distances_.tolist()[0]
    [0, 2, 4, 4]
    >>> model.report_.outcome, model.report_.tree_distance
    ('separated', 0.0)
    """

    tree: Any
    fit_intercept: bool
    bias_step: float | str
    order: Any
    keep: str
    record_errors: bool
    distances_: Array
    _state: TreeState
    STORED = EpochClassifier.STORED | {"distances_"}
    _parameter_constraints = HIERARCHICAL

    def __init__(
        self,
        tree: Sequence[Any] | Mapping[Any, Any] | None = None,
        *,
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        order: str | Sequence[int] = "shuffle",
        keep: str = "last",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> Any:
        """Not available: planes of classes do not determine the node vectors that they are sums of."""
        raise TypeError(
            f"{cls.__name__} learns a vector for each node of its tree, which planes of classes do not determine: use "
            "Perceptron.from_weights."
        )

    def _plan(self) -> TreePlan:
        return TreePlan(tree=self.tree, bias=chosen_bias(self), **self._shared())

    def _check_learned(self) -> None:
        K = self.classes_.size
        must(np.array_equal(np.unique(self.classes_), self.classes_), "sorted classes, which labels are looked up in")
        check_model(self, Planes, TreeState, d=self.n_features_in_)
        must(self._kept.scheme == (TWO if K <= 2 else JOINT) and not self._by_labels, "planes of classes")
        must(is_array(vars(self).get("distances_", np.zeros((K, K))), (K, K), "iuf"), "the distances of all classes")
        check_assigned_planes(self)

    def tree_distance(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean number of tree edges between the true and the predicted class of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to predict.
        y : array-like of shape (n,)
            Classes seen in `fit`.
        sample_weight : array-like of shape (n,), optional
            The weights of the rows; by default 1.

        Returns
        -------
        float
        """
        check_is_fitted(self, "_kept")
        said, truth = decide(self._scores(X)), column_or_1d(y)
        check_consistent_length(X, truth)
        unknown = ~np.isin(truth, self.classes_)
        if unknown.any():
            raise ValueError(f"The class {truth[unknown].tolist()[0]!r} was not in y during fit.")
        weights = encode_weights(sample_weight, truth.shape[0])
        distances = assigned(self, "distances_", (self.classes_.size, self.classes_.size))
        distances = distances[encode_labels(truth, self.classes_), said]
        return float(np.average(distances, weights=weights))
