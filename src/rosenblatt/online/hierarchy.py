"""A tree of classes, and the perceptron that learns along its paths.

Every node v except the root has a vector w^v, and a class is scored by the sum over its path,
W^y = Σ_{v ∈ path(y)} w^v. The cost of predicting ŷ for y is γ(y, ŷ), the number of tree edges between them. For a row
with the prediction ŷ ≠ y,

    ℓ = [W^ŷ·x − W^y·x + √γ(y, ŷ)]₊        τ = ℓ/(γ‖x‖²)

and τx is added to the nodes of y's path that are not on ŷ's, and subtracted from those of ŷ's that are not on y's
(Dekel, Keshet, Singer, "Large margin hierarchical classification", 2004).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.row_arrays import Sparse, rows_per_call
from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.declared_fields import doubles, floats, integers, must
from rosenblatt.learn.counters import TALLY, Count
from rosenblatt.learn.epochs import Ending, PartOfEpoch, Solver, Source
from rosenblatt.learn.evaluation import MISTAKE, Problem, whole_problem
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Planes, lengths2
from rosenblatt.learn.plan import Needs, Plan
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.report import Report
from rosenblatt.learn.scans import errors_in, scan
from rosenblatt.learn.schemes import JOINT, TWO, Scheme
from rosenblatt.online.hierarchy_visits import TreeNodes, TreeSettings, sweep
from rosenblatt.planes.update_log import NO_LOG

Array = np.ndarray[Any, Any]


# -- the tree --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """Classes in a tree.

    Attributes
    ----------
    on : ndarray of uint8, (K, V)
        Whether node v is on the path of class k; the root, which is on every path, is left out.
    """

    on: Annotated[Array, integers("classes", "nodes", dtype=np.uint8)]

    def check(self, classes: int) -> None:
        """Paths that differ: between two classes on one path there is no step to make."""
        on = self.on
        must(on.max(initial=0) <= 1 and len(np.unique(on, axis=0)) == classes, "a path of its own for each class")

    def distances(self) -> Array:
        """Tree edges between any two classes, (K, K)."""
        on = self.on.astype(np.int64)
        return np.asarray(on.sum(axis=1)[:, None] + on.sum(axis=1)[None, :] - 2 * on @ on.T)


def make_tree(given: Any, classes: list[Any]) -> Tree:
    """The tree of these classes, from nested lists or a mapping to parents; None: from dotted names, else flat."""
    if given is None:
        given = _dotted(classes) or [*classes]
    parents = _parents(given)
    paths = []
    for label in classes:
        if label not in parents:
            raise ValueError(f"The class {label!r} is not in the tree: {_names(parents)}.")
        paths.append(_path(label, parents))
    nodes = {node: v for v, node in enumerate(dict.fromkeys(node for path in paths for node in path))}
    on = np.zeros((len(classes), len(nodes)), np.uint8)
    for k, path in enumerate(paths):
        on[k, [nodes[node] for node in path]] = 1
    return Tree(on)


def _names(parents: Mapping[Any, Any]) -> str:
    return ", ".join(repr(node) for node in parents if not isinstance(node, _Inner))


class _Inner(NamedTuple):
    """An inner node of nested lists, which has no name of its own."""

    place: tuple[int, ...]


def _dotted(classes: list[Any]) -> dict[Any, Any] | None:
    """`comp.sys.mac` is a child of `comp.sys`, which is a child of `comp`; None unless all labels have dots."""
    if not all(isinstance(label, str) and "." in label.strip(".") for label in classes):
        return None
    found: dict[Any, Any] = {}
    for label in classes:
        parts = label.split(".")
        for depth in range(1, len(parts) + 1):
            found[".".join(parts[:depth])] = ".".join(parts[: depth - 1]) or None
    return found


def _parents(given: Any) -> dict[Any, Any]:
    """The parent of every node, None for a child of the root."""
    if isinstance(given, Mapping):
        found = dict(given)
        for child, parent in given.items():
            if not isinstance(parent, Hashable):
                raise ValueError(f"tree maps each node to the name of its parent; {child!r} is mapped to {parent!r}.")
            if parent is not None:
                found.setdefault(parent, None)
        return found
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"tree must be nested lists of classes, a mapping of each node to its parent, or None, got {given!r}."
        )
    found = {}

    def gather(part: Any, above: _Inner | None, place: tuple[int, ...]) -> None:
        for k, one in enumerate(part):
            node = _Inner((*place, k)) if isinstance(one, list | tuple) else one
            if node in found:
                raise ValueError(f"The class {node!r} occurs twice in the tree.")
            found[node] = above
            if isinstance(node, _Inner):
                gather(one, node, node.place)

    gather(given, None, ())
    return found


def _path(node: Any, parents: Mapping[Any, Any]) -> list[Any]:
    """From the root's child down to the node."""
    path: list[Any] = []
    while node is not None:
        if node in path:
            raise ValueError(f"The tree has a cycle: {' → '.join(repr(one) for one in [*path, node])}.")
        path.append(node)
        node = parents[node]
    return path[::-1]


