"""Shards on a Dask cluster: the only module that imports Dask.

Dask schedules, transports and restarts tasks; this module adds what training needs beyond that.

- A task carries the name of a shard, not its rows: the worker reads them, and keeps them in memory while they fit.
- The weights of a round are sent to the cluster once, as the result of a task that can be rerun anywhere.
- A task prefers the worker that holds the shard, and runs on any other if that one is dead. (Dask moves it, except
  when no worker is left: it would then wait for the dead ones rather than new ones, so the task is sent again.)
- A shard that is late, whose worker failed, or whose answer is invalid (its question checks it), is sent again to
  another worker, up to three attempts.
- Answers are fetched one by one, in the order of the shards: the driver holds one answer and the sums at a time.
"""

from __future__ import annotations

import math
import pickle
import queue
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

try:
    import dask
    from dask.local import get_sync
    from dask.optimization import cull
    from distributed import Client, Future, KilledWorker, LocalCluster, get_worker
    from distributed.client import FutureCancelledError
    from distributed.protocol.pickle import dumps
    from distributed.security import Security
except ImportError as error:
    raise ImportError("A cluster needs Dask: pip install 'rosenblatt[cluster]'") from error

from rosenblatt.formats.declared_fields import is_number
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading, make_reading
from rosenblatt.scale.shards import AskExamples, AskShard, HeldShard, Shard, Store, TimedAnswer, accepted

ATTEMPTS, DEATHS = 3, 12  # limits per shard and round: attempts, and deaths of workers
SHORTEST_DEADLINE, UNKNOWN_DEADLINE, TIMES_THE_MEDIAN = 60.0, 600.0, 10.0
TICK = 0.5  # seconds between two checks of the deadlines
NO_PAGES: dict[str, Any] = {
    f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")
}  # dashboards, which do not require a certificate
PASSING = (OSError, MemoryError, FileError, KilledWorker, FutureCancelledError)  # may succeed on another worker


@contextmanager
def connected(
    address: str | None = None, workers: int | None = None, tls: dict[str, Path | None] | None = None
) -> Iterator[Any]:
    """A client of the cluster at this address, or of a temporary one with this many processes on this machine.

    Anyone who can connect to a scheduler can run code on its workers. A scheduler started here uses TLS, with a
    certificate that is made for this run and held in memory only, so that no other user of this machine can connect;
    `tls` has the files "ca", "cert" and "key" for a scheduler elsewhere.
    """
    if address is None:
        with dask.config.set(NO_PAGES), _local(workers) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, security=None if tls is None else _credentials(tls))
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"There is no Dask scheduler at {address} that accepts the connection: {error}."
        ) from error
    with client:
        yield client


def _credentials(tls: dict[str, Path | None]) -> Any:
    names = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    files = {names[name]: str(path) for name, path in tls.items() if path is not None}
    return Security(require_encryption=True, **files)


def _local(workers: int | None) -> Any:
    """Processes on this machine that only their own client can connect to."""
    try:
        security = Security.temporary()
    except ImportError as error:
        raise ImportError("Workers on this machine need cryptography: pip install 'rosenblatt[cluster]'") from error
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    )


# -- on a worker -----------------------------------------------------------------------------------------------------


class AbsentError(Exception):
    """A worker does not hold the rows of a shard, and was not sent the recipe to make them."""


def absent() -> Any:
    """The recipe of a shard that was sent by name only."""
    raise AbsentError


@dataclass(frozen=True)
class WorkerAnswer:
    """An answer or an error, the worker that gave it, and the seconds it took."""

    value: Any
    error: Exception | None
    worker: str
    seconds: float


def shared_with_workers(blob: bytes) -> bytes:
    """What all tasks of a round need, as the result of a task, so that Dask can recompute it if its worker dies."""
    return blob


def run_on_worker(shard: Shard, blob: bytes, memory: int | None, held: dict[str, Any]) -> WorkerAnswer:
    """Ask a question about a shard, on a worker."""
    began, worker = time.perf_counter(), get_worker()
    if isinstance(shard, HeldShard) and held:
        shard = replace(shard, recipe=partial(shard.recipe, held))  # type: ignore[call-arg]
    value, wrong = None, None
    try:
        value = pickle.loads(blob)(shard, store_of(worker, memory))
    except Exception as error:  # the driver decides how to handle it
        wrong = error
    return WorkerAnswer(value, wrong, str(worker.address), time.perf_counter() - began)


