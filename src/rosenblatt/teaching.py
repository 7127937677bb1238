"""Functions for lectures: augmented rows, ±1 labels, one-hot targets, a teacher, a quadratic programme, a proof.

Examples
--------
>>> from rosenblatt import teaching
>>> teaching.augment([[2.0, 3.0]])
array([[1., 2., 3.]])
>>> teaching.one_hot(["cat", "dog", "cat"])
array([[1, 0],
       [0, 1],
       [1, 0]])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import betaincc, betainccinv
from sklearn.utils import check_random_state

from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.number_format import counted, format_number, format_vector, printed_fraction, printed_fractions
from rosenblatt.network.worked_backpropagation import backpropagation
from rosenblatt.online.perceptron import Perceptron
from rosenblatt.prove.novikoff_table import NovikoffTable, novikoff_table

__all__ = [
    "Exercise",
    "QuadraticProgramme",
    "augment",
    "backpropagation",
    "exercise",
    "normalise_labels",
    "one_hot",
    "proof",
    "qp",
    "teacher",
]

Array = np.ndarray[Any, Any]


def augment(X: Any) -> Any:
    """Rows with a constant feature x0 = 1 in front, so that the bias is a weight like any other.

    With x̂ = (1, x) and ŵ = (b, w) the score w·x + b is ŵ·x̂: a plane through the origin, of one dimension more.
    Learning x̂ without a bias takes the same steps as learning x with the bias step η·y.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)

    Returns
    -------
    ndarray or CSR array of shape (n, d + 1)

    Examples
    --------
    >>> from rosenblatt import Perceptron, teaching
    >>> X, y = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]
    >>> teaching.augment(X)[0]
    array([1., 3., 1.])
    >>> with_bias = Perceptron(order="cyclic").fit(X, y)
    >>> through_origin = Perceptron(order="cyclic", fit_intercept=False).fit(teaching.augment(X), y)
    >>> with_bias.intercept_, with_bias.coef_, through_origin.coef_
    (array([0.]), array([[2., 4.]]), array([[0., 2., 4.]]))
    """
    X = _rows(X)
    ones = np.ones((X.shape[0], 1), X.dtype)
    return sp.hstack([sp.csr_array(ones), X], format="csr") if sp.issparse(X) else np.hstack([ones, X])


def normalise_labels(X: Any, y: Any) -> Any:
    """Rows multiplied by their labels, z = y·x with y = ±1, so that w is right on a row if w·z > 0.

    One condition then replaces two: w separates the classes if all z lie on its
    positive side. Augment first: the constant feature is multiplied too.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        Two classes; the second in sorted order is +1.

    Returns
    -------
    ndarray or CSR array of shape (n, d)

    Examples
    --------
    >>> from rosenblatt import teaching
    >>> X, y = [[3, 1], [1, -3], [-1, 3]], [1, -1, 1]
    >>> z = teaching.normalise_labels(teaching.augment(X), y)
    >>> z
    array([[ 1.,  3.,  1.],
           [-1., -1.,  3.],
           [ 1., -1.,  3.]])
    >>> z @ [-2, 0, 4] > 0  # b = −2, w = (0, 4)
    array([ True,  True,  True])
    """
    X = _rows(X)
    sides = _sides(y, X.shape[0])
    return sp.csr_array(X.multiply(sides[:, None])) if sp.issparse(X) else X * sides[:, None]


def one_hot(y: Any, classes: Any = None) -> Array:
    """Targets of one unit per class: u_k = 1 for the class of the row, 0 for the others.

    A network with one output per class learns them by squared error, ½ Σ_k (o_k − u_k)². Classifiers here take the
    classes themselves: a y of two dimensions means labels, of which a row may have several.

    Parameters
    ----------
    y : array-like of shape (n,)
    classes : array-like of shape (K,), optional
        The classes, in the order of the columns; sorted by default.

    Returns
    -------
    ndarray of shape (n, K)

    Examples
    --------
    >>> from rosenblatt import teaching
    >>> teaching.one_hot(["cat", "dog", "cat", "ant"])
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 1, 0],
           [1, 0, 0]])
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}: one_hot takes one class per row.")
    names = np.unique(y) if classes is None else np.asarray(classes)
    hot: Array = np.equal(y[:, None], names)
    if not hot.any(axis=1).all():
        row = int(np.flatnonzero(~hot.any(axis=1))[0])
        raise ValueError(f"y has the class {y[row].item()!r} in row {row}, which is not among {names.tolist()}.")
    return hot.astype(np.int64)


