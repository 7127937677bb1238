"""LinearSVM in shards of files: the bits of threads on any workers, through deaths, and from a checkpoint."""

import os
import signal
import warnings

import numpy as np
import pytest
from cluster_cases import _quiet, inside, needs_processes, ready, two  # noqa: F401 (fixtures)
from sklearn import datasets

import rosenblatt
from rosenblatt import FileError, LinearSVM, fit, load, read
from rosenblatt.objective import svm_merging
from rosenblatt.objective.svm_merging import ShardedAscent
from rosenblatt.objective.svm_shards import Visit
from rosenblatt.scale import dask_cluster, row_cache
from rosenblatt.scale.sharded_source import ShardSource

FITTED = ("coef_", "intercept_", "support_", "dual_coef_")
SETTINGS = {"tol": 1e-6, "random_state": 0}


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    """Passes in several parts, of small data too."""
    monkeypatch.setattr(svm_merging, "VALUES_PER_WEIGHT", 1e-2)
    monkeypatch.setattr(row_cache, "RACY", 0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files of rows of three classes, and the pattern of their names."""
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    X = rng.integers(-3000, 3001, (180, 6)) / 1024
    y = np.argmax(X @ rng.normal(size=(6, 3)) + rng.normal(size=(180, 3)), axis=1)
    for k in range(3):
        part = slice(60 * k, 60 * k + 60)
        path = folder / f"part-{k}.svm"
        datasets.dump_svmlight_file(X[part], y[part], str(path), zero_based=False)
        os.utime(path, (1, 1))
    return str(folder / "part-*.svm")


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FITTED)


def test_threads_and_memory_give_the_same_bits(files):
    one = fit(LinearSVM(**SETTINGS), files, shards=3)
    assert one.report_.outcome == "solved"
    assert one.report_.gap <= 1e-6
    assert one.report_.sharding.rows == (60, 60, 60)
    assert same(one, fit(LinearSVM(**SETTINGS), files, shards=3, n_jobs=3))
    X, y = read(files, like=one.reading_)
    assert same(one, LinearSVM(**SETTINGS, n_jobs=3).fit(X, y))
    assert np.allclose(one.dual_coef_ @ X[one.support_], one.coef_, atol=1e-9)
    alone = LinearSVM(**SETTINGS).fit(X, y)
    assert np.isclose(one.report_.objective, alone.report_.objective, rtol=2e-6)


def test_arrays_in_shards(files):
    X, y = read(files)
    shared = fit(LinearSVM(**SETTINGS), (X, y), shards=4, n_jobs=2)
    assert same(shared, LinearSVM(**SETTINGS, n_jobs=4).fit(X, y))


def test_one_piece_is_refused_with_what_to_do(files):
    with pytest.raises(ValueError, match="shards=2"):
        fit(LinearSVM(), files)


def test_workers_give_the_bits_of_threads(files, inside):
    threads = fit(LinearSVM(**SETTINGS), files, shards=3)
    workers = fit(LinearSVM(**SETTINGS), files, client=inside)
    assert same(threads, workers)
    assert workers.report_.sharding.bytes_moved > 0
    assert workers.report_.sharding.copies == threads.report_.sharding.copies
    assert "MB moved" in str(workers.report_)
    assert same(threads, fit(LinearSVM(**SETTINGS), files, client=inside))  # a second run on the same workers


@needs_processes
def test_a_worker_that_dies_takes_nothing_with_it(files, two, monkeypatch):
    ready(two)
    whole = fit(LinearSVM(**SETTINGS), files, shards=3)
    kill, killed = sorted(two.run(os.getpid).values())[0], []
    answers = ShardSource.ask_each

    def deadly(self, question, places):
        if isinstance(question, Visit) and question.at == (3, 1) and not killed:
            killed.append(os.kill(kill, signal.SIGKILL))
        return answers(self, question, places)

    monkeypatch.setattr(ShardSource, "ask_each", deadly)
    model = fit(LinearSVM(**SETTINGS), files, client=two, deadline=60)
    assert killed
    assert same(model, whole)


def test_a_lying_worker_is_asked_again(files, inside, monkeypatch):
    whole = fit(LinearSVM(**SETTINGS), files, shards=3)
    accepted, lies = dask_cluster.accepted, []

    def lying(answer, question, shard, worker):
        if isinstance(question.question if hasattr(question, "question") else None, Visit) and len(lies) < 2:
            lies.append(shard)
            answer = type(answer)(svm_merging.replace(answer.value, w=answer.value.w * np.inf), answer.reading)
        return accepted(answer, question, shard, worker)

    monkeypatch.setattr(dask_cluster, "accepted", lying)
    model = fit(LinearSVM(**SETTINGS), files, client=inside)
    assert lies
    assert same(model, whole)
    assert model.report_.sharding.sent_again >= 2


@pytest.mark.parametrize("stop", [1, 4])
def test_resumed_is_uninterrupted(files, tmp_path, stop, monkeypatch):
    whole = fit(LinearSVM(**SETTINGS), files, shards=3)
    sweep, point = ShardedAscent.sweep, tmp_path / "model.point"

    def broken(self, epoch, seed):
        if epoch == stop:
            raise OSError("no more power")
        return sweep(self, epoch, seed)

    with monkeypatch.context() as patch:
        patch.setattr(ShardedAscent, "sweep", broken)
        with pytest.raises(OSError, match="power"):
            fit(LinearSVM(**SETTINGS), files, shards=3, checkpoint=point)
    assert load(point).n_iter_ == stop
    model = fit(LinearSVM(**SETTINGS), files, shards=3, n_jobs=2, checkpoint=point, resume=True)
    assert same(model, whole)
    assert model.report_.sharding.gaps == whole.report_.sharding.gaps
    again = fit(LinearSVM(**SETTINGS), files, shards=3, checkpoint=point, resume=True)
    assert same(again, whole)
    assert again.report_.gap == whole.report_.gap


def test_a_checkpoint_that_does_not_fit_is_refused(files, tmp_path):
    point = tmp_path / "model.point"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(LinearSVM(**SETTINGS, max_epochs=2), files, shards=3, checkpoint=point)
        with pytest.raises(FileError, match="other shards"):
            fit(LinearSVM(**SETTINGS, max_epochs=4), files, shards=4, checkpoint=point, resume=True)
    for change in ({"awake": np.ones(5, bool)}, {"w": np.zeros((2, 2))}, {"copies": {"count": 9}}, {"b": None}):
        forged = load(point)
        forged._duals = forged._duals | change
        rosenblatt.save(forged, point)
        with pytest.raises(FileError, match="does not fit its rows"):
            fit(LinearSVM(**SETTINGS, max_epochs=4), files, shards=3, checkpoint=point, resume=True)
        rosenblatt.save(model, point)
