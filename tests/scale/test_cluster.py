"""A real cluster of worker processes: the same bits as in process, whoever dies and whenever."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster, get_worker
from distributed.security import Security
from distributed.utils import get_mp_context
from sklearn import datasets
from typer.testing import CliRunner

import rosenblatt
from from_files import same
from rosenblatt import FileError, fit, load, predict, read, score
from rosenblatt.cli import main as cli
from rosenblatt.scale import dask_cluster as cluster
from rosenblatt.scale import row_cache as cache
from rosenblatt.scale import sharded_source as mixed
from rosenblatt.scale.shards import HeldShard

needs_processes = pytest.mark.compiled  # worker processes compile, or interpret, anew: too slow without compilation
SHARDS, ROWS, FEATURES = 6, 60, 12
SETTINGS = {
    "distributed.worker.multiprocessing-method": "forkserver",  # a worker that died is back within a second
    "distributed.scheduler.allowed-failures": 3,
    "distributed.comm.timeouts.connect": "5s",
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setattr(cache, "RACY", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def start(workers, **settings):
    get_mp_context()  # sets a list of its own once
    multiprocessing.set_forkserver_preload(["distributed", "rosenblatt.scale.dask_cluster", "warm"])
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "memory_limit": "2GB"}
    return LocalCluster(n_workers=workers, threads_per_worker=1, **quiet, **settings)


@pytest.fixture(scope="module")
def two():
    """A client of two worker processes."""
    here = str(Path(__file__).parent.parent)  # where the server that forks them finds `warm`
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    with dask.config.set(SETTINGS), start(2) as local, Client(local) as client:
        yield client


@pytest.fixture(scope="module")
def inside():
    """A client of two workers that are threads of this process: what they run is seen by coverage."""
    with dask.config.set(SETTINGS), start(2, processes=False) as local, Client(local) as client:
        yield client


def rows(classes=3, n=SHARDS * ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3000, 3001, (n, FEATURES)) / 1024
    return X, np.argmax(X @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(n, classes)), axis=1)


def write(folder, X, y, count=SHARDS):
    for k in range(count):
        part = slice(len(y) * k // count, len(y) * (k + 1) // count)
        datasets.dump_svmlight_file(X[part], y[part], str(folder / f"part-{k}.svm"), zero_based=False)
    old = time.time() - 100  # settled, for workers that look at the clock
    for path in folder.glob("*.svm"):
        os.utime(path, (old, old))
    return str(folder / "part-*.svm")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows"), *rows())


def learner(epochs=4, name="AveragedPerceptron", **settings):
    return getattr(rosenblatt, name)(max_epochs=epochs, random_state=0, **settings)


# -- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("AveragedPerceptron", {}),
        ("Perceptron", {"multiclass": "ovo", "record_errors": True}),
        ("PassiveAggressive", {"multiclass": "ovr"}),
        ("AROW", {}),
        ("LinearClassifier", {"penalty": "l1"}),
        ("PassiveAggressiveRegressor", {}),
    ],
    ids=lambda one: str(one)[:30],
)
def test_in_process_and_on_workers_to_the_bit(files, inside, name, settings):
    for mixing in ("uniform", "mistakes"):
        here = fit(learner(name=name, **settings), files, shards=SHARDS, mixing=mixing)
        there = fit(learner(name=name, **settings), files, client=inside, mixing=mixing)
        same(here, there)
        assert here.report_.sharding.mistakes == there.report_.sharding.mistakes
        assert there.report_.sharding.bytes_moved > 0
        for one, other in zip(here.report_.epochs, there.report_.epochs, strict=True):
            assert (one.updates, one.errors, one.loss) == (other.updates, other.errors, other.loss)


@needs_processes
def test_one_two_and_three_worker_processes_give_the_same_bits(files, two):
    here = fit(learner(), files, shards=SHARDS, n_jobs=2)
    same(here, fit(learner(), files, client=two))
    nine = fit(learner(), files, shards=9)
    same(nine, fit(learner(), files, client=two, shards=9))
    try:
        for workers in (1, 3):
            two.cluster.scale(workers)
            two.wait_for_workers(workers, timeout=30)
            deadline = time.monotonic() + 30
            while len(two.nthreads()) != workers and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(two.nthreads()) == workers
            same(here, fit(learner(), files, client=two))
    finally:
        two.cluster.scale(2)


def test_shards_stay_where_they_are_and_move_where_there_is_room(inside):
    engine = cluster.Cluster(inside)
    shards = [HeldShard(str(k), cluster.absent) for k in range(4)]
    one, other = sorted(inside.nthreads())
    engine.homes = {"0": one, "1": one, "2": one, "3": "tcp://dead:1"}
    assert sorted(engine.placed(shards).values()) == [one, one, other, other]
    assert engine.placed(shards)["0"] == engine.placed(shards)["1"] == one
    engine.slow = {one}
    assert set(engine.placed(shards).values()) == {other}
    engine.slow = {one, other}
    assert set(engine.placed(shards).values()) == {one, other}


def test_deadlines(inside):
    engine = cluster.Cluster(inside)
    assert engine.limit("Pass", 10, 2) == cluster.UNKNOWN_DEADLINE
    engine.times["Pass"] = [1.0, 2.0, 300.0]
    assert engine.limit("Pass", 2, 2) == 60.0
    assert engine.limit("Pass", 10, 2) == 100.0
    assert cluster.Cluster(inside, deadline=3.0).limit("Pass", 10, 2) == 3.0
    with pytest.raises(ValueError, match="seconds above 0"):
        cluster.Cluster(inside, deadline=-1.0)
    with pytest.raises(TypeError, match=r"dask\.distributed\.Client"):
        fit(learner(), "rows.svm", client="tcp://scheduler:8786")


# -- collections -----------------------------------------------------------------------------------------------------


def test_dask_arrays(inside):
    X, y = rows()
    here = fit(learner(), (X, y), shards=SHARDS)
    lazy, labels = da.from_array(X, chunks=(ROWS, 5)), da.from_array(y, chunks=100)
    same(here, fit(learner(), (lazy, labels), client=inside))
    same(here, fit(learner(), (lazy, labels)))
    kept = inside.persist(lazy), inside.persist(labels)
    same(here, fit(learner(), kept, client=inside))
    same(here, fit(learner(), kept))
    sparse = lazy.rechunk({1: -1}).map_blocks(sp.csr_matrix)
    there = fit(learner(), (sparse, labels), client=inside)
    same(there, fit(learner(), (sp.csr_matrix(X), y), shards=SHARDS))
    single = fit(learner(), (lazy.astype(np.float32), labels), client=inside)
    assert single.coef_.dtype == np.float32
    assert score(there, (sparse, labels), client=inside) == there.score(X, y)
    named = da.from_array(np.array(["a", "b", "c"])[y], chunks=100)
    assert fit(learner(), (lazy, named), client=inside).classes_.tolist() == ["a", "b", "c"]


def test_dask_frames(inside, tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(FEATURES)])
    frame["colour"] = np.where(np.arange(len(y)) < 70, "red", "blue")
    frame["kind"] = np.array(["a", "b", "c"])[y]
    lazy = dd.from_pandas(frame, npartitions=4)
    lazy.to_parquet(tmp_path / "table", write_index=False)
    here = fit(learner(), str(tmp_path / "table" / "*.parquet"), shards=4, label="kind")
    assert here.n_features_in_ == FEATURES + 2
    there = fit(learner(), lazy, client=inside, label="kind")
    np.testing.assert_array_equal(there.coef_.shape, here.coef_.shape)
    assert there.reading_.layout == here.reading_.layout
    same(there, fit(learner(), inside.persist(lazy), label="kind"))
    assert score(there, lazy, client=inside) == score(here, str(tmp_path / "table" / "*.parquet"))
    pair = lazy[[f"x{k}" for k in range(FEATURES)]], lazy["kind"]
    assert fit(learner(), pair, client=inside).classes_.tolist() == ["a", "b", "c"]


def test_collections_that_do_not_go_together(inside):
    X, y = da.ones((6, 2), chunks=2), da.ones(5, chunks=2)
    with pytest.raises(ValueError, match="do not go with"):
        fit(learner(), (X, y), client=inside)
    unknown = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match="cut differently"):
        fit(learner(), (unknown, da.ones(6, chunks=6)), client=inside)
    with pytest.raises(TypeError, match="as a pair"):
        fit(learner(), X, client=inside)
    with pytest.raises(ValueError, match="repartition"):
        fit(learner(), (X, X[:, 0]), client=inside, shards=2)
    with pytest.raises(ValueError, match="how files are read"):
        fit(learner(), (X, X[:, 0]), client=inside, label="y")
    with pytest.raises(ValueError, match="stay here"):
        fit(learner(), (np.ones((6, 2)), np.ones(6)), client=inside)
    with pytest.raises(ValueError, match="threads of this process"):
        fit(learner(), (X, X[:, 0]), client=inside, n_jobs=2)


# -- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_shard_by_shard(files, inside, tmp_path):
    X, y = read(files)
    model = fit(learner(), files, client=inside)
    for where, client in (("there", inside), ("here", None)):
        paths = predict(model, files, tmp_path / where, client=client, scores=True)
        assert [path.name for path in paths] == [f"part-{k:05d}.parquet" for k in range(SHARDS)]
        tables = [pq.read_table(path) for path in paths]
        said = np.concatenate([table["prediction"].to_numpy() for table in tables])
        np.testing.assert_array_equal(said, model.predict(X))
        scores = np.concatenate([table["score 0.0"].to_numpy() for table in tables])
        np.testing.assert_array_equal(scores, model.decision_function(X)[:, 0])
        assert score(model, files, client=client) == model.score(X, y)
    lazy = da.from_array(X.toarray(), chunks=(100, -1))
    paths = predict(model, lazy, tmp_path / "lazy", client=inside)
    said = np.concatenate([pq.read_table(path)["prediction"].to_numpy() for path in paths])
    np.testing.assert_array_equal(said, model.predict(X))


def test_predictions_of_other_kinds(tmp_path, files):
    X, y = read(files)
    numbers = fit(learner(name="PassiveAggressiveRegressor"), files, shards=2)
    assert score(numbers, files, n_jobs=2) == pytest.approx(numbers.score(X, y))
    two = rosenblatt.Perceptron(max_epochs=2).fit(X, np.where(y > 0, "yes", "no"))
    (path,) = predict(two, (X, None), tmp_path / "two", scores=True)
    assert set(pq.read_table(path)["prediction"].to_pylist()) <= {"yes", "no"}
    np.testing.assert_array_equal(pq.read_table(path)["score"].to_numpy(), two.decision_function(X))
    labels = rosenblatt.Perceptron(max_epochs=2).fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    (path,) = predict(labels, (X, None), tmp_path / "labels")
    assert pq.read_table(path)["prediction"].to_pylist()[:5] == [
        np.flatnonzero(row).tolist() for row in labels.predict(X[:5])
    ]
    empty = tmp_path / "empty.svm"
    empty.write_text("# nothing\n")
    (path,) = predict(numbers, empty, tmp_path / "empty")
    assert pq.read_table(path).num_rows == 0
    with pytest.raises(FileError, match="found none"):
        score(numbers, empty)
    with pytest.raises(FileError, match="expected 12 features, found 3"):
        score(numbers, (X[:, :3], y))
    with pytest.raises(FileError, match="labels to compare with"):
        score(numbers, (X, None))
    assert score(rosenblatt.KernelPerceptron(max_epochs=2).fit(X, y), (X, y)) > 0.5
    constant = np.full(X.shape[0], 2.0)
    flat = rosenblatt.PassiveAggressiveRegressor(max_epochs=50).fit(X, constant)
    assert score(flat, (X, constant)) == float((flat.predict(X) == constant).all())


# -- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_corrupt_and_a_missing_shard_are_named(tmp_path, inside):
    source = write(tmp_path, *rows())
    engine = cluster.Cluster(inside)
    (tmp_path / "part-3.svm").write_text("1 1:1\n0 2:x\n")
    model, began = learner(), time.monotonic()
    with pytest.raises(FileError, match=r"part-3\.svm, line 2"):
        fit(model, source, client=inside)
    assert time.monotonic() - began < 30
    assert not hasattr(model, "coef_")
    write(tmp_path, *rows())
    with pytest.raises(FileError, match=r"missing\.svm.*no such file"):
        fit(model, [source, str(tmp_path / "missing.svm")], client=inside)
    assert engine.sent_again == 0


def test_shards_of_different_widths_and_a_class_that_one_shard_has(tmp_path, inside):
    X, y = rows()
    y[-ROWS:] = np.where(y[-ROWS:] == 0, 7, y[-ROWS:])
    y[:-ROWS] = np.where(y[:-ROWS] == 0, 1, y[:-ROWS])
    X[:ROWS, 4:] = 0.0  # the first file has 4 features, the last a class of its own
    source = write(tmp_path, sp.csr_matrix(X), y)
    there = fit(learner(), source, client=inside)
    same(there, fit(learner(), source, shards=SHARDS))
    assert there.n_features_in_ == FEATURES
    assert there.classes_.tolist() == [1.0, 2.0, 7.0]
    with pytest.raises(FileError, match=r"part-1\.svm, line 1, .*index of at most 5"):
        fit(learner(), source, client=inside, n_features=5)
    frame = pd.DataFrame({"a": [1.0, 2.0], "label": [0, 1]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame.assign(b=1.0).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(FileError, match=r"1\.parquet.*expected the columns"):
        fit(learner(), str(tmp_path / "*.parquet"), client=inside)


class Hidden(Exception):
    pass


def test_an_error_in_the_code_is_not_tried_again(files, inside, monkeypatch):
    calls = []

    def broken(*args):
        calls.append(1)
        raise Hidden

    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", broken)
    with pytest.raises(Hidden):
        fit(learner(), files, client=inside)
    assert len(calls) <= SHARDS


def test_a_passing_error_is_tried_elsewhere(files, inside, monkeypatch):
    one_pass, seen, lock = rosenblatt.learn.mixing.one_pass, set(), threading.Lock()

    def flaky(solver, examples, shard):
        with lock:
            first = (solver.state.epoch, shard) not in seen
            seen.add((solver.state.epoch, shard))
        if first and shard % 2:
            raise MemoryError
        return one_pass(solver, examples, shard)

    here = fit(learner(), files, shards=SHARDS)
    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", flaky)
    there = fit(learner(), files, client=inside)
    same(here, there)
    assert there.report_.sharding.sent_again == 4 * (SHARDS // 2)
    assert "sent again" in str(there.report_)


def test_a_worker_that_answers_wrongly(files, inside, monkeypatch):
    """One that does is replaced, with the same bits; where all do, the shard and the worker are named."""
    one_pass, here = rosenblatt.learn.mixing.one_pass, fit(learner(), files, shards=SHARDS)
    bad = sorted(inside.nthreads())[0]

    def broken(solver, examples, shard, everywhere=False):
        part = one_pass(solver, examples, shard)
        if shard == 3 and (everywhere or get_worker().address == bad):
            part.machines[0].coef[:] = np.nan
        return part

    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", broken)
    same(here, fit(learner(), files, client=inside))
    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", lambda *given: broken(*given, everywhere=True))
    model = learner()
    with pytest.raises(FileError, match=r"part-3\.svm: the answer of inproc://\S+ cannot be used: expected finite"):
        fit(model, files, client=inside)
    assert not hasattr(model, "coef_")
    with pytest.raises(FileError, match="a worker answered with str"):
        cluster.Round._checked(None, "done", HeldShard("rows", None))


def test_a_late_shard_is_sent_elsewhere(files, inside, monkeypatch):
    one_pass, hung, freed = rosenblatt.learn.mixing.one_pass, [], threading.Event()

    def slow(solver, examples, shard):
        if shard == 2 and solver.state.epoch == 1 and not hung:
            hung.append(1)
            freed.wait(60)
        return one_pass(solver, examples, shard)

    here = fit(learner(), files, shards=SHARDS)
    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", slow)
    monkeypatch.setattr(cluster, "TICK", 0.05)
    try:
        there = fit(learner(), files, client=inside, deadline=6.0)
    finally:
        freed.set()
    same(here, there)
    assert there.report_.sharding.sent_again >= 1


def test_a_shard_that_is_always_late_ends_the_run(files, inside, monkeypatch):
    freed = threading.Event()
    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", lambda *args: freed.wait(30))
    monkeypatch.setattr(cluster, "TICK", 0.05)
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match=r"part-\d\.svm: 3 attempts"):
            fit(learner(), files, client=inside, deadline=0.3)
    finally:
        freed.set()
    assert time.monotonic() - began < 15


def test_rows_that_a_worker_lost_are_made_again(inside):
    X, y = rows()
    lazy = da.from_array(X, chunks=(ROWS, -1)), da.from_array(y, chunks=ROWS)
    here = fit(learner(), (X, y), shards=SHARDS)
    for step in mixed.training(there := learner(), lazy, client=inside):
        if step.record is not None:
            inside.run(lambda dask_worker: vars(dask_worker).pop("rosenblatt_store", None))
    same(here, there)


def test_rows_that_are_held_are_not_made_for_another_fit(inside, monkeypatch):
    X, y = rows()
    lazy = da.from_array(X, chunks=(ROWS, -1)), da.from_array(y, chunks=ROWS)
    made, make = [], rosenblatt.scale.shards.HeldShard._made
    monkeypatch.setattr("rosenblatt.scale.shards.HeldShard._made", lambda self, how: made.append(1) or make(self, how))
    first = fit(learner(), lazy, client=inside)
    assert len(made) == SHARDS
    same(first, fit(learner(), lazy, client=inside))
    assert len(made) == SHARDS


def test_a_store_takes_half_of_the_memory_of_a_worker():
    class Memory:
        memory_limit = 1000

    class Worker:
        memory_manager = Memory()

    worker = Worker()
    assert cluster.store_of(worker, None).limit == 500
    assert cluster.store_of(worker, 7) is cluster.store_of(worker, 7)


def test_without_a_scheduler():
    with dask.config.set(SETTINGS), start(1, processes=False) as local:
        client = Client(local)
        engine = cluster.Cluster(client)
        client.close()
        with pytest.raises(ConnectionError, match="resume=True"):
            engine.threads()
    quick = dask.config.set({"distributed.comm.timeouts.connect": "0.5s"})
    with quick, pytest.raises(ConnectionError, match="no Dask scheduler"), cluster.connected("tcp://127.0.0.1:1"):
        pass


def test_without_dask(tmp_path):
    script = (
        "import sys\n"
        "sys.modules['distributed'] = None\n"
        "try:\n    import rosenblatt.scale.dask_cluster\n"
        "except ImportError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "A cluster needs Dask: pip install 'rosenblatt[cluster]'"


# -- death -----------------------------------------------------------------------------------------------------------


def steady(client):
    """Workers that are there, and whose nannies are through with starting them: one killed before stays dead."""
    alive = client.nthreads()
    nannies = [nanny for nanny in client.cluster.workers.values() if nanny.worker_address in alive]
    return [nanny for nanny in nannies if nanny.process is not None and nanny.process.status.name == "running"]


def ready(client, workers=2):
    """Wait until workers are there; a nanny that has given up is replaced, as any deployment would."""
    for patience in (10, 30, 30):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if len(steady(client)) >= workers:
                return
            time.sleep(0.02)
        client.cluster.scale(0)
        client.cluster.scale(2)
    raise AssertionError("no workers")


def killing(client, moments):
    """Kill workers at these moments: after so many seconds with workers there, so many of them."""
    killed = []

    def kill():
        for wait, count in moments:
            ready(client, count)
            time.sleep(wait)
            for nanny in steady(client)[:count]:
                os.kill(nanny.pid, signal.SIGKILL)
                killed.append(nanny.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread, killed


@needs_processes
def test_deaths_at_twenty_random_moments_change_no_bit(files, two):
    """In each run one worker dies, then both, while they learn; it ends within its deadline, with the same bits."""
    here, rng, deaths = fit(learner(20), files, shards=SHARDS), random.Random(1), 0
    for _ in range(10):
        ready(two)
        began = time.monotonic()
        thread, killed = killing(two, [(rng.uniform(0.0, 0.3), 1), (rng.uniform(0.0, 0.3), 2)])
        there = fit(learner(20), files, client=two, deadline=60)
        assert time.monotonic() - began < 60
        thread.join()
        same(here, there)
        deaths += len(killed)
    assert deaths >= 20


DRIVER = """
import os, sys, warnings
import rosenblatt
from distributed import Client
from rosenblatt.scale import sharded_source as mixed