def teacher(n: int, d: int, *, margin: float = 0.1, random_state: Any = None) -> tuple[Array, Array, Perceptron]:
    """A teacher h* and rows that it labels: x drawn from D, y = sign(w*·x), ‖w*‖ = 1.

    D is uniform over the unit ball without the slab |w*·x| < γ, so that R ≤ 1 and every row has at least the margin
    γ. A perceptron through the origin makes at most (R/γ)² ≤ 1/γ² mistakes on any number of such rows. Other rows
    from the same teacher estimate the generalisation error err_D(h) of what it has learned.

    Parameters
    ----------
    n : int
        Rows.
    d : int
        Features.
    margin : float, default=0.1
        γ, from 0 to below 1.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        −1 and +1.
    h : Perceptron
        The teacher, a model with the weights w*.

    Examples
    --------
    >>> from rosenblatt import Perceptron, teaching
    >>> X, y, h = teaching.teacher(2000, 5, margin=0.1, random_state=0)
    >>> student = Perceptron(fit_intercept=False, random_state=0).fit(X[:200], y[:200])
    >>> student.report_.errors, student.report_.updates <= 1 / 0.1**2, h.score(X, y)
    (0, True, 1.0)
    >>> float(1 - student.score(X[200:], y[200:])) < 0.05  # err_D, from rows that it has not seen
    True
    """
    for name, size in (("n", n), ("d", d)):
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be a whole number, at least 1, got {size!r}.")
    if not 0 <= margin < 1:
        raise ValueError(f"margin must be from 0 to below 1, got {margin!r}: rows lie in the unit ball.")
    rng = check_random_state(random_state)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    # In the ball (w·x)² has a Beta distribution; its upper tail from γ² on is inverted, so that no row is drawn twice.
    shape = 0.5, (d + 1) / 2
    height = np.sqrt(betainccinv(*shape, rng.random_sample(n) * betaincc(*shape, margin**2)))
    y = np.where(rng.random_sample(n) < 0.5, -1, 1)
    X = np.outer(y * np.clip(height, margin, 1.0), w)
    if d > 1:  # the components orthogonal to w are uniform over the remaining ball
        across = rng.normal(size=(n, d))
        across -= np.outer(across @ w, w)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        radius = np.sqrt(np.maximum(1 - height**2, 0)) * rng.random_sample(n) ** (1 / (d - 1))
        X += radius[:, None] * across
    return X, y, Perceptron.from_weights(w, fit_intercept=False)


class QuadraticProgramme(NamedTuple):
    """Minimise ½ pᵀHp + fᵀp subject to Ap ≤ b, elementwise."""

    H: Array
    f: Array
    A: Array
    b: Array


def qp(X: Any, y: Any, C: float) -> QuadraticProgramme:
    """The matrices of the support vector machine's quadratic programme, for any solver of such programmes.

    The soft margin minimises ½‖w‖² + C Σ ζ_i subject to y_i(w·x_i + b) ≥ 1 − ζ_i and ζ_i ≥ 0. With p = (w, b, ζ):

        H = diag(1, …, 1, 0, …, 0): the weights only          f = (0, …, 0, C, …, C): the slacks only
        A = [[−y_i x_i, −y_i, −I], [0, 0, −I]]                b = (−1, …, −1, 0, …, 0)

    The hard margin, C = ∞, has no slack: p = (w, b).

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Two classes; the second in sorted order is +1.
    C : float
        The penalty on slack; infinity for the hard margin.

    Returns
    -------
    QuadraticProgramme
        H, f, A and b.

    Examples
    --------
    The plane x = 2 between 1 and 3 is w = 1, b = −2: it meets both constraints exactly.

    >>> import math
    >>> from rosenblatt import teaching
    >>> H, f, A, b = teaching.qp([[1.0], [3.0]], [-1, 1], C=math.inf)
    >>> A, b
    (array([[ 1.,  1.],
           [-3., -1.]]), array([-1., -1.]))
    >>> A @ [1, -2] - b
    array([0., 0.])
    >>> [part.shape for part in teaching.qp([[1.0], [3.0]], [-1, 1], C=1.0)]
    [(4, 4), (4,), (4, 4), (4,)]
    """
    z = normalise_labels(augment(X), y)
    z = z.toarray() if sp.issparse(z) else z
    z = np.roll(z, -1, axis=1)  # the bias comes after w
    (n, width), soft = z.shape, bool(np.isfinite(C))
    if not C > 0:
        raise ValueError(f"C must be above 0, got {C!r}.")
    slack = n if soft else 0
    H = np.diag(np.append(np.ones(width - 1), np.zeros(1 + slack)))
    f = np.append(np.zeros(width), np.full(slack, float(C) if soft else 0.0))
    if not soft:
        return QuadraticProgramme(H, f, 0.0 - z, -np.ones(n))
    A = np.block([[0.0 - z, -np.eye(n)], [np.zeros_like(z), -np.eye(n)]])
    return QuadraticProgramme(H, f, A, np.append(-np.ones(n), np.zeros(n)))


def proof(trace: Any) -> NovikoffTable:
    """Novikoff's proof on a run: after k updates w·u ≥ kγ and ‖w‖² ≤ kR², which cannot both hold for k > (R/γ)².

    u is the unit normal of the widest plane through the origin, γ its margin, R the length of the longest row; w is
    divided by η. With a bias step of c² rows have one more feature, of value c, and w one more weight, b/c.

    Parameters
    ----------
    trace : Trace
        Of a perceptron on two separable classes, from zero, at a constant learning rate and without a margin.

    Returns
    -------
    NovikoffTable
        Prints as a table; `plot.convergence` draws it.

    Examples
    --------
    >>> from rosenblatt import teaching, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> print(teaching.proof(trace(X, y, fit_intercept=False)))
    k     w·u      kγ  ‖w‖²  kR²
    0       0       0     0    0
    1  0.7071  0.7071     1    1
    2   1.414   1.414     2    2
    <BLANKLINE>
    k ≤ (R/γ)² = 2, since kγ ≤ w·u ≤ ‖w‖ ≤ √k·R
    """
    return novikoff_table(trace)


