"""Records whose fields are declared: a field's type says what it may hold, and `verify` refuses anything else.

A model file may be forged, and a worker may send anything, but compiled code reads arrays without looking. Therefore

    bool, str           is of that type
    int                 is a whole number, at least 0, that fits into 64 bits
    float               is a finite number
    Any                 is not checked
    a record            is verified too, and so is each item of a list[…] or tuple[…, ...], and what may be None
    Annotated[…, form]  is what the form says, such as `floats("K", "d")` or `one_of("last", "average")`

Sizes have names, and a name is one number throughout a record and the records within it: two arrays declared with "K"
have equally many rows. "d+1" is one more than d. Relations between fields are checked by the record's method `check`,
whose parameters are names of sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.sparse_checks import well_formed

Array = np.ndarray[Any, Any]
Sizes = dict[str, int]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
INTEGERS = tuple(map(np.dtype, ("int64", "int32", "int16", "int8")))
MOST_COUNT = 1 << 63  # compiled code takes counts as 64-bit integers


def must(holds: Any, what: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not holds:
        raise ValueError(f"expected {what}")


def is_count(value: Any, least: int = 0) -> bool:
    """Whether this is a whole number of at least `least` that fits into 64 bits."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= int(value) < MOST_COUNT


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def is_amount(value: Any) -> bool:
    """Whether this is a number that is at least 0, possibly infinite, because sums of squares may overflow."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(value >= 0)


def is_array(value: Any, shape: tuple[int, ...], kinds: str = "f") -> bool:
    """Whether this is an array of this shape, of one of these kinds of dtype."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind in kinds


def verify(value: Any, kind: Any, **sizes: int) -> None:
    """Refuse anything but a record of this kind, whose fields are as declared and fit together and with these sizes.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np
    >>> from rosenblatt.data.declared_fields import doubles, verify
    >>> @dataclass
    ... class Average:
    ...     coef: Annotated[np.ndarray, doubles("K", "d")]
    ...     intercept: Annotated[np.ndarray, doubles("K")]
    >>> verify(Average(np.zeros((3, 4)), np.zeros(3)), Average, d=4)
    >>> verify(Average(np.zeros((3, 4)), np.zeros(2)), Average, d=4)
    Traceback (most recent call last):
        ...
    ValueError: expected intercept: 3 of float64, found 2 of float64
    """
    names = [one.__name__ for one in get_args(kind) or (kind,)]
    must(isinstance(value, kind), f"{' or '.join(names)}, found {type(value).__name__}")
    _verify_fields(value, sizes)


def _verify_fields(record: Any, sizes: Sizes) -> None:
    """`sizes` are changed: a name that is new gets the size of the first array that has it."""
    kind: Any = type(record)
    shapes, values, relations = _declaration(kind)
    for name, form in shapes:
        form.measure(getattr(record, name), sizes, name)
    for name, form in values:
        form.check(getattr(record, name), sizes, name)
    if relations is not None:
        record.check(*(sizes[name] for name in relations))


@cache
def _declaration(kind: Any) -> tuple[list[tuple[str, Form]], list[tuple[str, Form]], list[str] | None]:
    """The fields of a record whose sizes are measured first, those that are checked then, the parameters of `check`."""
    hints = get_type_hints(kind, include_extras=True).items()
    forms = [(name, _form(hint)) for name, hint in hints if ClassVar not in (hint, get_origin(hint))]
    measured = [(name, form) for name, form in forms if type(form).measure is not Form.measure]
    checked = [(name, form) for name, form in forms if type(form).check is not Form.check]
    relations = list(signature(kind.check).parameters)[1:] if "check" in dir(kind) else None
    return measured, checked, relations


def _form(hint: Any) -> Form:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        kind, form = inner
        return Maybe(form) if NoneType in get_args(kind) else form
    if origin in (Union, UnionType) and len(inner) == 2 and inner[1] is NoneType:
        return Maybe(_form(inner[0]))
    if origin is list or (origin is tuple and inner[1:] == (...,)):
        return Each(origin, _form(inner[0]))
    if isinstance(hint, type):
        return Nested(hint)
    raise TypeError(f"{hint} does not say what a field may hold")


# -- forms -----------------------------------------------------------------------------------------------------------


class Form:
    """What a field may hold."""

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """Refuse other shapes than the sizes known so far, and add those that are new."""

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """Refuse other values, when all sizes of the record are known."""


@dataclass(frozen=True)
class SuchThat(Form):
    """Values of which this holds."""

    holds: Callable[[Any], Any]
    what: str

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """It holds."""
        if not self.holds(value):
            raise ValueError(f"expected {name}: {self.what}, found {type(value).__name__}")


def one_of(*values: Any) -> Form:
    """One of these values."""
    return SuchThat(lambda value: value in values, f"one of {values}")


