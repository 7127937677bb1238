"""What the tests of cluster share."""

import multiprocessing
import os
import time
import warnings
from pathlib import Path

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context
from sklearn import datasets

import rosenblatt
from rosenblatt.scale import row_cache as cache

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
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    # A worker inside this process would measure the test runner's memory against its own limit, and pause for good.
    limit = "2GB" if settings.get("processes", True) else 0
    return LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=limit, **quiet, **settings)


def steady(client):
    """Workers that are there, and whose nannies are through with starting them: one killed before stays dead."""
    alive = client.nthreads()
    nannies = [nanny for nanny in client.cluster.workers.values() if nanny.worker_address in alive]
    return [nanny for nanny in nannies if nanny.process is not None and nanny.process.status.name == "running"]


def ready(client, workers=2, without=()):
    """Wait until workers are there, other than those with these numbers of processes.

    A nanny that has given up is replaced, as any deployment would.
    """
    for patience in (10, 30, 60, 120):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if sum(nanny.pid not in without for nanny in steady(client)) >= workers:
                return
            time.sleep(0.02)
        client.cluster.scale(0)
        client.cluster.scale(2)
    raise AssertionError("no workers")


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