def store_of(worker: Any, memory: int | None) -> Store:
    """The rows that a worker holds during its lifetime; up to half of its memory by default."""
    limit = memory if memory is not None else (worker.memory_manager.memory_limit or 1 << 32) // 2
    store: Store = vars(worker).setdefault("rosenblatt_store", Store(limit))
    store.limit = limit
    return store


# -- on the driver ---------------------------------------------------------------------------------------------------


@dataclass
class ShardInFlight:
    """A shard that is being processed."""

    future: Any = None
    number: int = 0  # of the launch: events of earlier ones are ignored
    attempts: int = 0
    deaths: int = 0
    since: float = 0.0
    home: str | None = None
    avoid: set[str] = field(default_factory=set)
    whole: bool = False  # sent with its recipe


class Cluster:
    """Processes shards on the workers of a Dask client.

    Parameters
    ----------
    client : dask.distributed.Client
    memory : int, optional
        Bytes of rows that each worker keeps; half of its memory by default.
    deadline : float, optional
        Seconds that a shard may take before it is sent to another worker. By default ten times the median, multiplied
        by the number of shards per thread, and at least 60.
    """

    def __init__(self, client: Any, memory: int | None = None, deadline: float | None = None) -> None:
        if not isinstance(client, Client):
            raise TypeError(f"client must be a dask.distributed.Client, got {type(client).__name__}.")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline must be a number of seconds above 0, got {deadline!r}.")
        self.client, self.memory, self.deadline = client, memory, deadline
        self.homes: dict[str, str] = {}
        self.times: dict[type, list[float]] = {}
        self.slow: set[str] = set()
        self.sent_again = self.bytes_moved = 0

    @property
    def slots(self) -> int:
        """Threads of all workers."""
        return max(1, sum(self.threads().values()))

    def threads(self) -> dict[str, int]:
        """The number of threads of each live worker."""
        return dict(self._ask(self.client.nthreads))

    def round(self, question: AskShard, shards: Sequence[Shard]) -> Iterator[Any]:
        """The answer of each shard, checked, in the order of the shards."""
        current = Round(self, question, shards)
        try:
            yield from current.answers()
        finally:
            current.end()

    def limit(self, kind: type, shards: int, threads: int) -> float:
        """Seconds until a shard is late."""
        if self.deadline is not None:
            return self.deadline
        times = self.times.get(kind)
        if not times:
            return UNKNOWN_DEADLINE
        rounds = math.ceil(shards / max(threads, 1))
        return max(SHORTEST_DEADLINE, TIMES_THE_MEDIAN * statistics.median(times) * rounds)

    def placed(self, shards: Sequence[Shard]) -> dict[str, str]:
        """A worker for each shard: the one that holds it, if it is alive and not overloaded, else the least loaded."""
        alive = self.threads()
        threads = {name: count for name, count in alive.items() if name not in self.slow} or alive
        if not threads:
            return {}
        total = sum(threads.values())
        room = {name: math.ceil(len(shards) * count / total) for name, count in sorted(threads.items())}
        found: dict[str, str] = {}
        for shard in shards:
            home = self.homes.get(shard.name)
            if home is not None and room.get(home, 0) > 0:
                found[shard.name], room[home] = home, room[home] - 1
        for shard in shards:
            if shard.name not in found:
                idlest = max(room, key=lambda name: room[name] / threads[name])
                found[shard.name], room[idlest] = idlest, room[idlest] - 1
        return found

    def submit(self, function: Any, *args: Any, home: str | None = None) -> Any:
        """Submit a task that prefers a worker, but is not bound to it.

        If some workers are known to be slow, the task is bound to all others instead: a slow worker whose tasks were
        cancelled looks idle to Dask, which would move tasks to it again. If all workers are slow, as after the whole
        machine was suspended, the task is bound to the worker it prefers.
        """
        workers, loose = ([] if home is None else [home]), home is not None
        if self.slow:
            workers, loose = [name for name in sorted(self.threads()) if name not in self.slow] or workers, False
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._ask(
                self.client.submit,
                function,
                *args,
                key=f"rosenblatt-{function.__name__}-{uuid.uuid4().hex}",
                workers=workers or None,
                allow_other_workers=loose and bool(workers),
                pure=False,
            )

    def _ask(self, what: Any, *args: Any, **settings: Any) -> Any:
        """Call the client; a lost scheduler is an error with a remedy."""
        if self.client.status not in ("running", "connecting"):
            raise lost()
        try:
            return what(*args, **settings)
        except (OSError, RuntimeError, TimeoutError) as error:
            if self.client.status != "running":
                raise lost() from error
            raise