def at_least(least: int) -> Form:
    """A whole number."""
    return SuchThat(lambda value: is_count(value, least), f"a whole number, at least {least}")


def instance(kind: Any) -> Form:
    """Of this type, and not verified further."""
    return SuchThat(lambda value: isinstance(value, kind), f"a {kind}")


AMOUNT = SuchThat(is_amount, "a number, at least 0")
PLAIN: dict[Any, Form] = {
    Any: Form(),
    bool: SuchThat(lambda value: isinstance(value, bool), "True or False"),
    str: SuchThat(lambda value: isinstance(value, str), "text"),
    int: at_least(0),
    float: SuchThat(is_number, "a finite number"),
}


class Size(Form):
    """A whole number that is the size of this name."""

    def __init__(self, which: str) -> None:
        self.which = which

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """A number that agrees with the size."""
        must(is_count(value, 1) and sizes.setdefault(self.which, int(value)) == value, f"{name}: a number that fits")


class Shaped(Form):
    """Arrays of one of these dtypes, and of this shape in names of sizes; indices are `below` a size."""

    def __init__(self, dtypes: tuple[Any, ...], shape: tuple[str, ...], below: str | None = None) -> None:
        self.dtypes, self.below = dtypes, below
        parts = [size.partition("+") for size in shape]
        self.shape = [(name, int(more or 0)) for name, _, more in parts]

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """Of a valid dtype and shape."""
        good = isinstance(value, np.ndarray) and value.dtype in self.dtypes and value.ndim == len(self.shape)
        for k in range(len(self.shape) if good else 0):
            size, more = self.shape[k]
            found = value.shape[k] - more
            good = good and sizes.setdefault(size, found) == found >= 0
        if not good:
            wanted = " × ".join(str(sizes[size] + more) if size in sizes else "any" for size, more in self.shape)
            raise ValueError(
                f"expected {name}: {wanted} of {' or '.join(map(str, self.dtypes))}, found {_shown(value)}"
            )

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """Indices within their range."""
        if self.below is not None and value.size:
            must(value.min() >= 0 and int(value.max()) < sizes[self.below], f"{name} below {sizes[self.below]}")


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{' × '.join(map(str, value.shape))} of {value.dtype}"
    return type(value).__name__


def floats(*shape: str) -> Form:
    """Arrays of float32 or float64."""
    return Shaped((DOUBLE, SINGLE), shape)


def singles(*shape: str) -> Form:
    """Arrays of float32."""
    return Shaped((SINGLE,), shape)


def doubles(*shape: str) -> Form:
    """Arrays of float64."""
    return Shaped((DOUBLE,), shape)


def integers(*shape: str, below: str | None = None, dtype: Any = None) -> Form:
    """Arrays of signed integers of any width, or of this dtype; those that are indices are `below` a size."""
    return Shaped(INTEGERS if dtype is None else (np.dtype(dtype),), shape, below)


@dataclass(frozen=True)
class Rows(Form):
    """`n` rows of `d` features, in an array or a CSR matrix, or one after another in a tuple of these."""

    n: str
    d: str

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """Rows that compiled code may read."""
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            sparse = sp.issparse(part) and part.format == "csr"
            must(sparse or isinstance(part, np.ndarray), f"{name}: rows in an array or a CSR matrix")
            must(part.ndim == 2 and part.dtype in (SINGLE, DOUBLE), f"{name}: rows of float32 or float64")
            must(sizes.setdefault(self.d, part.shape[1]) == part.shape[1], f"{name}: rows of {sizes[self.d]} features")
            well_formed(part, name)
        count = sum(part.shape[0] for part in parts)
        must(parts and sizes.setdefault(self.n, count) == count, f"{name}: {sizes.get(self.n)} rows")


class Nested(Form):
    """A record."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """Verified with the sizes known so far; what it adds is its own."""
        must(isinstance(value, self.kind), f"{name}: a {self.kind.__name__}, found {type(value).__name__}")
        _verify_fields(value, dict(sizes))


@dataclass(frozen=True)
class Maybe(Form):
    """None, or a value of this form."""

    form: Form

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """Unless it is None."""
        if value is not None:
            self.form.measure(value, sizes, name)

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """Unless it is None."""
        if value is not None:
            self.form.check(value, sizes, name)


@dataclass(frozen=True)
class Each(Form):
    """A list or a tuple of values of this form."""

    kind: type
    form: Form

    def measure(self, value: Any, sizes: Sizes, name: str) -> None:
        """All items."""
        must(isinstance(value, self.kind), f"{name}: a {self.kind.__name__}, found {type(value).__name__}")
        for item in value:
            self.form.measure(item, sizes, name)

    def check(self, value: Any, sizes: Sizes, name: str) -> None:
        """All items."""
        for item in value:
            self.form.check(item, sizes, name)
