"""Work that runs ahead of whoever needs its results, on other cores, in order and never far ahead."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(tasks: Iterable[Callable[[], T]], workers: int = 2, depth: int = 1) -> Iterator[T]:
    """The results of `tasks`, in order. At most `workers` are at work, and `depth` more results wait or are in use.

    A task that raises, or `tasks` itself, raises here in its turn. When the iterator is closed, the work stops.
    """
    stop, room = threading.Event(), threading.Semaphore(workers + depth)
    results: queue.SimpleQueue[Future[T] | None] = queue.SimpleQueue()

    with ThreadPoolExecutor(workers) as pool:

        def feed() -> None:
            try:
                for task in tasks:
                    room.acquire()
                    if stop.is_set():
                        break
                    results.put(pool.submit(task))
            except BaseException as error:
                failed: Future[Any] = Future()
                failed.set_exception(error)
                results.put(failed)
            results.put(None)

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        try:
            first = True
            while (result := results.get()) is not None:
                value = result.result()
                if not first:
                    room.release()  # whoever asks for this one is about to let go of the one before
                first = False
                del result
                yield value
                del value
        finally:
            stop.set()
            room.release()
            feeder.join()
            if isinstance(tasks, Generator):
                tasks.close()  # an error that is on its way holds on to them, and they to open files
