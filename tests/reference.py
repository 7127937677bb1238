"""The slow twin: every learning rule once more, in plain Python, to hold the compiled loops against.

Nothing here is clever, and nothing is shared with what it checks. A weight vector is a list, an average is the sum of
every w there was, divided; a vote keeps every w; the second-order perceptron inverts its matrix at every row. The
first-order learners compute in whatever numbers they are given: ints, floats or `fractions.Fraction`.

Conventions (the tie rule is in `rosenblatt.compiled.tie_rule`): two classes are sides +1 and −1, and y·f ≤ τ is a
mistake; of many classes the largest score wins, the lowest index among equals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference_rules import AROW, PassiveAggressive, Perceptron, Row, Rule, SecondOrder, Vector, Wish, dot

__all__ = ["AROW", "PassiveAggressive", "Perceptron", "SecondOrder"]  # beside what stands here

# -- what a row asks for ---------------------------------------------------------------------------------------------


def wishes(scores: Vector, truth: Any, rule: Rule, scheme: str) -> list[Wish]:
    """All that the row may ask for, whether or not the rule grants it: one wish, or one a column."""
    if scheme == "regression":
        gap = truth - scores[0]
        return [Wish([(0, 1 if gap > 0 else -1)], -abs(gap), abs(gap) + rule.asked(1))]
    if scheme == "one":
        return [Wish([(0, truth)], truth * scores[0], rule.asked(truth) - truth * scores[0])]
    if scheme == "multinomial":
        others = [k for k in range(len(scores)) if k != truth]
        rival = max(others, key=lambda k: (scores[k], -k))
        margin = scores[truth] - scores[rival]
        return [Wish([(truth, 1), (rival, -1)], margin, rule.asked(1) - margin)]
    found = []
    for k, score in enumerate(scores):  # "ovr"
        side = sided(truth, k)
        found.append(Wish([(k, side)], side * score, rule.asked(side) - side * score))
    return found


def sided(truth: Any, k: int) -> int:
    """+1 when the row belongs to class k: truth is a code, or a list of 0 and 1, one a label."""
    on = truth == k if isinstance(truth, int) else truth[k] != 0
    return 1 if on else -1


def stands(wish: Wish, rule: Rule, scheme: str) -> bool:
    """The tie rule of many classes: level with its rival, the true class wins when its index is lower."""
    if scheme != "multinomial" or rule.asked(1) != 0 or wish.margin != 0:
        return False
    (true, _), (rival, _) = wish.moves
    return true < rival


def granted(wish: Wish, rule: Rule, scheme: str) -> bool:
    return rule.learns(wish.margin, wish.lack) and not stands(wish, rule, scheme)


def content(wish: Wish, rule: Rule, scheme: str) -> bool:
    """Whether the row is where a converged learner has it."""
    return rule.satisfied(wish.margin, wish.lack) or stands(wish, rule, scheme)


def plane_scores(planes: tuple[list[Vector], Vector], x: Row) -> Vector:
    return [dot(w, x) + b for w, b in zip(*planes, strict=True)]


def is_wrong(scores: Vector, truth: Any, scheme: str) -> bool:
    """Whether the answer is wrong; for two classes, and for labels, a tie is."""
    if scheme == "one":
        return truth * scores[0] <= 0
    if isinstance(truth, int):
        return max(range(len(scores)), key=lambda k: (scores[k], -k)) != truth
    return any(sided(truth, k) * score <= 0 for k, score in enumerate(scores))


# -- training --------------------------------------------------------------------------------------------------------


@dataclass
class Survivor:
    """One w of the voted perceptron and the visits it survived."""

    planes: tuple[list[Vector], Vector]
    votes: Any = 0


@dataclass
class Pocket:
    planes: tuple[list[Vector], Vector]
    errors: Any = math.inf
    run: Any = 0  # visits since the last update
    best: Any = 0  # the longest run of what is in the pocket
    held: bool = False  # w is in the pocket
    checked: bool = False  # w was looked at and left out


@dataclass
class Machine:
    """One learner, the rows it learns from, and everything that `keep` may ask for."""

    learner: Any
    X: Sequence[Row]
    truth: Sequence[Any]
    rows: list[int]
    weights: Sequence[Any]
    rule: Rule
    scheme: str
    keep: str
    moves: list[int] = field(init=False)  # updates, one count for planes that move together
    clock: Any = 0
    loss: Any = 0
    upset: bool = False  # a visit of this epoch showed that the learner has not converged
    total: tuple[list[Vector], Vector] = field(init=False)
    groups: list[list[int]] = field(init=False)  # planes that vote together
    ballots: list[list[Survivor]] = field(init=False)  # one a group
    pocket: Pocket = field(init=False)

    def __post_init__(self) -> None:
        w, b = self.learner.planes()
        self.total = [[0 * v for v in row] for row in w], [0 * v for v in b]
        every = range(len(b))
        self.groups = [[k] for k in every] if self.scheme == "ovr" else [list(every)]
        self.moves = [0] * len(self.groups)
        self.ballots = [[Survivor(self._part(group))] for group in self.groups]
        self.pocket = Pocket((w, b))

    @property
    def updates(self) -> int:
        return sum(self.moves)

    def _group(self, k: int) -> int:
        return k if self.scheme == "ovr" else 0

    def _part(self, group: list[int]) -> tuple[list[Vector], Vector]:
        w, b = self.learner.planes()
        return [w[k] for k in group], [b[k] for k in group]

    # -- one row -----------------------------------------------------------------------------------------------------

    def show(self, i: int, epoch: int) -> None:
        """A row of weight s: ⌈s⌉ visits, the last with the remaining fraction, none after one that changes nothing."""
        left = self.weights[i]
        while left > 0:
            share = min(left, 1)
            moved = self._visit(i, share, epoch)
            lived = share if moved else left
            self._remember(lived, moved)
            left -= lived
        self._try_pocket()

    def _visit(self, i: int, share: Any, epoch: int) -> set[int]:
        """The planes that moved."""
        moved = set()
        x, truth = self.X[i], self.truth[i]
        for wish in wishes(self.learner.scores(x), truth, self.rule, self.scheme):
            if not content(wish, self.rule, self.scheme):
                self.upset = True
            if not granted(wish, self.rule, self.scheme):
                continue
            self.loss += share * wish.lack
            group = self._group(wish.moves[0][0])
            if self.learner.step(x, wish, share, self.moves[group] + 1, epoch):
                self.moves[group] += 1
                moved |= {k for k, _ in wish.moves}
        return moved

    def _remember(self, lived: Any, moved: set[int]) -> None:
        """Averages, votes and runs after a visit of weight `lived`."""
        self.clock += lived
        if self.keep == "average":
            w, b = self.learner.planes()
            self.total = (
                [[s + lived * v for s, v in zip(*pair, strict=True)] for pair in zip(self.total[0], w, strict=True)],
                [s + lived * v for s, v in zip(self.total[1], b, strict=True)],
            )
        if self.keep == "vote":
            for group, ballot in zip(self.groups, self.ballots, strict=True):
                if moved.intersection(group):
                    ballot.append(Survivor(self._part(group)))
                else:
                    ballot[-1].votes += lived
        pocket = self.pocket
        if moved:
            if pocket.held:
                pocket.best = pocket.run
            pocket.run, pocket.held, pocket.checked = 0, False, False
        else:
            pocket.run += lived

    def _try_pocket(self) -> None:
        """Gallant's ratchet: a longer run, and strictly fewer errors on all rows."""
        pocket = self.pocket
        if not pocket.held and not pocket.checked and pocket.run > pocket.best:
            self._offer()

    def _offer(self) -> None:
        if self.keep != "pocket":
            return
        pocket, planes = self.pocket, self.learner.planes()
        errors = sum(
            self.weights[i] for i in self.rows if is_wrong(plane_scores(planes, self.X[i]), self.truth[i], self.scheme)
        )
        pocket.held = errors < pocket.errors
        pocket.checked = not pocket.held
        if pocket.held:
            pocket.planes, pocket.errors = planes, errors

    # -- one epoch ---------------------------------------------------------------------------------------------------

    def pass_over(self, order: Sequence[int], epoch: int) -> bool:
        """Visit rows in this order; whether the learner has converged."""
        self.loss, self.upset = 0, False
        for i in order:
            self.show(i, epoch)
        done = not self.upset and self.clean()
        if done and not self.pocket.held:
            self._offer()  # a plane known to be clean, however short its run
        return done

    def clean(self) -> bool:
        """Whether the plane, as it is, has every row where it should be."""
        return all(content(wish, self.rule, self.scheme) for i in self.rows for wish in self.asked_of(i))

    def asked_of(self, i: int) -> list[Wish]:
        return wishes(plane_scores(self.learner.planes(), self.X[i]), self.truth[i], self.rule, self.scheme)

    def pick(self, worst: bool, epoch: int) -> bool:
        """PLA: one row, the first that the rule would learn from, or the one that lacks most."""
        self.loss, self.upset = 0, False
        needs = {}
        for i in self.rows:
            lacks = [wish.lack for wish in self.asked_of(i) if granted(wish, self.rule, self.scheme)]
            if lacks and (any(self.X[i]) or self.learner.c):  # x̂ = 0 moves nothing
                needs[i] = max(lacks)
        if not needs:
            return self.clean()
        self.show(max(needs, key=lambda i: (needs[i], -i)) if worst else min(needs), epoch)
        self._offer()  # the scan makes up for the runs that there are not
        return False

    def batch(self, epoch: int) -> bool:
        """w += (η/N)·Σ ±x over the rows that lack margin, each plane with its own; a line search goes by their mean."""
        self.loss, K = 0, len(self.learner.b)
        moves = [[0] * len(self.X[0]) for _ in range(K)]
        shifts, masses = [0] * K, [0] * K
        for i in self.rows:
            for wish in self.asked_of(i):
                if not granted(wish, self.rule, self.scheme):
                    continue
                self.loss += self.weights[i] * wish.lack
                for k, sign in wish.moves:
                    moves[k] = [m + self.weights[i] * sign * p for m, p in zip(moves[k], self.X[i], strict=True)]
                    shifts[k] += self.weights[i] * sign * self.learner.c
                # A step of many classes is one step of W: its mean is over all rows that move any of it.
                for k in range(K) if self.scheme == "multinomial" else [wish.moves[0][0]]:
                    masses[k] += self.weights[i]
        if any(masses):
            if self.rule.rate != "line-search":
                masses = [sum(self.weights[i] for i in self.rows) * bool(mass) for mass in masses]
            moves = [[m / mass if mass else m for m in move] for move, mass in zip(moves, masses, strict=True)]
            shifts = [shift / mass if mass else shift for shift, mass in zip(shifts, masses, strict=True)]
            self._move(moves, shifts, self._batch_rates(moves, shifts, epoch))
            for group, planes in enumerate(self.groups):
                self.moves[group] += any(masses[k] for k in planes)
        self._remember(1, set(range(K)) if any(masses) else set())
        if any(masses):
            self._offer()  # a batch has no runs: every w is looked at
        return not any(masses)

    def _move(self, moves: list[Vector], shifts: Vector, etas: list[Any]) -> None:
        at = self.learner
        at.w = [
            [v + eta * m for v, m in zip(w, move, strict=True)] for w, move, eta in zip(at.w, moves, etas, strict=True)
        ]
        at.b = [b + eta * shift for b, shift, eta in zip(at.b, shifts, etas, strict=True)]

    def _batch_rates(self, moves: list[Vector], shifts: Vector, epoch: int) -> list[Any]:
        """One rate a plane."""
        every = range(len(shifts))
        if self.rule.rate != "line-search":
            return [self.rule.size(0, 0, self.moves[self._group(k)] + 1, epoch) for k in every]
        if not any(self.learner.b) and not any(map(any, self.learner.w)):
            return [1.0 for _ in every]

        def loss(eta: float) -> float:
            before = self.learner.planes()
            self._move(moves, shifts, [eta for _ in every])
            lacks = [self.weights[i] * max(wish.lack, 0) for i in self.rows for wish in self.asked_of(i)]
            self.learner.w, self.learner.b = before
            return sum(lacks)

        eta = 1.0
        while 2 * eta <= math.sqrt(2 * (max(self.moves) + 1)) and loss(2 * eta) < loss(eta):
            eta *= 2
        while eta <= 1 and eta / 2 >= 1 / 1024 and loss(eta / 2) < loss(eta):
            eta /= 2
        return [eta for _ in every]

    def kept(self) -> tuple[list[Vector], Vector]:
        if self.keep == "average":
            (w, b), visits = self.total, self.clock or 1
            return [[v / visits for v in row] for row in w], [v / visits for v in b]
        return self.pocket.planes if self.keep == "pocket" else self.learner.planes()


