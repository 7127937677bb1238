"""The plan of learners that minimise an objective: loss, penalty and schedule, and which solver minimises it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.evaluation import DECISION, Criterion
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.plan import Needs, class_count
from rosenblatt.learn.schemes import JOINT, REST, TWO, Scheme
from rosenblatt.objective.gradient_descent import GradientSolver
from rosenblatt.objective.losses import CODES, LOSSES, Loss
from rosenblatt.objective.minibatch_solver import MOST_ITERATIONS, MiniBatchSolver, default_passes
from rosenblatt.objective.penalties import PENALTIES, Penalty
from rosenblatt.objective.proximal_gradient import BatchSolver
from rosenblatt.objective.stochastic import StochasticSolver
from rosenblatt.objective.stochastic_visits import (
    FIXED,
    HARMONIC,
    MARGIN,
    RESIDUAL,
    ROOT,
    SOFTMAX,
    DescentSettings,
)
from rosenblatt.planes.linear_plan import LinearPlan, LinearSolver
from rosenblatt.planes.state import State

Array = np.ndarray[Any, Any]
MINIBATCH = ("minibatch", "minibatch+lbfgs")
WHOLE = ("batch", "gradient", *MINIBATCH)  # solvers that need all rows
MOST_BATCH_PRODUCTS = 2_000_000  # of values and weights per epoch, up to which solver="auto" is "batch"
ORDERED = "its order needs all rows at once"
BIAS_CURVATURE = 0.01  # the curvature that the schedule of the unpenalised intercept assumes


@dataclass(frozen=True, kw_only=True)
class ObjectivePlan(LinearPlan):
    """The objective and how it is minimised."""

    rate: float | str | Callable[[int], float] = "optimal"
    solver: str = "stochastic"
    loss: str = "log"
    penalty: str | None = "l2"
    alpha: float = 1e-4
    ratio: float = 0.15
    width: float = 0.1
    tol: float = 1e-4
    patience: int = 5

    @property
    def criterion(self) -> Criterion:
        """A row is wrong as `predict` decides; a number, if it is outside the tube of the loss."""
        if self.loss_class.of == "margin":
            return DECISION
        return Criterion(tube=self.width if self.loss == "epsilon_insensitive" else 0.0, tie_is_mistake=False)

    @property
    def counts_errors(self) -> bool:
        """Whether rows can be wrong: of numbers, only those outside a tube are."""
        return not self.criterion.numbers or self.loss == "epsilon_insensitive"

    @property
    def needs(self) -> Needs:
        """Only steps per row can be made on parts of the rows; their size depends on max‖x‖."""
        if self.solver in WHOLE:
            return Needs(
                f"{{name}} cannot learn from files because its {self.solver} solver needs all rows at once: use fit, "
                "in memory.",
                f'solver="{self.solver}" needs all rows: use solver="stochastic"',
                radius=True,
            )
        return Needs(self.why_not_in_parts, None if isinstance(self.order, str) else ORDERED, radius=True)

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """Softmax for the log loss, unless one-vs-rest was chosen; one-vs-rest for the others."""
        if self.loss_class.of == "residual" or (classes <= 2 and not labels):
            return TWO
        return JOINT if self.loss == "log" and self.multiclass != "ovr" and not labels else REST

    def limit(self, facts: Facts) -> int:
        """The maximum number of epochs; of mini-batches, three or as many as make 640 steps."""
        if self.solver not in MINIBATCH:
            return super().limit(facts)
        passes = default_passes(facts.rows)
        return self.max_epochs or (passes if self.solver == "minibatch" else passes + MOST_ITERATIONS)

    def visits_rows(self, products: int) -> bool:
        """Whether a fit makes one step per row; `products` are the stored values, times the planes."""
        if self.solver != "auto":
            return self.solver == "stochastic"
        ordered = not isinstance(self.order, str) or self.order != "shuffle"
        return products > MOST_BATCH_PRODUCTS or ordered or self.rate != "optimal"

    def follow(self, state: State) -> LinearSolver:
        """The solver by name; where it is "auto", rows come in parts, and each makes one step."""
        kinds: dict[str, Any] = {"batch": BatchSolver, "gradient": GradientSolver}
        return kinds.get(self.solver, StochasticSolver)(self, state)  # type: ignore[no-any-return]

    def start(self, source: Source, seed: int, weights: Any = None) -> LinearSolver:
        """The solver for rows in memory, chosen where it is "auto"."""
        state, facts = self.new_state(source, seed, weights), source.facts
        if self.solver in MINIBATCH:
            finish, limit = self.solver == "minibatch+lbfgs", self.limit(facts)
            passes = min(default_passes(facts.rows), limit) if finish else limit
            return MiniBatchSolver(self, state, passes, finish)
        products = facts.stored * state.scheme.planes(class_count(facts))
        if self.solver == "auto" and not self.visits_rows(products):
            return BatchSolver(self, state)
        return self.follow(state)

    @property
    def loss_class(self) -> type[Loss]:
        """The loss."""
        return LOSSES[self.loss]

    @property
    def penalty_class(self) -> type[Penalty]:
        """The penalty."""
        return PENALTIES[self.penalty]

    def penalty_of(self, coef: Array) -> float:
        """α·P(W)."""
        return self.penalty_class.value(coef.astype(np.float64), self.alpha, self.ratio)

    def past_burn_in(self, t: float, radius2: float) -> bool:
        """Whether the objective after t steps is past the burn-in, so that it can be used for stopping."""
        return True

    def descent_settings(self, epoch: int, reach: float, scheme: Scheme, visits: float = 1.0) -> DescentSettings:
        """Loss, penalty and schedule for compiled code; reach = max‖x‖², visits: the visits of an epoch.

        "optimal" is η = 1/(α(t + t₀)), with t₀ such that the first step overshoots on no row. The intercept has its own
        step size, which starts at half of what would not overshoot and decreases as if it were penalised. Without a
        penalty both decrease with the square root of the epochs.
        """
        l1, l2 = self.penalty_class.parts(self.alpha, self.ratio) or (0.0, 0.0)
        bias = 0.0 if self.bias == "none" else 1.0
        steep = self.loss_class.steep if math.isfinite(self.loss_class.steep) else 1.0
        bias_eta, strength = 1.0 / ((1.0 + bias) * steep), l1 + l2
        eta, power = bias_eta / max(reach, 1e-12), HARMONIC
        if not eta > 0.0:
            raise NotFiniteError("The squared length of a row overflows, so that no step size is small enough")
        fade, bias_fade = eta * strength, bias_eta * max(strength, BIAS_CURVATURE)
        if not strength:
            fade, bias_fade, power = 1.0 / visits, 1.0 / visits, ROOT
        if self.rate in ("1/t", "1/sqrt(t)"):
            eta, fade, power = 1.0, 1.0, HARMONIC if self.rate == "1/t" else ROOT
        elif not isinstance(self.rate, str):
            eta, fade, power = self.constant_rate(epoch), 0.0, FIXED
        if self.rate != "optimal":
            bias_eta, bias_fade = eta, fade
        kind = RESIDUAL if self.loss_class.of == "residual" else SOFTMAX if scheme.joint else MARGIN
        capped = not math.isfinite(self.loss_class.steep)
        return DescentSettings(
            CODES[self.loss], self.width, kind, capped, l1, l2, eta, fade, power, bias, bias_eta, bias_fade
        )

    def constant_rate(self, epoch: int) -> float:
        """η of this epoch: the given number, or the value of a callable."""
        eta = float(self.rate(epoch) if callable(self.rate) else self.rate)
        if not (math.isfinite(eta) and eta > 0):
            raise ValueError(f"learning_rate({epoch}) returned {eta}: a rate must be finite and above 0.")
        return eta
