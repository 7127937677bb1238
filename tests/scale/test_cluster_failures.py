"""What goes wrong on a cluster: failing, late and dying workers."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_cases import (  # noqa: F401 (fixtures)
    FEATURES,
    ROWS,
    SETTINGS,
    SHARDS,
    _quiet,
    files,
    inside,
    learner,
    needs_processes,
    ready,
    rows,
    start,
    steady,
    two,
    write,
)
from distributed import Client, get_worker

import rosenblatt
from from_files import same
from rosenblatt import FileError, fit, load
from rosenblatt.scale import dask_cluster as cluster
from rosenblatt.scale import sharded_source as mixed
from rosenblatt.scale.shards import HeldShard


def noted(monkeypatch, name):
    """The calls of a method of `Round`, which does what it did."""
    method, calls = getattr(cluster.Round, name), []

    def called(self, *args):
        calls.append(args)
        return method(self, *args)

    monkeypatch.setattr(cluster.Round, name, called)
    return calls


# -- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_corrupt_and_a_missing_shard_are_named(tmp_path, inside, monkeypatch):
    source = write(tmp_path, *rows())
    engine, late, model = cluster.Cluster(inside), noted(monkeypatch, "late"), learner()
    (tmp_path / "part-3.svm").write_text("1 1:1\n0 2:x\n")
    with pytest.raises(FileError, match=r"part-3\.svm, line 2"):
        fit(model, source, client=inside)
    assert not late  # the error itself ended the run
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

    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", broken)
    with pytest.raises(Hidden):
        fit(learner(), files, client=inside)
    assert len(calls) <= SHARDS


def test_a_passing_error_is_tried_elsewhere(files, inside, monkeypatch):
    one_pass, seen, lock = rosenblatt.planes.mixing.one_pass, set(), threading.Lock()

    def flaky(solver, examples, shard):
        with lock:
            first = (solver.state.epoch, shard) not in seen
            seen.add((solver.state.epoch, shard))
        if first and shard % 2:
            raise MemoryError
        return one_pass(solver, examples, shard)

    here = fit(learner(), files, shards=SHARDS)
    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", flaky)
    there = fit(learner(), files, client=inside)
    same(here, there)
    assert there.report_.sharding.sent_again == 4 * (SHARDS // 2)
    assert "sent again" in str(there.report_)


def test_a_worker_that_answers_wrongly(files, inside, monkeypatch):
    """One that does is replaced, with the same bits; where all do, the shard and the worker are named."""
    one_pass, here = rosenblatt.planes.mixing.one_pass, fit(learner(), files, shards=SHARDS)
    bad = sorted(inside.nthreads())[0]

    def broken(solver, examples, shard, everywhere=False):
        part = one_pass(solver, examples, shard)
        if shard == 3 and (everywhere or get_worker().address == bad):
            part.machines[0].coef[:] = np.nan
        return part

    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", broken)
    same(here, fit(learner(), files, client=inside))
    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", lambda *given: broken(*given, everywhere=True))
    model = learner()
    with pytest.raises(FileError, match=r"part-3\.svm: the answer of inproc://\S+ cannot be used: expected finite"):
        fit(model, files, client=inside)
    assert not hasattr(model, "coef_")
    with pytest.raises(FileError, match="a worker answered with str"):
        cluster.Round._checked(None, "done", HeldShard("rows", None))


@pytest.mark.parametrize("marked", ["one worker", "every worker"])
def test_a_late_shard_is_sent_elsewhere(files, inside, monkeypatch, marked):
    one_pass, hung, freed = rosenblatt.planes.mixing.one_pass, [], threading.Event()
    late = cluster.Round.late

    def after_a_standstill(self, i, limit):
        if marked == "every worker":  # as where the whole machine stood still for longer than the deadline
            self.cluster.slow.update(self.cluster.threads())
        late(self, i, limit)

    def slow(solver, examples, shard):
        if shard == 2 and solver.state.epoch == 1 and not hung:
            hung.append(1)
            freed.wait(60)
        return one_pass(solver, examples, shard)

    here = fit(learner(), files, shards=SHARDS)
    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", slow)
    monkeypatch.setattr(cluster.Round, "late", after_a_standstill)
    monkeypatch.setattr(cluster, "TICK", 0.05)
    try:
        there = fit(learner(), files, client=inside, deadline=6.0)
    finally:
        freed.set()
    same(here, there)
    assert there.report_.sharding.sent_again >= 1


def test_a_shard_that_is_always_late_ends_the_run(files, inside, monkeypatch):
    freed, ended = threading.Event(), []
    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", lambda *args: ended.append(freed.wait(120)))
    monkeypatch.setattr(cluster, "TICK", 0.05)
    try:
        with pytest.raises(TimeoutError, match=r"part-\d\.svm: 3 attempts"):
            fit(learner(), files, client=inside, deadline=0.3)
        assert not ended
    finally:
        freed.set()


def test_rows_that_a_worker_lost_are_made_again(inside):
    X, y = rows()
    lazy = da.from_array(X, chunks=(ROWS, -1)), da.from_array(y, chunks=ROWS)
    here = fit(learner(), (X, y), shards=SHARDS)
    for step in mixed.training_in_shards(there := learner(), lazy, client=inside):
        if step.record is not None:
            inside.run(lambda dask_worker: vars(dask_worker).pop("rosenblatt_store", None))
    same(here, there)


def test_rows_that_are_held_are_not_made_for_another_fit(inside, monkeypatch):
    X, y = rows()
    lazy = da.from_array(X, chunks=(ROWS, -1)), da.from_array(y, chunks=ROWS)
    made, count = [], rosenblatt.scale.shards.RowBlock
    monkeypatch.setattr("rosenblatt.scale.shards.RowBlock", lambda *rows: made.append(1) or count(*rows))
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


def killing(client, moments):
    """Kill workers at these moments: after so many seconds with workers there, so many of them.

    Then see that they are replaced: a nanny that gives up would leave the fit without workers.
    """
    killed = []

    def kill():
        for wait, count in moments:
            ready(client, count)
            time.sleep(wait)
            for nanny in steady(client)[:count]:
                os.kill(nanny.pid, signal.SIGKILL)
                killed.append(nanny.pid)
        ready(client, without=killed)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread, killed


@needs_processes
@pytest.mark.exhaustive
def test_deaths_at_twenty_random_moments_change_no_bit(files, two, monkeypatch):
    """In each run one worker dies, then both, while they learn; no shard is late, and the bits are the same."""
    late = noted(monkeypatch, "late")
    here, rng, deaths = fit(learner(20), files, shards=SHARDS), random.Random(1), 0
    for _ in range(10):
        ready(two)
        thread, killed = killing(two, [(rng.uniform(0.0, 0.3), 1), (rng.uniform(0.0, 0.3), 2)])
        there = fit(learner(20), files, client=two, deadline=300)
        assert not late
        thread.join()
        same(here, there)
        deaths += len(killed)
    assert deaths >= 20


@needs_processes
@pytest.mark.exhaustive
def test_a_worker_dies_after_every_worker_was_late(two, tmp_path, monkeypatch):
    """What was bound to the worker that died is sent to another at once, not at the deadline."""

    class DiesOnce:
        def __call__(self, shard, store):
            mark = tmp_path / "died"
            if not mark.exists():
                mark.touch()
                os._exit(1)
            return 7

    ready(two)
    monkeypatch.setattr(cluster, "accepted", lambda *args: None)
    engine, began = cluster.Cluster(two, deadline=600.0), time.monotonic()
    engine.slow = set(engine.threads())
    assert list(engine.round(DiesOnce(), [SimpleNamespace(name="rows")])) == [7]
    assert time.monotonic() - began < 300


DRIVER = """
import os, sys, warnings
import rosenblatt
from distributed import Client
from rosenblatt.scale import sharded_source as mixed