def lost() -> ConnectionError:
    """The error for a scheduler that has disappeared."""
    return ConnectionError(
        "The scheduler of the cluster is gone. With a checkpoint, training can continue from its last epoch: "
        "resume=True."
    )


class Round:
    """One question to all shards, and their answers."""

    def __init__(self, cluster: Cluster, question: AskShard, shards: Sequence[Shard]) -> None:
        known = isinstance(question, AskExamples)  # workers that were asked before hold the examples
        self.cluster, self.question, self.shards = cluster, question, shards
        self.kind = type(question.question if isinstance(question, AskExamples) else question)
        self.blob = dumps(question, protocol=5)
        self.events: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
        self.flights = [ShardInFlight() for _ in shards]
        self.ready: set[int] = set()
        self.reached: set[str] = set()
        self.sent, self.bare = None, 0.0  # the weights on the cluster; the time since when there is no worker
        homes = cluster.placed(shards)
        for i, shard in enumerate(shards):
            self.flights[i].whole = not known or shard.name not in cluster.homes
            self.flights[i].home = homes.get(shard.name)
            self._launch(i)

    # -- sending shards ------------------------------------------------------------------------------------------------

    def _launch(self, i: int) -> None:
        flight, shard = self.flights[i], self.shards[i]
        held: dict[str, Any] = {}
        if isinstance(shard, HeldShard):
            recipe: Any = absent
            if flight.whole:
                assert isinstance(shard.recipe, CollectionBlock)
                recipe, held = shard.recipe.packed()
            shard = replace(shard, recipe=recipe)
        if self.sent is None:
            # A task that prefers a worker which dies can wait for it: only the shards' own tasks are sent again then.
            safe = flight.home if self.cluster.slow else None
            self.sent = self.cluster.submit(shared_with_workers, self.blob, home=safe)
        flight.future = self.cluster.submit(
            run_on_worker, shard, self.sent, self.cluster.memory, held, home=flight.home
        )
        flight.number += 1
        flight.since = time.monotonic()
        self._listen(i)

    def _listen(self, i: int) -> None:
        """Put an event into the queue when the shard is ready."""
        self.ready.discard(i)
        number = self.flights[i].number
        self.flights[i].future.add_done_callback(lambda _: self.events.put((i, number)))

    def _again(self, i: int, error: BaseException) -> None:
        """Send a shard to another worker, if it has attempts left."""
        flight = self.flights[i]
        flight.attempts += 1
        if flight.attempts >= ATTEMPTS:
            raise error
        if flight.home is not None:
            flight.avoid.add(flight.home)
        alive, slow = set(self.cluster.threads()), self.cluster.slow
        others = sorted(alive - slow - flight.avoid or alive - slow or alive - flight.avoid)
        flight.home = others[i % len(others)] if others else None
        self._send_again(i)

    def _send_again(self, i: int) -> None:
        self.cluster.sent_again += 1
        self.sent = None  # the weights may be held by a worker that fails or died
        self._relaunch(i)

    def _relaunch(self, i: int) -> None:
        flight = self.flights[i]
        self.ready.discard(i)
        if flight.future is not None and flight.future.status == "pending":
            self.cluster._ask(flight.future.cancel)
        flight.future = None
        self._launch(i)

    def end(self) -> None:
        """Cancel what is still running."""
        for flight in self.flights:
            if flight.future is not None and self.cluster.client.status == "running":
                flight.future.cancel()
            flight.future = None
        self.sent = None

    # -- receiving answers ---------------------------------------------------------------------------------------------

    def answers(self) -> Iterator[Any]:
        """The answer of each shard, in the order of the shards."""
        for i in range(len(self.shards)):
            while True:
                done = self._fetched(i) if i in self.ready else None
                if done is not None:
                    break
                self._wait()
            yield done.value

    def _wait(self) -> None:
        """Process one event, or check the deadlines if there is none."""
        try:
            i, number = self.events.get(timeout=TICK)
        except queue.Empty:
            self._check_deadlines()
            return
        flight = self.flights[i]
        if number != flight.number or flight.future is None:
            return
        status = flight.future.status
        if status == "finished":
            self.ready.add(i)
            self._trust(flight.future)
        elif status == "error":
            self._failed(i, flight.future.exception(timeout=SHORTEST_DEADLINE))
        else:
            self._failed(i, FutureCancelledError(flight.future.key, "the cluster lost it"))

    def _trust(self, future: Any) -> None:
        """A worker that has finished a task is no longer slow."""
        if self.cluster.slow:
            with suppress(CancelledError):  # just cancelled by the cluster: fetching it raises the error
                self.cluster.slow.difference_update(*self.cluster._ask(self.cluster.client.who_has, future).values())

    def _check_deadlines(self) -> None:
        if self.cluster.client.status not in ("running", "connecting"):
            raise lost()
        alive, now = self.cluster.threads(), time.monotonic()
        limit = self.cluster.limit(self.kind, len(self.shards), sum(alive.values()))
        if not alive:  # with no workers, deadlines pause
            self.bare = self.bare or now
            if now - self.bare > ATTEMPTS * limit:
                raise ConnectionError(f"The cluster has had no worker for {now - self.bare:.0f} s.")
            for flight in self.flights:
                flight.since = now
            return
        self.bare = 0.0
        for i, flight in enumerate(self.flights):
            if flight.future is None or i in self.ready:
                continue
            if now - flight.since > limit:
                self.late(i, limit)
            elif flight.home is not None and flight.home not in alive:
                self._orphaned(i, sorted(alive))

    def late(self, i: int, limit: float) -> None:
        """A shard took too long: mark its worker as slow, and send it to another."""
        flight, name = self.flights[i], self.shards[i].name
        for worker, keys in self.cluster._ask(self.cluster.client.processing).items():
            if flight.future.key in keys:  # Dask may have moved it
                flight.home = worker
        if flight.home is not None:
            self.cluster.slow.add(flight.home)
        self._again(i, TimeoutError(f"{name}: {ATTEMPTS} attempts took longer than their deadline of {limit:.0f} s."))

    def _orphaned(self, i: int, alive: list[str]) -> None:
        """A worker died: send its shard to another. Only repeated deaths count as a fault of the shard."""
        flight, name = self.flights[i], self.shards[i].name
        flight.deaths += 1
        if flight.deaths >= DEATHS:
            raise ConnectionError(f"{name}: the workers that processed it died {DEATHS} times.")
        flight.home = alive[i % len(alive)]
        self._send_again(i)

    def _failed(self, i: int, error: BaseException) -> None:
        if isinstance(error, AbsentError):
            self.flights[i].whole = True
            self._relaunch(i)
            return
        if not isinstance(error, PASSING):
            raise error
        if isinstance(error, KilledWorker):
            error = ConnectionError(f"{self.shards[i].name}: the workers that processed it died {ATTEMPTS} times.")
        self._again(i, error)

    def _fetched(self, i: int) -> WorkerAnswer | None:
        """The answer of a shard that is ready; None if it was lost, and the shard was sent again."""
        flight, cluster = self.flights[i], self.cluster
        limit, patience = cluster.limit(self.kind, len(self.shards), 1), TICK
        while True:
            try:
                done: WorkerAnswer = flight.future.result(timeout=min(patience, limit))
                break
            except TimeoutError:
                if flight.future.status != "finished":  # its worker died: Dask recomputes it, or we send it again
                    self._listen(i)
                    return None
                patience *= 2  # the answer is large, or the network slow
                if patience > 2 * limit:
                    self.late(i, limit)
                    return None
            except Exception as error:  # its worker died after it was ready, and recomputing it failed
                self._failed(i, error)
                return None
        try:
            self._checked(done, self.shards[i])
        except Exception as error:
            flight.home = done.worker if isinstance(done, WorkerAnswer) else flight.home
            self._failed(i, error)
            return None
        flight.future = None
        cluster.homes[self.shards[i].name] = done.worker
        cluster.times.setdefault(self.kind, []).append(done.seconds)
        if isinstance(done.value, TimedAnswer):
            cluster.bytes_moved += done.value.nbytes
        if done.worker not in self.reached:
            self.reached.add(done.worker)
            cluster.bytes_moved += len(self.blob)
        return done

    def _checked(self, done: Any, shard: Shard) -> None:
        """Raise the error of the worker, or an error for an invalid answer."""
        if not (isinstance(done, WorkerAnswer) and isinstance(done.worker, str) and is_number(done.seconds)):
            raise FileError(f"a worker answered with {type(done).__name__} instead of a WorkerAnswer", shard.name)
        if done.error is not None:
            raise done.error
        accepted(done.value, self.question, shard, done.worker)