warnings.simplefilter("ignore")
address, source, point = sys.argv[1:]
model = rosenblatt.AveragedPerceptron(max_epochs=12, random_state=0)
with Client(address) as client:
    for step in mixed.training(model, source, client=client, checkpoint=point, resume=True):
        if step.record is not None and step.epoch == 5:
            print("five", flush=True)
"""


@needs_processes
def test_the_driver_dies_and_another_goes_on(files, two, tmp_path):
    ready(two)
    point = tmp_path / "point"
    command = [sys.executable, "-c", DRIVER, two.scheduler.address, files, str(point)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert driver.stdout.readline() == "five\n"
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    assert load(point).n_iter_ >= 5
    again = fit(learner(12), files, client=two, checkpoint=point, resume=True)
    same(again, fit(learner(12), files, shards=SHARDS))
    assert len(again.report_.sharding.mistakes) == 12


MEMORY = """
import os, sys, warnings
import dask.array as da
import numpy as np
import rosenblatt
from distributed import Client

def block(block_id, rows):
    X = np.random.default_rng(block_id[0]).normal(size=(rows, 100))
    X[:, 0] = np.where(X[:, 1:].sum(axis=1) > 0, 1.0, 0.0)
    return X

warnings.simplefilter("ignore")
def learn(rows, client):
    made = da.map_blocks(lambda block_id: block(block_id, rows), chunks=((rows,) * 8, (100,)), dtype=float)
    rosenblatt.fit(rosenblatt.AveragedPerceptron(max_epochs=2), (made[:, 1:], made[:, 0]), client=client)
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3

