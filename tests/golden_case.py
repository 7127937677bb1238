"""What one golden case is: a short fit whose results are kept in tests/golden.

A case says which learner, with which settings, on which of the data sets of `golden_runs`, and what is done with it
(`act`). `kind` says how its results are compared:

- "exact": whole numbers and a rule that only adds them, so that nothing is ever rounded: equal on every processor.
- "rounded": compiled sums, whose last bits depend on the width of the processor's vectors.
- "blas": sums made by BLAS or LAPACK (networks, kernels, trees of classes, the batch solver, duals, a full covariance
  mixed by its inverse, MaxMargin), whose last bits depend on its version and its threads.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One short training, and what may be kept of it."""

    name: str
    learner: str
    settings: dict = field(default_factory=dict)
    data: str = "two"
    form: str = "dense float64"
    act: str = "fit"
    how: dict = field(default_factory=dict)
    kind: str = "rounded"
    stored: bool = False  # whether a model file of it is kept


# -- settings that are functions -------------------------------------------------------------------------------------


def halved(epoch):
    return 2.0**-epoch


def interrupts_third(epoch):
    if epoch == 3:
        raise KeyboardInterrupt
    return 1.0


def fails_third(epoch):
    if epoch == 3:
        raise RuntimeError("no rate")
    return 1.0


def product(A, B):
    return A @ B.T


PATIENT = {"tol": 1e-4, "n_iter_no_change": 10}  # of networks, when their cases were made
