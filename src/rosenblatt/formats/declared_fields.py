"""Records whose fields are declared: a field's type says what it may hold, and `verify` refuses anything else.

A model file may be forged, and a worker may send anything, but compiled code reads arrays without looking. Therefore

    bool, str           is of that type
    int                 is a whole number, at least 0, that fits into 64 bits
    float               is a finite number
    Any                 is not checked
    a record            is verified too, and so is each item of a list[…] or tuple[…, ...], and what may be None
    Annotated[…, form]  is what the form says, such as `floats("K", "d")` or `one_of("last", "average")`

Sizes have names, and a name is one number throughout a record and the records within it: two arrays declared with "K"
have equally many rows. "d+1" is one more than d. Names that a record or an item of a list adds are its own. Relations
between fields are checked by the record's method `check`, whose parameters are names of sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from inspect import signature
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.sparse_checks import well_formed

Array = np.ndarray[Any, Any]
Sizes = dict[str, int]
Check = Callable[[Any, Sizes, str], None]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
SIGNED = tuple(map(np.dtype, ("int64", "int32", "int16", "int8")))
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
    >>> from rosenblatt.formats.declared_fields import doubles, verify
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


def _verify_fields(record: Any, sizes: Sizes, name: str = "") -> None:
    """`sizes` are changed: a name that is new gets the size of the first array that has it."""
    kind: Any = type(record)
    checks, relations = _declaration(kind)
    for name, check in checks:
        check(getattr(record, name), sizes, name)
    if relations is not None:
        record.check(*(sizes[name] for name in relations))


@cache
def _declaration(kind: Any) -> tuple[list[tuple[str, Check]], list[str] | None]:
    """The checks of a record's fields, those of sizes first, and the parameters of its method `check`."""
    hints = get_type_hints(kind, include_extras=True).items()
    forms = [(name, _form(hint)) for name, hint in hints if ClassVar not in (hint, get_origin(hint))]
    checks = [(name, form[k]) for k in range(2) for name, form in forms]
    relations = list(signature(kind.check).parameters)[1:] if "check" in dir(kind) else None
    return [(name, check) for name, check in checks if check is not None], relations