# -- collections -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CollectionBlock:
    """The recipe for one block of a collection: its part of the graph, run where the block is needed.

    Parts of a collection that the cluster already holds (`persist`) are futures in the graph. Futures cannot be sent
    inside a record: a task gets them as the separate argument `held`, and Dask replaces them by their results.
    """

    parts: tuple[tuple[dict[Any, Any], Any], ...]  # a graph, and the key of the block in it

    def __call__(self, held: dict[str, Any] | None = None) -> Any:
        """The block: rows and labels, or a frame."""
        made = [get_sync(_filled(graph, held or {}), key) for graph, key in self.parts]
        return made[0] if len(made) == 1 else tuple(made)

    def packed(self) -> tuple[CollectionBlock, dict[str, Any]]:
        """The block without its futures, and the futures by name."""
        futures = {
            str(key): value for graph, _ in self.parts for key, value in graph.items() if isinstance(value, Future)
        }
        bare = tuple(
            ({key: None if isinstance(value, Future) else value for key, value in graph.items()}, block)
            for graph, block in self.parts
        )
        return CollectionBlock(bare), futures


def _filled(graph: dict[Any, Any], held: dict[str, Any]) -> dict[Any, Any]:
    """The graph with its futures replaced by their results."""
    return {
        key: held[str(key)] if str(key) in held else value.result() if isinstance(value, Future) else value
        for key, value in graph.items()
    }


