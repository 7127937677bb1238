"""Checks of models with kernels: see `state_checks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.estimators.base.state_checks import (
    check_history,
    check_log,
    check_rows,
    check_scheme,
    class_count,
    is_array,
    is_count,
    is_number,
    must,
)
from rosenblatt.learn.counters import Count, check_tally
from rosenblatt.learn.kernel.budgets import BudgetState
from rosenblatt.learn.kernel.functions import GrowingRows, Kernel
from rosenblatt.learn.kernel.perceptron import KernelModel, KernelState

MOST_DEGREE = 1 << 31


def check_kernel_model(model: Any) -> None:
    """Support rows, their coefficients, and the state that they were taken from."""
    kept, classes, d = model._kept, class_count(model), model.n_features_in_
    must(isinstance(kept, KernelModel), "support rows")
    check_scheme(kept, classes, model._by_labels)
    _check_kernel(kept.kernel)
    check_rows(kept.support, d)
    S, K = kept.support.shape[0], kept.scheme.planes(classes)
    must(is_array(kept.coef, (S, K)), f"coefficients of shape {(S, K)}")
    must(kept.rows is None or is_array(kept.rows, (S,), "i"), "the numbers of support rows")
    together = kept.scheme.joint
    must(isinstance(kept.histories, tuple) and len(kept.histories) in (0, 1 if together else K), "histories")
    for history in kept.histories:
        width = K if together else 1
        check_history(history, S, width)
        must(is_array(history.coef, (width, 0)) and is_array(history.intercept, (width,)), "a start at zero")
    if "_state" in vars(model):
        state = model._state
        must(isinstance(state, KernelState | BudgetState), "a state")
        must(state.scheme == kept.scheme and state.classes == classes, "its own scheme")
        must(is_count(state.epoch) and is_count(state.seed) and is_number(state.reach2), "a seed and a radius")
        must(isinstance(state.whole, bool), "whether weights were whole numbers")
        must(state.dtype in (np.float32, np.float64), "rows of float32 or float64")
        _check_kernel(state.kernel)
        (_check_machines if isinstance(state, KernelState) else _check_budgeted)(state, d, K)


def _check_kernel(kernel: Any) -> None:
    must(isinstance(kernel, Kernel) and (callable(kernel.kind) or kernel.kind in ("linear", "poly", "rbf")), "a kernel")
    must(all(map(is_number, (kernel.degree, kernel.gamma, kernel.coef0, kernel.shift))), "the numbers of a kernel")
    must(abs(kernel.degree) < MOST_DEGREE, "a kernel of a degree that can be computed")


def _check_machines(state: KernelState, d: int, K: int) -> None:
    must(
        isinstance(state.support, GrowingRows) and is_count(state.updates) and is_count(state.computed), "support rows"
    )
    check_rows(state.support.rows, d)
    S = state.support.size
    must(state.keep in ("last", "average", "vote"), "what is kept")
    must(is_array(state.rows, (S,), "i"), "the numbers of support rows")
    for array in (state.beta, state.total):
        must(is_array(array, (S, K)) and array.dtype == np.float64, f"coefficients of shape {(S, K)}")
    clocks = 1 if state.scheme.joint else K
    must(is_array(state.clocks, (clocks,)) and state.clocks.dtype == np.float64, "clocks")
    for key, slot in state.slots.items():
        must(isinstance(key, bytes) and is_count(slot) and slot < S, "places of support rows")
    for part in state.log:
        must(is_array(part, (part.shape[0], 5)) and part.dtype == np.float64, "a log")
        check_log(part[:, 0].astype(np.int64), part[:, 1].astype(np.int64), (part[:, 2],), S, K)


def _check_budgeted(state: BudgetState, d: int, K: int) -> None:
    must(state.rule in ("forgetron", "projectron++") and state.keep == "last", "a rule of the budget")
    must(is_count(state.budget, 1) and is_number(state.eta) and state.reach2 > 0, "a budget")
    must(isinstance(state.machines, list) and len(state.machines) == K, f"{K} machines")
    must(not state.scheme.joint, "machines of two classes")
    for one in state.machines:
        check_rows(one.support, d)
        m = one.support.shape[0]
        inner = (m, m) if state.rule == "projectron++" else (0, 0)
        check_tally(one.tally)
        for array, shape in ((one.beta, (m,)), (one.gram, (m, m)), (one.inverse, inner)):
            must(is_array(array, shape) and array.dtype == np.float64, f"an array of shape {shape}")
        must(is_array(one.rows, (m,), "i"), "the numbers of support rows")
        must(m <= state.budget and one.tally[Count.SUPPORT] == m, "a support within its budget")
