"""Training in shards, on Dask workers and in process: speed, overhead, quality, and the time to an accuracy.

`python benchmarks/bench_cluster.py [rows per shard]`; by default 8 shards of 250,000 rows. Workers are processes on
this machine with one thread each. `python benchmarks/bench_cluster.py plan` prints the tables of docs/cluster.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import scipy.sparse as sp
from tables import head, left_out, say

SHARDS, EPOCHS = 8, 5


def write_block(folder: Path, rows: int) -> tuple[Any, Any]:
    """Save text-like rows for workers to load, and a tenth more rows as a test set."""
    held = max(rows // 10, 1000)
    X, y = datasets.text_like(rows + held)
    sp.save_npz(folder / "X.npz", X[:rows], compressed=False)
    np.save(folder / "y.npy", y[:rows])
    return X[rows:], y[rows:]


def load_rows(folder: str, block: int) -> Any:
    return sp.load_npz(Path(folder) / "X.npz")


def load_labels(folder: str, block: int) -> Any:
    return np.load(Path(folder) / "y.npy")


def collection(folder: Path, rows: int, features: int) -> tuple[Any, Any]:
    """A Dask array of sparse blocks and one of labels, which the workers load themselves."""
    import dask
    import dask.array as da

    parts = [
        (dask.delayed(load_rows)(str(folder), k), dask.delayed(load_labels)(str(folder), k)) for k in range(SHARDS)
    ]
    empty = sp.csr_matrix((0, 0), dtype=np.float32)
    X = da.concatenate([da.from_delayed(one, (rows, features), dtype=np.float32, meta=empty) for one, _ in parts])
    y = da.concatenate([da.from_delayed(one, (rows,), dtype=np.int64) for _, one in parts])
    return X, y


def epoch_of(model: Any) -> float:
    """The fastest epoch after the first, which also reads the rows."""
    return min(record.seconds for record in model.report_.epochs[1:])


def speed(folder: Path, rows: int, kinds: tuple[str, ...] = ("here", "one", "two")) -> dict[str, float]:
    """Epochs of 8 cached shards: in process, on one worker and on two."""
    from distributed import Client, LocalCluster

    import rosenblatt

    write_block(folder, rows)
    source = collection(folder, rows, 47_236)
    best = dict.fromkeys(kinds, float("inf"))

    def learn(**how: Any) -> float:
        return epoch_of(rosenblatt.fit(rosenblatt.AveragedPerceptron(max_epochs=EPOCHS, random_state=0), source, **how))

    def cluster(workers: int) -> Any:
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="12GB"
        )

    with ExitStack() as stack:
        ways: dict[str, dict[str, Any]] = {"here": {"memory": "8GB"}}
        for kind, workers in (("one", 1), ("two", 2)):
            if kind in kinds:
                ways[kind] = {"client": stack.enter_context(Client(stack.enter_context(cluster(workers))))}
        for _ in range(3):  # interleaved, so that all have the same load on the machine
            for kind in kinds:
                best[kind] = min(best[kind], learn(**ways[kind]))
    return best


def scaling(folder: Path, rows: int) -> None:
    best = speed(folder, rows)
    work = f"an epoch of {SHARDS * rows:,} text-like rows, {SHARDS} shards, cached"
    say(
        f"{work}: 2 workers against 1",
        f"{best['two']:.2f} s",
        f"{best['one']:.2f} s",
        f"{best['one'] / best['two']:.2f} ×",
        "≥ 1.5 ×",
    )
    _over("the same: 1 worker against fit in process", best, "")


def overhead(folder: Path, rows: int) -> None:
    """The overhead of the engine for epochs of about a second."""
    best = speed(folder, rows, ("here", "one"))
    work = f"an epoch of {SHARDS * rows:,} text-like rows, {SHARDS} shards, cached"
    _over(f"{work}: 1 worker against fit in process", best, "≤ 15 % for epochs of a second or more")


def _over(work: str, best: dict[str, float], goal: str) -> None:
    one, here = best["one"], best["here"]
    say(work, f"{one:.2f} s", f"{here:.2f} s", f"{100 * (one / here - 1):+.0f} %", goal)


def quality() -> None:
    """Test accuracy with 8 shards compared with the averaged perceptron on one machine, rows in random order."""
    import rosenblatt

    for name, found in (("20 Newsgroups", datasets.news()), ("MNIST", datasets.mnist())):
        if found is None:
            left_out(f"{name}, {SHARDS} shards (set ROSENBLATT_DATA)")
            continue
        X, y, T, u = found
        order = np.random.default_rng(0).permutation(X.shape[0])
        X, y = X[order], y[order]
        for passes in (1, 3, 10):
            single = rosenblatt.AveragedPerceptron(max_epochs=passes, random_state=0).fit(X, y)
            mixed = rosenblatt.AveragedPerceptron(max_epochs=passes, random_state=0)
            rosenblatt.fit(mixed, (X, y), shards=SHARDS, n_jobs=2)
            ours, whole = 100 * mixed.score(T, u), 100 * single.score(T, u)
            say(
                f"{name}, test accuracy, {SHARDS} shards, {passes} passes",
                f"{ours:.2f} %",
                f"{whole:.2f} % (one machine)",
                f"{ours - whole:+.2f} points",
                "≥ −0.6 points" if passes == 10 else "",
            )


def sooner(folder: Path, rows: int) -> None:
    """Seconds to reach a test accuracy, compared with scikit-learn's SGD passed from block to block.

    That is what dask_ml's `Incremental` does: one `partial_fit` after another, each on the worker of its block.
    """
    from distributed import Client, LocalCluster
    from sklearn.linear_model import SGDClassifier

    from rosenblatt import AveragedPerceptron
    from rosenblatt.scale.sharded_source import training_in_shards

    T, u = write_block(folder, rows)
    source = collection(folder, rows, T.shape[1])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="8GB") as local,
        Client(local) as client,
    ):
        blocks = [
            (client.submit(load_rows, str(folder), k), client.submit(load_labels, str(folder), k))
            for k in range(SHARDS)
        ]
        client.gather([client.submit(np.size, labels) for _, labels in blocks])
        theirs, seconds, peer = [], 0.0, SGDClassifier(random_state=0)
        for _ in range(3):
            began = time.perf_counter()
            model = client.submit(_as_it_is, peer, pure=False)
            for X, y in blocks:
                model = client.submit(_partial_fit, model, X, y, pure=False)
            peer = model.result()
            seconds += time.perf_counter() - began
            theirs.append((seconds, peer.score(T, u)))
        goal, _ = max(score for _, score in theirs), blocks.clear()
        reached = next(seconds for seconds, score in theirs if score >= goal)
        for _ in training_in_shards(AveragedPerceptron(max_epochs=1, random_state=0), source, client=client):
            pass  # reads the rows, as the peer has already done
        ours, lost, model = float("nan"), 0.0, AveragedPerceptron(max_epochs=30, random_state=0)
        began = time.perf_counter()
        for step in training_in_shards(model, source, client=client):
            if step.record is not None:
                stopped = time.perf_counter()
                good = model.score(T, u) >= goal
                lost += time.perf_counter() - stopped
                if good:
                    ours = stopped - began - lost + (time.perf_counter() - stopped)
                    break
    say(
        f"{SHARDS * rows:,} text-like rows, 2 workers: time to test accuracy {goal:.4f}",
        f"{ours:.2f} s",
        f"{reached:.2f} s (SGDClassifier, block by block)",
        f"{reached / ours:.1f} ×",
        "≥ 3 ×",
    )


def _as_it_is(model: Any) -> Any:
    return model


def _partial_fit(model: Any, X: Any, y: Any) -> Any:
    from sklearn.base import clone

    model = clone(model) if not hasattr(model, "coef_") else model
    return model.partial_fit(X, y, classes=[0, 1])


def plan(rows: int = 50_000) -> None:
    """Bytes and seconds per pass: predicted by the model of docs/cluster.md, and measured with 1 and 2 workers."""
    from distributed import Client, LocalCluster

    import rosenblatt

    columns = "features | workers | moved per pass, predicted | measured | time per pass, measured | predicted"
    print(f"| {columns} |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_block(folder, rows)
        rate = None
        for features in (47_236, 1_000_000):
            X = sp.load_npz(folder / "X.npz")
            X.resize(rows, features)
            sp.save_npz(folder / "X.npz", X, compressed=False)
            source = collection(folder, rows, features)
            alone = rosenblatt.AveragedPerceptron(max_epochs=4, random_state=0)
            rosenblatt.fit(alone, source, memory="4GB")
            rate = rate or epoch_of(alone) / (SHARDS * rows)  # seconds per row on one core
            for workers in (1, 2):
                with (
                    LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
                    Client(local) as client,
                ):
                    model = rosenblatt.AveragedPerceptron(max_epochs=4, random_state=0)
                    rosenblatt.fit(model, source, client=client)
                sharding, measured = model.report_.sharding, epoch_of(model)
                moved = features * (4 * workers + 12 * SHARDS)
                share = SHARDS * rows * rate / workers + features * (4 * workers + 12 * SHARDS) / BANDWIDTH
                share += SHARDS * features * MIXING + OVERHEAD * SHARDS
                print(
                    f"| {features:,} | {workers} | {moved / 1e6:,.1f} MB | {sharding.bytes_moved / 4e6:,.1f} MB | "
                    f"{measured:.2f} s | {share:.2f} s |",
                    flush=True,
                )
        assert rate is not None
        print(f"\na row of {X.nnz / rows:.0f} values takes {1e6 * rate:.2f} µs on one core\n")
        far(rate)


def far(rate: float, rows: float = 1e9, features: float = 1e6, workers: int = 100, network: float = 1.25e9) -> None:
    """The prediction of the same model for a large cluster: float32 rows of 63 values, one shard per worker."""
    learning, moved = rows * rate / workers, features * (4 + 12) * workers
    lines = [
        ("rows in the memory of a worker", f"{rows * 63 * 8 / workers / 1e9:.1f} GB"),
        ("learning", f"{learning:.1f} s"),
        ("weights moved", f"{moved / 1e9:.1f} GB, {moved / network:.1f} s at {8 * network / 1e9:.0f} Gbit/s"),
        ("mixing", f"{MIXING * features * workers:.1f} s"),
        ("tasks", f"{OVERHEAD * workers:.1f} s"),
    ]
    total = learning + moved / network + MIXING * features * workers + OVERHEAD * workers
    lines.append(("a pass", f"{total:.1f} s, {100 * learning / total:.0f} % of it learning"))
    lines.append(("a pass on one core with enough memory", f"{rows * rate / 60:.0f} min"))
    print("| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in lines))


BANDWIDTH = 5e8  # assumed: bytes per second between processes of one machine, including pickling
MIXING = 1.5e-8  # measured, 13 to 22 ns: seconds per feature and shard, in the driver
OVERHEAD = 5.5e-3  # measured, 4.4 to 6.7 ms: seconds per task, from passes over shards of ten rows


def run(rows: int = 250_000) -> None:
    """Every row."""
    warnings.simplefilter("ignore")
    try:
        import distributed  # noqa: F401
    except ImportError:
        left_out("cluster (pip install 'rosenblatt[cluster]')")
        return
    head("Shards and a cluster (workers are processes of this machine)")
    quality()
    with tempfile.TemporaryDirectory() as folder:
        scaling(Path(folder), rows)
        overhead(Path(folder), 4 * rows)
        sooner(Path(folder), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["plan"]:
        plan()
    else:
        run(int(sys.argv[1]) if len(sys.argv) > 1 else 250_000)