class Exercise:
    """A trace to be worked out step by step: it prints the state and the next row, and checks each answer exactly.

    Parameters
    ----------
    trace : Trace
        An exact one, of two classes.

    Examples
    --------
    >>> from rosenblatt import teaching, trace
    >>> run = trace([[1, 0], [0, -1]], [1, -1], fit_intercept=False, max_epochs=1, exact=True)
    >>> exercise = teaching.exercise(run)
    >>> print(exercise)
    step 1 of 2: w = (0, 0)
    row 0: x = (1, 0), y = 1
    What is w after this row?
    >>> exercise.answer([1, 1])
    False
    >>> exercise.answer([1, 0]), exercise.answer([1, 1]), exercise.finished
    (True, True, True)
    >>> print(exercise)
    All 2 steps are right, with 1 wrong answer on the way.
    """

    def __init__(self, trace: Any) -> None:
        if not (trace.exact and trace.binary) or any(step.row is None for step in trace.steps):
            raise ValueError("An exercise is a trace(…, exact=True) of two classes, row by row.")
        self._trace = trace
        self._bias = bool(trace.parameters.get("fit_intercept", True)) or any(trace.start[1])
        self.right, self.wrong = 0, 0

    @property
    def finished(self) -> bool:
        """Whether every step has been answered."""
        return self.right == len(self._trace.steps)

    def answer(self, w: Any, b: Any = None) -> bool:
        """Check w, and b if there is a bias, after the next row; if they are right, go on to the row after it.

        Parameters
        ----------
        w : sequence of numbers
            Floats count as the numbers that they print as; "1/3" is a fraction.
        b : number, optional
            Needed if the planes have a bias.

        Returns
        -------
        bool
            Whether the answer is right.
        """
        if self.finished:
            raise ValueError("Every step has been answered.")
        step = self._trace.steps[self.right]
        given = tuple(printed_fractions(list(w)).tolist())
        if len(given) != len(step.coef[0]) or (b is None) == self._bias:
            wanted = f"{counted(len(step.coef[0]), 'number')} for w{', and b' if self._bias else ', without b'}"
            raise ValueError(f"An answer has {wanted}.")
        good = given == step.coef[0] and (b is None or printed_fraction(b) == step.intercept[0])
        self.right, self.wrong = self.right + good, self.wrong + (not good)
        return good

    def __str__(self) -> str:
        """The state, the next row and the question."""
        trace = self._trace
        if self.finished:
            ways = counted(self.wrong, "wrong answer") if self.wrong else "no wrong answer"
            return f"All {counted(self.right, 'step')} are right, with {ways} on the way."
        step = trace.steps[self.right]
        w, b = trace.start[0][0], trace.start[1][0]
        if self.right:
            before = trace.steps[self.right - 1]
            w, b = before.coef[0], before.intercept[0]
        state = f"w = {format_vector(w)}" + (f", b = {format_number(b)}" if self._bias else "")
        y = str(step.label).replace("-", "−")
        return (
            f"step {step.number} of {len(trace.steps)}: {state}\n"
            f"row {step.row + trace.first}: x = {format_vector(trace.X[step.row])}, y = {y}\n"
            f"What {'are w and b' if self._bias else 'is w'} after this row?"
        )


def exercise(trace: Any) -> Exercise:
    """A trace as an exercise: the next w is hidden, and an answer is checked exactly.

    Parameters
    ----------
    trace : Trace
        An exact one, of two classes.

    Returns
    -------
    Exercise

    Examples
    --------
    >>> from rosenblatt import teaching, trace
    >>> run = trace([[3, 1], [1, -3], [-1, 3]], [1, -1, 1], coef_init=[[1, 1]], intercept_init=[-3], exact=True)
    >>> task = teaching.exercise(run)
    >>> task.answer([1, 1], -3), task.answer([1, 1], -3), task.answer([0, 4], -2)
    (True, True, True)
    """
    return Exercise(trace)


def _rows(X: Any) -> Any:
    """A table of numbers: an array or CSR."""
    X = sp.csr_array(well_formed(X)) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: give one row per example, as in [[1, 2], [3, 4]].")
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _sides(y: Any, n: int) -> Array:
    """±1 for each row."""
    y = np.asarray(y)
    classes = np.unique(y)
    if y.shape != (n,) or classes.size > 2:
        found = f"{classes[:5].tolist()}{' and more' if classes.size > 5 else ''}"
        raise ValueError(f"y must be one of two classes in each of {n} rows; it has shape {y.shape}, classes {found}.")
    positive = classes[-1] if classes.size == 2 else 1  # for a single class, only ±1 and 0/1 determine the side
    return np.where(y == positive, 1.0, -1.0)