# -- training --------------------------------------------------------------------------------------------------------


@dataclass
class TreeState:
    """The vectors of all nodes, (V, d), or (d, V) when `by_feature`, and their biases."""

    tree: Tree
    coef: Annotated[Array, floats("height", "width")]
    intercept: Annotated[Array, floats("nodes")]
    total: Annotated[Array, doubles("summed height", "summed width")]  # Σ clock·Δ for the average, else empty
    total_b: Annotated[Array, doubles("summed nodes")]
    seed: int
    epoch: int = 0
    by_feature: bool = False
    tally: Annotated[Array, TALLY] = field(default_factory=lambda: np.zeros(len(Count)))

    def check(self, nodes: int, d: int) -> None:
        """Weights in one of the layouts, and sums like them or none."""
        must(self.coef.shape == ((d, nodes) if self.by_feature else (nodes, d)), f"weights of {nodes} nodes")
        must(self.coef.dtype == self.intercept.dtype, "one dtype")
        average = self.total_b.size > 0
        must(self.total.shape == (self.coef.shape if average else (0, 0)), "sums of an average")
        must(self.total_b.size == (nodes if average else 0), "sums of an average")

    def copy(self) -> TreeState:
        """An independent copy."""
        arrays = ("coef", "intercept", "total", "total_b", "tally")
        return replace(self, **{name: getattr(self, name).copy() for name in arrays})

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.tally[Count.UPDATES])

    @property
    def dtype(self) -> Any:
        """The type of the weights."""
        return self.coef.dtype

    def kept(self) -> Planes:
        """One plane per class, the sum over its path; for two classes the difference."""
        return self._planes(self.total_b.size > 0)

    def last(self) -> Planes:
        """The last iterate, even if the model is the average."""
        return self._planes(False)

    def _planes(self, average: bool) -> Planes:
        clock = max(self.tally[Count.CLOCK], 1.0)
        w, b = self.coef, self.intercept
        if average:
            w, b = w - self.total / clock, b - self.total_b / clock
        paths = self.tree.on.astype(np.float64)
        K = paths.shape[0]
        if K == 2:
            paths = paths[1:] - paths[:1]
        coef = paths @ (w.T if self.by_feature else w)
        scheme = TWO if K == 2 else JOINT
        return Planes(coef.astype(self.dtype), (paths @ b).astype(self.dtype), scheme, K)


def new_tree_state(tree: Tree, d: int, dtype: Any, seed: int, average: bool) -> TreeState:
    """The state with all vectors at zero."""
    V = tree.on.shape[1]
    total, total_b = np.zeros((V, d) if average else (0, 0)), np.zeros(V if average else 0)
    return TreeState(tree, np.zeros((V, d), dtype), np.zeros(V, dtype), total, total_b, seed)


def _branches(state: TreeState, rows: Any) -> TreeNodes:
    """The state's arrays in the form that the loop takes for such rows."""
    if isinstance(rows, Sparse) != state.by_feature:
        state.coef, state.total = np.ascontiguousarray(state.coef.T), np.ascontiguousarray(state.total.T)
        state.by_feature = not state.by_feature
    K, V = state.tree.on.shape
    scores = (np.zeros(V, state.dtype), np.zeros(K))
    return TreeNodes(state.coef, state.intercept, state.total, state.total_b, *scores, state.tree.on)


def visit_rows(problem: Problem, piece: Array, plan: TreePlan, state: TreeState, repeats: VisitLimit) -> None:
    """Learn from these rows, one by one."""
    how = TreeSettings(float(squared_bias_feature(plan.bias, 0.0)))
    learner, tally = _branches(state, problem.rows), state.tally
    most = rows_per_call(problem.per_row * state.intercept.size)
    tally[Count.POSITION] = 0.0
    repeats.begin(piece.size)
    while tally[Count.POSITION] < piece.size:
        visits = repeats.few(most)
        left = sweep(learner, problem.task, piece, how, tally, NO_LOG, visits)
        repeats.spend(visits - left)