def collection_shards(source: Any, settings: dict[str, Any]) -> tuple[list[Any], Reading]:
    """One shard per block of a collection, and how it is read."""
    if not isinstance(source, tuple):
        if not hasattr(source, "columns"):
            raise TypeError("A Dask array of rows needs one of labels, given as a pair: fit(model, (X, y)).")
        return _shards([source]), make_reading("", format="parquet", **settings)
    if settings:
        raise ValueError(
            f"{sorted(settings)} are settings of how files are read; they do not apply to a pair of collections."
        )
    X, y = source
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
    known = hasattr(X, "chunks") and not any(math.isnan(size) for size in X.chunks[0])
    if known and hasattr(y, "rechunk"):
        if y.shape != (X.shape[0],):
            raise ValueError(f"Labels of shape {y.shape} do not match rows of shape {X.shape}.")
        y = y.rechunk((X.chunks[0],))
    how = Reading("arrays", n_features=int(X.shape[1]), zero_based=True, multilabel=False)
    return _shards([X] if y is None else [X, y]), how


def _shards(collections: list[Any]) -> list[HeldShard]:
    """One shard per block, with the parts of the graphs that compute it."""
    keys = [_flat(one.__dask_keys__()) for one in collections]
    if len({len(one) for one in keys}) != 1:
        counts = " and ".join(str(len(one)) for one in keys)
        raise ValueError(f"Rows and labels are divided differently: {counts} blocks.")
    graphs = [dict(one.__dask_graph__()) for one in collections]
    name = "-".join(str(getattr(one, "name", None) or one._name) for one in collections)
    return [
        HeldShard(
            f"block {k} of {name}",
            CollectionBlock(tuple((cull(graph, [key])[0], key) for graph, key in zip(graphs, these, strict=True))),
        )
        for k, these in enumerate(zip(*keys, strict=True))
    ]


def _flat(keys: Any) -> list[Any]:
    return [one for key in keys for one in _flat(key)] if isinstance(keys, list) else [keys]
