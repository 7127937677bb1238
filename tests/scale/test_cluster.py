"""A real cluster of worker processes: the same bits as in process, whoever dies and whenever."""

import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from cluster_cases import FEATURES, ROWS, SHARDS, _quiet, files, inside, learner, needs_processes, rows, two  # noqa: F401 (fixtures)

import rosenblatt
from from_files import same
from rosenblatt import FileError, fit, predict, read, score
from rosenblatt.scale import dask_cluster as cluster
from rosenblatt.scale.shards import HeldShard

# -- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("AveragedPerceptron", {}),
        ("Perceptron", {"multiclass": "ovo", "record_errors": True}),
        ("PassiveAggressive", {"multiclass": "ovr"}),
        ("AROW", {}),
        ("LinearClassifier", {"solver": "stochastic", "penalty": "l1"}),
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
            two.wait_for_workers(workers, timeout=120)
            deadline = time.monotonic() + 120
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
    with pytest.raises(ValueError, match="do not match"):
        fit(learner(), (X, y), client=inside)
    unknown = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match="divided differently"):
        fit(learner(), (unknown, da.ones(6, chunks=6)), client=inside)
    with pytest.raises(TypeError, match="as a pair"):
        fit(learner(), X, client=inside)
    with pytest.raises(ValueError, match="repartition"):
        fit(learner(), (X, X[:, 0]), client=inside, shards=2)
    with pytest.raises(ValueError, match="of how files are read"):
        fit(learner(), (X, X[:, 0]), client=inside, label="y")
    with pytest.raises(ValueError, match="not sent to a cluster"):
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
