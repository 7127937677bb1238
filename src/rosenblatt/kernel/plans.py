"""The plans of learners with kernels. Their kernel depends on the rows, which they need all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.kernel.budgets import BudgetSolver, BudgetState, new_budget_state
from rosenblatt.kernel.functions import Kernel, scale_gamma
from rosenblatt.kernel.perceptron import (
    KernelPerceptronSolver,
    KernelSolver,
    KernelState,
    largest_diagonal,
    new_kernel_state,
)
from rosenblatt.kernel.svm_dual import KernelDualSolver, KernelDualState, new_kernel_dual_state
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.plan import Needs, Plan, class_count

MOST_KERNELS = 2_000_000_000  # kernel values at most, if max_epochs is None
MOST_ROUNDS = 10_000
UNMIXED = "only weights of linear learners can be mixed"


@dataclass(frozen=True, kw_only=True)
class KernelPlan(Plan):
    """The kernel perceptron, with or without a limit of its support, `budget`; `memory` is in bytes."""

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: float = 3.0
    gamma: float | str = "scale"
    coef0: float = 0.0
    bias: str | float = "none"
    memory: float = 0.0
    budget: int | None = None
    budget_rule: str = "projectron++"
    eta: float = 0.1

    @property
    def needs(self) -> Needs:
        """All rows: any may join the support."""
        why = "{name} cannot learn from files because its support may be the whole file: use fit, in memory."
        return Needs(why, UNMIXED, radius=True)

    def limit(self, facts: Facts) -> int:
        """Fewer epochs of many rows, whose kernel values are their square."""
        few = 10 if self.keep == "vote" else max(10, MOST_KERNELS // facts.rows**2)
        return self.max_epochs or min(1_000, few)

    def kernel_for(self, examples: Examples) -> Kernel:
        """The kernel for such rows, without a bias."""
        return Kernel(self.kernel, self.degree, scale_gamma(self.gamma, examples), self.coef0)

    def new_state(self, source: Source, seed: int, weights: Any = None) -> Any:
        """Without support."""
        (examples,) = source.parts(0)
        kernel, scheme, classes = self.kernel_for(examples), self.scheme_of(source.facts), class_count(source.facts)
        reach2 = largest_diagonal(kernel, examples) if self.bias == "radius" else 0.0
        kernel = replace(kernel, shift=float(squared_bias_feature(self.bias, reach2)))
        if self.budget is None:
            return new_kernel_state(examples, kernel, scheme, self.keep, classes, seed)
        if scheme.joint:
            raise ValueError(f'max_support is for two classes; with {classes} classes give multiclass="ovr" or "ovo".')
        return new_budget_state(examples, kernel, scheme, classes, seed, self.budget_rule, self.budget, self.eta)

    def follow(self, state: KernelState | BudgetState) -> KernelSolver:
        """The solver for a support with or without a budget."""
        if isinstance(state, BudgetState):
            return BudgetSolver(self, state)
        return KernelPerceptronSolver(self, state)

    def refuse_change(self, state: KernelState | BudgetState) -> None:
        """`keep`, and whether there is a budget, stay as they were."""
        if state.keep != self.keep or isinstance(state, BudgetState) != (self.budget is not None):
            raise ValueError("keep and max_support must be what they were in the first call of partial_fit.")


@dataclass(frozen=True, kw_only=True)
class KernelDualPlan(KernelPlan):
    """The support vector machine with a kernel; the bias is free, or a feature of the kernel."""

    C: float = 1.0
    tol: float = 1e-4
    free: bool = False

    @property
    def needs(self) -> Needs:
        """All rows: each has a dual variable."""
        why = "{name} cannot learn from files because its dual needs all rows at once: use fit, in memory."
        return Needs(why, UNMIXED, radius=True)

    def limit(self, facts: Facts) -> int:
        """Rounds."""
        return self.max_epochs or MOST_ROUNDS

    def new_state(self, source: Source, seed: int, weights: Any = None) -> KernelDualState:
        """All α at 0."""
        (examples,) = source.parts(0)
        kernel = replace(self.kernel_for(examples), shift=float(squared_bias_feature(self.bias, 0.0)))
        facts = source.facts
        scheme, classes = self.scheme_of(facts), class_count(facts)
        return new_kernel_dual_state(examples, kernel, scheme, classes, self.C, seed, self.free)

    def follow(self, state: KernelDualState) -> KernelSolver:  # type: ignore[override]
        """The only solver."""
        return KernelDualSolver(self, state)