# -- forms -----------------------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """What a field may hold.

    `measure` refuses other sizes than those known so far, and adds new ones; `check` is called when all are known.
    """

    measure: Check | None = None
    check: Check | None = None

    def __call__(self, value: Any, sizes: Sizes, name: str) -> None:
        """Refuse other values."""
        for part in self:
            if part is not None:
                part(value, sizes, name)


def _form(hint: Any) -> Form:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        kind, form = inner
        return _or_none(form) if NoneType in get_args(kind) else form
    if origin in (Union, UnionType) and len(inner) == 2 and inner[1] is NoneType:
        return _or_none(_form(inner[0]))
    if origin is list or (origin is tuple and inner[1:] == (...,)):
        return _each(origin, _form(inner[0]))
    if isinstance(hint, type):
        return _of_type(hint, _verify_fields)
    raise TypeError(f"{hint} does not say what a field may hold")


def _or_none(form: Form) -> Form:
    """None, or a value of the form."""

    def unless_none(check: Check | None) -> Check | None:
        return check and (lambda value, sizes, name: None if value is None else check(value, sizes, name))

    return Form(unless_none(form.measure), unless_none(form.check))


def _each(kind: type, form: Form) -> Form:
    """A list or a tuple of values of a form."""

    def check(value: Any, sizes: Sizes, name: str) -> None:
        for item in value:
            form(item, dict(sizes), name)

    return _of_type(kind, check)


def _of_type(kind: type, inside: Check) -> Form:
    """Values of a type, and what is inside."""

    def check(value: Any, sizes: Sizes, name: str) -> None:
        if not isinstance(value, kind):
            raise ValueError(f"expected {name}: a {kind.__name__}, found {type(value).__name__}")
        inside(value, dict(sizes), name)

    return Form(check=check)


def such_that(holds: Callable[[Any], Any], what: str) -> Form:
    """Values of which this holds."""

    def check(value: Any, sizes: Sizes, name: str) -> None:
        if not holds(value):
            raise ValueError(f"expected {name}: {what}, found {type(value).__name__}")

    return Form(check=check)


def one_of(*values: Any) -> Form:
    """One of these values."""
    return such_that(lambda value: value in values, f"one of {values}")


def at_least(least: int) -> Form:
    """A whole number."""
    return such_that(lambda value: is_count(value, least), f"a whole number, at least {least}")


def instance(kind: Any) -> Form:
    """Of this type, and not verified further."""
    return such_that(lambda value: isinstance(value, kind), f"a {kind}")


AMOUNT = such_that(is_amount, "a number, at least 0")
PLAIN: dict[Any, Form] = {
    Any: Form(),
    bool: such_that(lambda value: isinstance(value, bool), "True or False"),
    str: such_that(lambda value: isinstance(value, str), "text"),
    int: at_least(0),
    float: such_that(is_number, "a finite number"),
}


def size(which: str) -> Form:
    """A whole number that is the size of this name."""

    def measure(value: Any, sizes: Sizes, name: str) -> None:
        must(is_count(value, 1) and sizes.setdefault(which, int(value)) == value, f"{name}: a number that fits")

    return Form(measure)


def shaped(dtypes: tuple[Any, ...], *shape: str, below: str | None = None) -> Form:
    """Arrays of one of these dtypes, and of this shape in names of sizes; indices are `below` a size."""
    wanted = [(one.partition("+")[0], int(one.partition("+")[2] or 0)) for one in shape]

    def measure(value: Any, sizes: Sizes, name: str) -> None:
        good = isinstance(value, np.ndarray) and value.dtype in dtypes and value.ndim == len(wanted)
        shape: tuple[int, ...] = value.shape if good else ()
        for (which, more), found in zip(wanted, shape, strict=False):
            good = good and sizes.setdefault(which, found - more) == found - more >= 0
        if not good:
            known = " × ".join(str(sizes[which] + more) if which in sizes else "any" for which, more in wanted)
            shown = f"{' × '.join(map(str, value.shape))} of {value.dtype}" if isinstance(value, np.ndarray) else None
            kinds = " or ".join(map(str, dtypes))
            raise ValueError(f"expected {name}: {known} of {kinds}, found {shown or type(value).__name__}")

    def check(value: Any, sizes: Sizes, name: str) -> None:
        if value.size and not (value.min() >= 0 and int(value.max()) < sizes[str(below)]):
            raise ValueError(f"expected {name} below {sizes[str(below)]}")

    return Form(measure, None if below is None else check)


floats, singles, doubles = partial(shaped, (DOUBLE, SINGLE)), partial(shaped, (SINGLE,)), partial(shaped, (DOUBLE,))


def integers(*shape: str, below: str | None = None, dtype: Any = None) -> Form:
    """Arrays of signed integers of any width, or of this dtype; those that are indices are `below` a size."""
    return shaped(SIGNED if dtype is None else (np.dtype(dtype),), *shape, below=below)


def matrix(n: str, d: str) -> Form:
    """Rows of features, in an array or a CSR matrix, or one after another in a tuple of these."""

    def measure(value: Any, sizes: Sizes, name: str) -> None:
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            csr = sp.issparse(part) and part.format == "csr"
            must(csr or isinstance(part, np.ndarray), f"{name}: rows in an array or a CSR matrix")
            must(part.ndim == 2 and part.dtype in (SINGLE, DOUBLE), f"{name}: rows of float32 or float64")
            must(sizes.setdefault(d, part.shape[1]) == part.shape[1], f"{name}: rows of {sizes[d]} features")
            well_formed(part, name)
        count = sum(part.shape[0] for part in parts)
        must(parts and sizes.setdefault(n, count) == count, f"{name}: {sizes.get(n)} rows")

    return Form(measure)