Order = Callable[[int, list[int]], Sequence[int]]


def cyclic(epoch: int, rows: list[int]) -> Sequence[int]:
    """Rows as given. An order is a function of the epoch, from 0, and the rows that take part."""
    return rows


def explicit(sequence: Sequence[int]) -> Order:
    return lambda epoch, rows: [i for i in sequence if i in rows]


@dataclass
class Outcome:
    machines: list[Machine]
    updates: list[int]  # of each epoch
    losses: list[float]  # mean loss of each epoch
    converged: bool

    @property
    def coef(self) -> list[Vector]:
        return [w for machine in self.machines for w in machine.kept()[0]]

    @property
    def intercept(self) -> Vector:
        return [b for machine in self.machines for b in machine.kept()[1]]

    def scores(self, x: Row) -> Vector:
        return plane_scores((self.coef, self.intercept), x)

    def votes(self, x: Row, machine: int = 0) -> Vector:
        """The ballot: Σ ±c for a plane (a score of 0 votes −), or c for the best class of each W."""
        found = []
        for ballot in self.machines[machine].ballots:
            if len(ballot[0].planes[1]) == 1:
                found.append(sum(s.votes if plane_scores(s.planes, x)[0] > 0 else -s.votes for s in ballot))
                continue
            found = [0] * len(ballot[0].planes[1])
            for survivor in ballot:
                scores = plane_scores(survivor.planes, x)
                found[max(range(len(scores)), key=lambda k: (scores[k], -k))] += survivor.votes
        return found