warnings.simplefilter("ignore")
address, source, point = sys.argv[1:]
model = rosenblatt.AveragedPerceptron(max_epochs=12, random_state=0)
with Client(address) as client:
    for step in mixed.training_in_shards(model, source, client=client, checkpoint=point, resume=True):
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
@pytest.mark.exhaustive
def test_the_driver_does_not_grow_with_the_data(two):
    """128 MB of rows that the workers make, and some megabytes of a driver that has seen 0.6 MB before."""
    ready(two)
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, two.scheduler.address], capture_output=True, text=True, check=True
    )
    small, large = map(float, run.stdout.split())
    assert large - small < 20


@pytest.mark.exhaustive
def test_all_workers_go_and_others_come(files, monkeypatch):
    """Between two passes, and in the middle of one: what was sent to workers that are gone is sent again."""
    here = fit(learner(), files, shards=SHARDS)
    one_pass, gone = rosenblatt.planes.mixing.one_pass, threading.Event()

    def slow(solver, examples, shard):
        if solver.state.epoch == 2 and not gone.is_set():
            gone.set()
            time.sleep(0.5)
        return one_pass(solver, examples, shard)

    monkeypatch.setattr("rosenblatt.planes.mixing.one_pass", slow)
    monkeypatch.setattr(cluster, "TICK", 0.05)
    with dask.config.set(SETTINGS), start(2, processes=False) as local, Client(local) as client:

        def replaced():
            gone.wait(120)
            local.scale(0)
            time.sleep(0.5)
            local.scale(2)

        thread = threading.Thread(target=replaced)
        thread.start()
        for step in mixed.training_in_shards(there := learner(), files, client=client, deadline=120):
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
