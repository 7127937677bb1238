"""What an error or Ctrl-C leaves behind: the estimator as it was, or its last whole epoch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.learn.overflow import largest

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """A call that raises leaves the estimator as it was; one that is interrupted keeps its last whole epoch.

    An overflow is told with the row and the column of the largest value of X.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with as_it_was(self):
                return method(self, *args, **kwargs)
        except NotFiniteError as error:
            if error.place is not None:
                raise
            given = inspect.signature(method).bind(self, *args, **kwargs).arguments
            raise error.at(largest(given["X"], given.get("sample_weight"))) from None

    return guarded  # type: ignore[return-value]


@contextmanager
def as_it_was(model: Any) -> Iterator[None]:
    """A model that is as it was before where training fails; stopped by hand, it keeps its last whole epoch."""
    before = dict(vars(model))
    try:
        yield
    except BaseException as error:
        learned = vars(model).get("report_") is not before.get("report_")
        if not (learned and isinstance(error, KeyboardInterrupt | GeneratorExit)):
            model.__dict__.clear()
            model.__dict__.update(before)
        raise