def pairs(classes: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(classes) for b in range(a + 1, classes)]


def pair_winner(scores: Vector, classes: int) -> int:
    """One-vs-one: most duels won, then the larger sum of scores, then the lower class.

    A duel at 0 is won by nobody: no class may win by where it stands.
    """

    def duels(k: int) -> Vector:
        """What k's own duels say of it, positive for k."""
        mine = zip(pairs(classes), scores, strict=True)
        return [score if k == b else -score for (a, b), score in mine if k in (a, b)]

    return max(range(classes), key=lambda k: (sum(score > 0 for score in duels(k)), sum(duels(k)), -k))


def train(
    X: Sequence[Row],
    truth: Sequence[Any],
    rule: Rule,
    *,
    scheme: str = "one",  # "one" (±1), "regression", "multinomial" or "ovo" (codes), "ovr" (codes or lists of 0/1)
    classes: int = 2,
    bias: Any = "unit",
    order: Order | str = cyclic,  # or "first", "worst", "batch"
    keep: str = "last",
    weights: Sequence[Any] | None = None,
    start: tuple[list[Vector], Vector] | None = None,
    epochs: int = 1,
    stop: bool = True,
) -> Outcome:
    """Train for so many epochs, or (`stop`) until converged."""
    weights = [1] * len(X) if weights is None else weights
    present = [i for i in range(len(X)) if weights[i] > 0]
    radius2 = max(dot(X[i], X[i]) for i in present)
    c = {"none": 0, "unit": 1, "radius": radius2}.get(bias, bias)
    machines = []
    for a, b in pairs(classes) if scheme == "ovo" else [(0, 1)]:
        mine, rows, kind, K = truth, present, scheme, 1
        if scheme == "ovo":
            kind, rows = "one", [i for i in present if truth[i] in (a, b)]
            mine = [1 if code == b else -1 for code in truth]
        elif scheme in ("multinomial", "ovr"):
            K = classes
        learner = rule.learner(K, len(X[0]), c, kind)
        if start is not None:
            at = len(machines)
            learner.w, learner.b = [list(w) for w in start[0][at : at + K]], list(start[1][at : at + K])
        machines.append(Machine(learner, X, mine, rows, weights, rule, kind, keep))
    outcome = Outcome(machines, [], [], False)
    for epoch in range(epochs):
        before = sum(machine.updates for machine in machines)
        done, loss = [], 0.0
        for machine in machines:
            if not machine.rows:
                continue
            if order == "batch":
                done.append(machine.batch(epoch + 1))
            elif isinstance(order, str):
                done.append(machine.pick(order == "worst", epoch + 1))
            else:
                done.append(machine.pass_over(order(epoch, machine.rows), epoch + 1))
            loss += machine.loss / sum(weights[i] for i in machine.rows)
        outcome.updates.append(sum(machine.updates for machine in machines) - before)
        outcome.losses.append(loss)
        outcome.converged = all(done)
        if outcome.converged and stop:
            break
    return outcome
