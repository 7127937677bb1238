"""Pieces of work on several threads, with the same results as on one.

Compiled code releases the GIL while it runs. The pieces do not depend on the number of threads, and their results are
combined in the order of the pieces, so that every number comes out the same bit by bit.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

MANY_VALUES = 1_000_000  # starting threads takes about as long as reading this many values
Piece = TypeVar("Piece")
Result = TypeVar("Result")
_inside = threading.local()


def thread_count() -> int:
    """The number of threads to use: ROSENBLATT_THREADS, else as many as scikit-learn uses.

    scikit-learn's number respects OMP_NUM_THREADS, threadpoolctl, container limits and what joblib leaves to each of
    its worker processes.
    """
    asked = os.environ.get("ROSENBLATT_THREADS")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"ROSENBLATT_THREADS must be a whole number, 1 or more; it is {asked!r}.")
        return int(asked)
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

    return int(_openmp_effective_n_threads())


def in_threads(
    function: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    values: float = float("inf"),
    threads: int | None = None,
) -> list[Result]:
    """`function` of each piece, in order; on several threads if there are many `values` to read in all.

    At most `threads`, by default as many as `thread_count` says.

    The calling thread works too, so that Ctrl-C is handled when its piece ends. If pieces fail, the error of the first
    of them is raised, as on one thread: pieces are begun in order, and those begun are finished.
    """
    work = list(pieces)
    count = 1
    if len(work) > 1 and values >= MANY_VALUES and not getattr(_inside, "working", False):
        count = min(thread_count() if threads is None else threads, len(work))
    if count == 1:
        return [function(piece) for piece in work]
    results: list[Any] = [None] * len(work)
    errors: dict[int, BaseException] = {}
    places = itertools.count()

    def run() -> None:
        _inside.working = True
        try:
            while not errors and (place := next(places)) < len(work):
                try:
                    results[place] = function(work[place])
                except BaseException as error:
                    errors[place] = error
        finally:
            _inside.working = False

    others = [threading.Thread(target=run, daemon=True) for _ in range(count - 1)]
    try:
        for thread in others:
            thread.start()
        run()
    except BaseException as error:  # Ctrl-C between two pieces
        errors[-1] = error
    for thread in others:
        if thread.ident is not None:
            thread.join()
    if errors:
        raise errors[min(errors)]
    return results