with Client(sys.argv[1]) as client:
    small = learn(100, client)
    print(small, learn(20_000, client))
"""


@needs_processes
def test_the_driver_does_not_grow_with_the_data(two):
    """128 MB of rows that the workers make, and some megabytes of a driver that has seen 0.6 MB before."""
    ready(two)
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, two.scheduler.address], capture_output=True, text=True, check=True
    )
    small, large = map(float, run.stdout.split())
    assert large - small < 20


# -- the command line ------------------------------------------------------------------------------------------------


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "rosenblatt.cli.main", *words], capture_output=True, text=True, timeout=120
    )


@needs_processes
def test_the_command_line_trains_on_a_cluster(files, two, tmp_path):
    ready(two)
    where, out = two.scheduler.address, tmp_path / "model"
    run = command("train", files, "--cluster", where, "-o", str(out), "--epochs", "4")
    assert run.returncode == 0, run.stderr
    assert "dashboard: http" in run.stderr
    assert f"{SHARDS} shards" in run.stderr
    same(load(out), fit(learner(), files, shards=SHARDS))
    run = command("train", files, "--shards", str(SHARDS), "--jobs", "2", "-o", str(out), "--epochs", "4")
    same(load(out), fit(learner(), files, shards=SHARDS))
    run = command("train", files, "--cluster", where, "--workers", "2")
    assert (run.returncode, "give one of them" in run.stderr) == (2, True)


@needs_processes
def test_the_command_line_starts_workers_of_its_own(files, tmp_path):
    out = tmp_path / "model"
    run = command("train", files, "--workers", "1", "-o", str(out), "--epochs", "4")
    assert run.returncode == 0, run.stderr
    same(load(out), fit(learner(), files, shards=SHARDS))


def test_a_table_of_contents_survives(files, inside, tmp_path):
    """A model trained on a cluster is an ordinary model: it is saved, loaded, and goes on learning."""
    model = fit(learner(), files, client=inside)
    rosenblatt.save(model, Path(tmp_path, "model"))
    again = load(Path(tmp_path, "model"))
    same(model, again)
    assert again.report_ == model.report_
    X, y = read(files)
    same(model.partial_fit(X, y), again.partial_fit(X, y))


def test_all_workers_go_and_others_come(files, monkeypatch):
    """Between two passes, and in the middle of one: what was sent to workers that are gone is sent again."""
    here = fit(learner(), files, shards=SHARDS)
    one_pass, gone = rosenblatt.learn.mixing.one_pass, threading.Event()

    def slow(solver, examples, shard):
        if solver.state.epoch == 2 and not gone.is_set():
            gone.set()
            time.sleep(0.5)
        return one_pass(solver, examples, shard)

    monkeypatch.setattr("rosenblatt.learn.mixing.one_pass", slow)
    monkeypatch.setattr(cluster, "TICK", 0.05)
    with dask.config.set(SETTINGS), start(2, processes=False) as local, Client(local) as client:

        def replaced():
            gone.wait(30)
            local.scale(0)
            time.sleep(0.5)
            local.scale(2)

        thread = threading.Thread(target=replaced)
        thread.start()
        for step in mixed.training(there := learner(), files, client=client, deadline=20):
            if step.record is not None and step.epoch == 1:
                local.scale(0)
                while client.nthreads():
                    time.sleep(0.01)
                threading.Timer(0.5, local.scale, [2]).start()
        thread.join()
    same(here, there)


def test_a_cluster_that_stays_empty_ends_the_run(files, monkeypatch):
    monkeypatch.setattr(cluster, "TICK", 0.05)
    empty = pytest.raises(ConnectionError, match="no worker for")
    with dask.config.set(SETTINGS), start(0, processes=False) as local, Client(local) as client, empty:
        fit(learner(), files, client=client, deadline=0.2)


def listening(process):
    """The ports on which a process and its children listen."""
    several = [process, *process.children(recursive=True)]
    return [one.laddr for each in several for one in each.net_connections("inet") if one.status == "LISTEN"]


def test_workers_of_this_machine_answer_nobody_else():
    """Whoever talks to a scheduler, or to a worker, runs code as its user: others on this machine must not."""
    before, refused = set(listening(psutil.Process())), "(?i)closed|reset|certificate|timed out"
    quick = {"distributed.comm.timeouts.connect": "2s", "distributed.worker.memory.target": False}
    with dask.config.set(quick), cluster.connected(workers=1) as client:
        assert len(client.nthreads()) == 1
        assert client.scheduler.address.startswith("tls://127.0.0.1:")
        assert all(name.startswith("tls://127.0.0.1:") for name in client.nthreads())
        ports = set(listening(psutil.Process())) - before
        assert {place.ip for place in ports} == {"127.0.0.1"}
        for port in {place.port for place in ports}:
            with pytest.raises(OSError, match=r"404|reset|closed|refused|Remote end"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5)
        for name in (client.scheduler.address, *client.nthreads()):
            with pytest.raises(OSError, match=refused):
                Client(name.replace("tls://", "tcp://"), timeout=2)
        with pytest.raises(OSError, match=refused):
            Client(client.scheduler.address, security=Security.temporary(), timeout=2)


def test_workers_of_this_machine_need_cryptography(monkeypatch):
    def missing():
        raise ImportError("no module named cryptography")

    monkeypatch.setattr(cluster.Security, "temporary", missing)
    with pytest.raises(ImportError, match=r"need cryptography: pip install 'rosenblatt\[cluster\]'"):
        next(iter(cluster.connected(workers=1).gen))


def test_the_command_line_talks_tls(files, tmp_path):
    security, paths = Security.temporary(), {}
    for name, text in (("ca", "tls_ca_file"), ("cert", "tls_client_cert"), ("key", "tls_client_key")):
        paths[name] = tmp_path / f"{name}.pem"
        paths[name].write_text(getattr(security, text))
    (tmp_path / "both.pem").write_text(paths["cert"].read_text() + paths["key"].read_text())

    def train(*words):
        return CliRunner().invoke(cli.app, ["train", files, "--epochs", "4", *map(str, words)])

    with (
        dask.config.set({**SETTINGS, "distributed.comm.timeouts.connect": "2s"}),
        start(1, processes=False, protocol="tls://", security=security, host="127.0.0.1") as local,
    ):
        where = ("--cluster", local.scheduler_address)
        key = ("--tls-ca", paths["ca"], "--tls-cert", paths["cert"], "--tls-key", paths["key"])
        done = train(*where, *key, "-o", tmp_path / "model")
        assert done.exit_code == 0, done.exception
        same(load(tmp_path / "model"), fit(learner(), files, shards=SHARDS))
        with cluster.connected(where[1], tls={"ca": paths["ca"], "cert": tmp_path / "both.pem", "key": None}) as client:
            assert len(client.nthreads()) == 1
        assert "no Dask scheduler" in str(train(*where).exception)
    for words, text in (
        ((*where, *key[:2]), "--tls-cert"),
        (("--cluster", "tcp://127.0.0.1:1", *key), "--cluster tls://"),
        (("--workers", 1, *key), "--cluster tls://"),
        (key, "--cluster tls://"),
    ):
        assert text in str(train(*words).exception)