@dataclass(frozen=True, kw_only=True)
class TreePlan(Plan):
    """The tree as it was given, and the bias."""

    tree: Any = None
    bias: str | float = "unit"

    @property
    def needs(self) -> Needs:
        """Vectors of nodes do not mix."""
        return Needs(self.why_not_in_parts, "only weights of linear learners can be mixed", radius=True)

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """Classes are compared with each other."""
        return TWO if classes == 2 else JOINT

    def new_state(self, source: Source, seed: int, weights: Any = None) -> TreeState:
        """All vectors at zero."""
        facts = source.facts
        assert facts.classes is not None
        tree = make_tree(self.tree, facts.classes.tolist())
        return new_tree_state(tree, facts.n_features, facts.dtype, seed, self.keep == "average")

    def follow(self, state: TreeState) -> TreeSolver:
        """The only solver."""
        return TreeSolver(self, state)

    def refuse_change(self, state: TreeState) -> None:
        """`keep` stays as it was."""
        if (state.total_b.size > 0) != (self.keep == "average"):
            raise ValueError(f"keep must not change between calls of partial_fit; it is now {self.keep!r}.")


@dataclass(frozen=True, kw_only=True)
class TreeReport(Report):
    """How the fit of a tree of classes ended.

    Attributes
    ----------
    tree_distance : float
        Mean number of tree edges between the true and the predicted class over the training rows, by weight.
    """

    tree_distance: float = float("nan")

    def __str__(self) -> str:
        """The report in words."""
        right = "" if self.errors is None else f", accuracy {1 - self.errors / self.rows:.4f}"
        return f"{super().__str__()}\n  tree     {self.tree_distance:.4g} edges from the truth on average{right}"


class TreeSolver(Solver):
    """Makes passes until every row is classified correctly."""

    finished = "separated"
    state: TreeState

    def __init__(self, plan: TreePlan, state: TreeState) -> None:
        self.plan, self.state = plan, state

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass over all parts."""
        state, tally = self.state, self.state.tally
        tally[[Count.VIOLATIONS, Count.LOSS, Count.LEFT]] = 0.0
        repeats = VisitLimit(source.facts.rows)
        for examples in source.parts(state.epoch):
            before, problem = state.updates, whole_problem(examples, JOINT)
            for piece in self.plan.visits(problem, state, source.whole, state.intercept.size):
                visit_rows(problem, piece, self.plan, state, repeats)
            yield PartOfEpoch(examples.target.shape[0], state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The mean loss, and whether every row is classified correctly."""
        tally = self.state.tally
        converged = tally[Count.VIOLATIONS] == 0 and (self.plan.covers or self.clean(source))
        errors = errors_in(source, self.model()) if self.plan.record_errors else None
        return Ending(float(tally[Count.LOSS] / max(source.facts.mass, 1e-300)), bool(converged), errors)

    def clean(self, source: Source) -> bool:
        """Whether the last iterate classifies every row correctly."""
        return errors_in(source, self.state.last()) == 0

    @property
    def described(self) -> dict[str, Any]:
        """The tree edges between classes."""
        return {"distances_": self.state.tree.distances()}

    def conclude(self, source: Source, report: Report, kept: Planes) -> TreeReport:
        """Errors, margin and tree distance, by a scan of all rows."""
        (seen,) = scan(source, MISTAKE, kept)
        length, outcome = math.sqrt(float(lengths2(kept.coef).sum())), report.outcome
        if outcome == "budget" and (seen.errors == 0 if self.plan.keep == "last" else self.clean(source)):
            outcome = self.finished  # the last epoch made updates, but no row is wrong after it
        far, mass = np.sum(list(source.ask(Distance(kept, self.state.tree))), axis=0)
        found = {"outcome": outcome, "errors": seen.errors, "margin": float(seen.lows[0]) / length if length else 0.0}
        return TreeReport(**report.__dict__ | found, tree_distance=float(far / mass))


@dataclass(frozen=True)
class Distance:
    """The weighted sum of γ(y, ŷ), and the sum of the weights."""

    planes: Planes
    tree: Tree

    def __call__(self, examples: Examples, shard: int) -> tuple[float, float]:
        """The sums over these examples."""
        distances, total, problem = self.tree.distances(), 0.0, whole_problem(examples, JOINT)
        for index in problem.pieces(self.planes.classes):
            predicted = decide(self.planes.scores(problem.rows, index))
            total += float(problem.mass(index) @ distances[problem.truth[index], predicted])
        return total, problem.total
