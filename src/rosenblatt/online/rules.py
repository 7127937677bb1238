"""Update rules as data: what one example does to w.

All first-order rules have the same form. With the margin m = y·f (two classes) or m = s_y − max s_r (many) and the
required margin τ, a row whose margin is short by ℓ = τ − m ≥ 0 makes the step

    w += size · y · x          b += size · y · c²         c² = 0 (no bias), 1 (unit), R² (radius) or any number

and a rule only defines `size`; the bias is a feature of value c, whose weight is b/c. A rule encodes itself as
`Encoded`: an integer and a few numbers, which are all that compiled code sees. To add a rule, add a class here and a
line in `step_size` (CONTRIBUTING.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee
from rosenblatt.compiled.step_sizes import aggressive_step
from rosenblatt.learn.evaluation import Criterion
from rosenblatt.planes.covariance import Covariance, DiagonalCorrelation, DiagonalCovariance, FullCovariance

PERCEPTRON, PASSIVE_AGGRESSIVE, AROW, SECOND_ORDER = range(4)
CONSTANT, HARMONIC, ROOT = range(3)  # the rate at update t: η, 1/t, 1/√t


class Encoded(NamedTuple):
    """A rule and its settings in one epoch, encoded for compiled code."""

    code: int
    low: float  # τ of the negative class
    high: float  # τ of the positive class
    cap: float  # the largest passive-aggressive step
    extra: float  # added to ‖x̂‖² (PA-II) or to xᵀΣx (r of AROW)
    tube: float  # ε of regression, below 0 for classification
    eta: float
    decay: int
    bias: float  # c²; of second-order rules 0 or 1, the value of the bias feature


class Rule:
    """What one example does to w, as data."""

    order = 1  # first-order: w, but no covariance
    full: bool = False  # whether a covariance has all pairs of features

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule for compiled code."""
        raise NotImplementedError

    def covariance(self, K: int, d: int, bias: float, dtype: Any) -> Covariance | None:
        """The covariance of K classes at the start; None for a first-order rule."""
        return None

    @cached_property
    def criterion(self) -> Criterion:
        """What counts as wrong for this rule."""
        return criterion_of(self.encode(1.0, CONSTANT, 0.0))


def criterion_of(rule: Encoded) -> Criterion:
    """What counts as wrong for a rule: a perceptron's rows must clear their margin, the others' rows only 0."""
    perceptron = rule.code == PERCEPTRON
    return Criterion(rule.low, rule.high, rule.tube, perceptron or rule.code == SECOND_ORDER, perceptron)


@dataclass(frozen=True)
class PerceptronRule(Rule):
    """size = η if y·f ≤ τ_y: Rosenblatt's rule for τ = 0, PAUM's otherwise.

    References: F. Rosenblatt 1958; Y. Li et al., "The perceptron algorithm with uneven margins", 2002.
    """

    low: float = 0.0
    high: float = 0.0

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule for compiled code."""
        return Encoded(PERCEPTRON, float(self.low), float(self.high), 0.0, 0.0, -1.0, float(eta), decay, float(bias))


@dataclass(frozen=True)
class PassiveAggressiveRule(Rule):
    """size = ℓ/‖x̂‖² (PA), min(C, ℓ/‖x̂‖²) (PA-I) or ℓ/(‖x̂‖² + 1/(2C)) (PA-II), ℓ = 1 − y·f or |y − f| − ε.

    All three are `passive_aggressive_step`. x̂ is x with the bias as a feature, so that an unclipped step ends at a
    margin of exactly 1. With many classes the weights of two change by x each, and ‖x̂‖² counts twice.

    Reference: K. Crammer et al., "Online passive-aggressive algorithms", JMLR 7, 2006.
    """

    variant: str = "PA-I"
    C: float = 1.0
    epsilon: float = -1.0

    def cap_and_extra(self, C: Any) -> tuple[Any, Any]:
        """The two numbers of the step; C is a float or, for exact arithmetic, a fraction."""
        return {"PA": (math.inf, 0), "PA-I": (C, 0), "PA-II": (math.inf, 1 / (2 * C))}[self.variant]

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule for compiled code."""
        cap, extra = map(float, self.cap_and_extra(float(self.C)))
        epsilon = float(self.epsilon)
        return Encoded(PASSIVE_AGGRESSIVE, 1.0, 1.0, cap, extra, epsilon, 1.0, CONSTANT, float(bias))


@dataclass(frozen=True)
class AROWRule(Rule):
    """If y·f < 1: v = xᵀΣx, β = 1/(v + r), w += (1 − y·f) β y Σx, Σ −= β Σx xᵀΣ; Σ = I at the start.

    Reference: K. Crammer, A. Kulesza, M. Dredze, "Adaptive regularization of weight vectors", 2009.
    """

    r: float = 1.0
    full: bool = False
    order = 2

    def covariance(self, K: int, d: int, bias: float, dtype: Any) -> Covariance:
        """Σ = I."""
        return (FullCovariance if self.full else DiagonalCovariance).start(K, d, 1.0, bias, dtype)

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule for compiled code."""
        return Encoded(AROW, 1.0, 1.0, math.inf, float(self.r), -1.0, 1.0, CONSTANT, float(bias > 0))


@dataclass(frozen=True)
class SecondOrderRule(Rule):
    """f = vᵀ(A + xxᵀ)⁻¹x; on a mistake v += yx, A += xxᵀ; A = aI at the start.

    With Σ = A⁻¹, q = xᵀΣx and w = Σv (Sherman and Morrison) f has the sign of w·x, and the update is
    w += y(1 − y w·x)Σx/(1 + q), Σ −= ΣxxᵀΣ/(1 + q): AROW's step with r = 1, made on mistakes only.
    The diagonal form stores v and the diagonal a of A, and predicts with the plane v/a.

    Reference: N. Cesa-Bianchi, A. Conconi, C. Gentile, "A second-order perceptron algorithm", SIAM J. Comput. 34, 2005.
    """

    a: float = 1.0
    full: bool = False
    order = 2

    def covariance(self, K: int, d: int, bias: float, dtype: Any) -> Covariance:
        """Σ = I/a, or A = aI in the diagonal form."""
        if self.full:
            return FullCovariance.start(K, d, 1.0 / self.a, bias, dtype)
        return DiagonalCorrelation.start(K, d, self.a, bias, dtype)

    def encode(self, eta: float, decay: int, bias: float) -> Encoded:
        """The rule for compiled code."""
        return Encoded(SECOND_ORDER, 0.0, 0.0, math.inf, 1.0, -1.0, 1.0, CONSTANT, float(bias > 0))


# -- the rule in compiled code -------------------------------------------------------------------------------------


@callee
def step_size(rule: Encoded, lack: float, q: float, updates: float) -> float:
    """The step size of the rule for a row whose margin is short by `lack` ≥ 0; q = ‖z‖² of the whole step."""
    if rule.code == PERCEPTRON:
        if rule.decay == HARMONIC:
            return 1.0 / (updates + 1.0)
        if rule.decay == ROOT:
            return float(1.0 / np.sqrt(updates + 1.0))
        return rule.eta
    return aggressive_step(lack, q, rule.cap, rule.extra)  # type: ignore[no-any-return]


@callee
def violates(rule: Encoded, margin: float, lack: float) -> bool:
    """Whether the row shows that the learner has not converged: not above its margin, for PA and AROW not above 0.

    A margin of NaN does.
    """
    if rule.code == PERCEPTRON:
        return not lack < 0.0
    if rule.tube >= 0.0:
        return not lack <= 0.0
    return not margin > 0.0
