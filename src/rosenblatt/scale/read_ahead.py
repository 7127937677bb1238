"""Runs tasks in threads ahead of the consumer of their results, in order and with a limit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(tasks: Iterable[Callable[[], T]], workers: int = 2, depth: int = 1) -> Iterator[T]:
    """The results of `tasks`, in order. At most `workers` tasks run, and `depth` more results wait or are in use.

    An error in a task, or in `tasks` itself, is raised here in its place. Closing the iterator stops the work.
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
                    room.release()  # requesting this result releases the previous one
                first = False
                del result
                yield value
                del value
        finally:
            stop.set()
            room.release()
            feeder.join()
            if isinstance(tasks, Generator):
                tasks.close()  # a pending error keeps a reference to the generator, and it to open files
