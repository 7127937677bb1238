"""Training from files that is stopped, killed, starved of memory or of disk."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
import scipy.sparse as sp

import rosenblatt
from from_files import RNG, dump_svmlight_file, same
from rosenblatt import FileError, fit, load, read
from rosenblatt.formats import svmlight
from rosenblatt.learn.orders import Blocks, block_bounds
from rosenblatt.online import solver
from rosenblatt.scale import row_cache as cache
from rosenblatt.scale.read_ahead import ahead

pytestmark = pytest.mark.usefixtures("quiet", "small_blocks")


class Stop(Exception):
    pass


def interrupted(monkeypatch, after, error):
    """Make the `after`-th piece of training raise."""
    count, learn = [0], solver.problems

    def broken(*args):
        count[0] += 1
        if count[0] == after:
            raise error
        return learn(*args)

    monkeypatch.setattr(solver, "problems", broken)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stop()], ids=["ctrl-c", "error"])
def test_what_is_left_when_training_stops(svm, tmp_path, monkeypatch, error):
    path, model = svm(), rosenblatt.AveragedPerceptron(max_epochs=4, random_state=0)
    with monkeypatch.context() as patch:
        interrupted(patch, 13, error)
        with pytest.raises(type(error)):
            fit(model, path, checkpoint=tmp_path / "point")
    assert hasattr(model, "coef_") == isinstance(error, KeyboardInterrupt)
    if isinstance(error, KeyboardInterrupt):
        assert model.report_.outcome == "interrupted"
        assert model.predict(read(path)[0]).shape == (250,)
    uninterrupted = fit(rosenblatt.AveragedPerceptron(max_epochs=4, random_state=0), path)
    again = rosenblatt.AveragedPerceptron(max_epochs=4, random_state=0)
    same(uninterrupted, fit(again, path, checkpoint=tmp_path / "point", resume=True))
    same(uninterrupted, load(tmp_path / "point"))
    assert again.report_.updates == uninterrupted.report_.updates


def test_ctrl_c_after_resume_keeps_what_the_checkpoint_had(svm, tmp_path, monkeypatch):
    path, point = svm(), tmp_path / "point"
    first = fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), path, checkpoint=point)
    again = rosenblatt.Perceptron(max_epochs=4, random_state=0)
    interrupted(monkeypatch, 3, KeyboardInterrupt())  # in the third pass
    with pytest.raises(KeyboardInterrupt):
        fit(again, path, checkpoint=point, resume=True)
    assert (again.report_.outcome, again.n_iter_) == ("interrupted", 2)
    same(first, again)


def test_a_seed_that_nobody_chose_is_kept(svm, tmp_path):
    path = svm()
    first = fit(rosenblatt.Perceptron(max_epochs=2), path, checkpoint=tmp_path / "point")
    second = fit(rosenblatt.Perceptron(max_epochs=4), path, checkpoint=tmp_path / "point", resume=True)
    assert second._state.seed == first._state.seed
    whole = rosenblatt.Perceptron(max_epochs=4, random_state=first._state.seed)
    same(second, fit(whole, path))


def test_a_random_state_goes_on(svm, tmp_path):
    path, point = svm(), tmp_path / "point"

    def make(most, seed=0):
        return rosenblatt.Perceptron(max_epochs=most, random_state=np.random.RandomState(seed))

    fit(make(2), path, checkpoint=point)
    same(fit(make(4), path, checkpoint=point, resume=True), fit(make(4), path))
    with pytest.raises(FileError, match="another training, with random_state=RandomState"):
        fit(make(4, seed=1), path, checkpoint=point, resume=True)


def test_other_checkpoints_are_refused(svm, tmp_path):
    path, point = svm(), tmp_path / "point"
    fit(rosenblatt.Perceptron(max_epochs=2), path, checkpoint=point, resume=True)
    with pytest.raises(FileError, match=r"margin=0\.0"):
        fit(rosenblatt.Perceptron(margin=1.0), path, checkpoint=point, resume=True)
    with pytest.raises(FileError, match="Perceptron"):
        fit(rosenblatt.AveragedPerceptron(), path, checkpoint=point, resume=True)
    with pytest.raises(FileError, match="other rows"):
        fit(rosenblatt.Perceptron(), svm(name="other.svm", seed=5), checkpoint=point, resume=True)


KILLER = """
import os, random, signal, sys, time, warnings
import rosenblatt
from rosenblatt.learn import orders
from rosenblatt.scale import row_cache as cache
from rosenblatt.scale import file_source as rows

warnings.simplefilter("ignore")
orders.BLOCK, orders.POOL, rows.AT_ONCE, cache.RACY, cache.HELD_SHARE = 64, 5, 5, 0, 1 << 60
path, point = sys.argv[1:]

def learn():
    model = rosenblatt.AveragedPerceptron(max_epochs=60, random_state=0)
    return rosenblatt.fit(model, path, checkpoint=point, resume=True)

rng, kills = random.Random(1), 0
while kills < 20:
    child = os.fork()
    if not child:
        learn()
        os._exit(0)
    time.sleep(rng.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    kills += os.waitpid(child, 0)[1] == signal.SIGKILL
    if os.path.exists(point):
        epochs = rosenblatt.load(point).n_iter_
        if epochs == 60:
            os.unlink(point)
print(kills)
learn()
"""


@pytest.mark.compiled
@pytest.mark.exhaustive
def test_kill_and_resume_twenty_times(svm, tmp_path, on_disk):
    path, point = svm(), tmp_path / "point"
    whole = fit(rosenblatt.AveragedPerceptron(max_epochs=60, random_state=0), path)
    command = [sys.executable, "-c", KILLER, str(path), str(point)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["20"]
    same(whole, load(point))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["point", "rows.svm"]
    assert [one.suffix for one in on_disk.iterdir()] == [".rbcache"]


def test_a_file_that_vanishes_or_changes_midway(svm, monkeypatch, on_disk):
    path = svm()
    expected = path.read_bytes()

    def learn(act, **settings):
        count, parse = [0], svmlight.parse_lines

        def acting(*args, **settings):
            count[0] += 1
            if count[0] == 2:
                act()
            return parse(*args, **settings)

        with monkeypatch.context() as patch:
            patch.setattr(svmlight, "parse_lines", acting)
            return fit(rosenblatt.Perceptron(**settings), path)

    for settings in ({"max_epochs": 3}, {"max_epochs": 1, "order": "cyclic"}):
        with pytest.raises(FileError, match="removed while it was being read"):
            learn(path.unlink, **settings)
        path.write_bytes(expected)
        with pytest.raises(FileError, match="changed while it was being read"):
            learn(lambda: path.write_bytes(expected + b"1 1:1\n"), **settings)
        path.write_bytes(expected)
    assert [one.name for one in path.parent.iterdir()] == ["rows.svm"]
    assert list(on_disk.iterdir()) == []


def test_a_full_disk_leaves_no_half_cache(svm, monkeypatch, on_disk):
    path = svm()
    write = cache._Output.write

    def full(self, data):
        write(self, data)
        if self.data is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._Output, "write", full)
    with pytest.raises(FileError, match="no space left on the disk"):
        fit(rosenblatt.Perceptron(), path)
    assert [one.name for one in path.parent.iterdir()] == ["rows.svm"]
    assert list(on_disk.iterdir()) == []


# -- parts -----------------------------------------------------------------------------------------------------------


def test_blocks_visit_every_row_once():
    starts = np.concatenate([[0], np.cumsum(RNG.integers(0, 40, 500))])
    order = Blocks(block_bounds(starts), 7)
    whole = order.piece(3, 0, 500)
    assert sorted(whole.tolist()) == list(range(500))
    parts = [order.piece(3, begin, min(begin + 37, 500)) for begin in range(0, 500, 37)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (whole != order.piece(4, 0, 500)).any()
    some = Blocks(order.bounds, 7, np.arange(0, 500, 3, dtype=np.uint64))
    np.testing.assert_array_equal(some.piece(3, 0, 500), whole[whole % 3 == 0])


def test_work_ahead_keeps_its_order_and_stops():
    started = []

    def task(k):
        started.append(k)
        if k == 30:
            raise ValueError("thirty")
        return k

    found, steps = [], ahead([lambda k=k: task(k) for k in range(100)])
    with pytest.raises(ValueError, match="thirty"):
        found.extend(next(steps) for _ in range(100))
    assert found == list(range(30))
    assert len(started) < 40
    steps = ahead([lambda k=k: task(k) for k in range(20)])
    assert next(steps) == 0
    steps.close()


@pytest.mark.compiled
def test_memory_stays_within_its_limit(tmp_path):
    """A file several times the limit: the peak, above what imports and compilation cost, stays below it."""
    path = tmp_path / "large.svm"
    X = sp.random(4000, 20_000, 0.004, format="csr", random_state=0)
    dump_svmlight_file(X, np.arange(4000) % 2, tmp_path / "part.svm", zero_based=False)
    part = (tmp_path / "part.svm").read_bytes()
    with open(path, "wb") as file:
        for _ in range(50):
            file.write(part)
    script = """
import sys, warnings, numpy as np, rosenblatt, pathlib
warnings.simplefilter("ignore")
def peak(): return next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')) * 1024
small = pathlib.Path(sys.argv[1] + ".small.svm")
small.write_text("1 1:1\\n0 2:1\\n" * 10)
for order, most in (("cyclic", 1), ("shuffle", 2)):
    rosenblatt.fit(rosenblatt.AveragedPerceptron(max_epochs=most, order=order, random_state=0), small)
before = peak()
for order, most in (("cyclic", 1), ("shuffle", 2)):
    model = rosenblatt.AveragedPerceptron(max_epochs=most, order=order, random_state=0)
    rosenblatt.fit(model, sys.argv[1], memory="160MB")
print(peak() - before)
"""
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert path.stat().st_size > 300_000_000
    print(f"{int(run.stdout):,} bytes")
    assert int(run.stdout) < 160_000_000


@pytest.mark.compiled
@pytest.mark.exhaustive
def test_memory_stays_within_its_limit_with_one_large_batch(tmp_path):
    """An Arrow file that is a single batch, larger than the limit.

    It is mapped: its own pages, which the system takes back whenever it likes, are not counted.
    """
    rng = np.random.default_rng(0)
    table = pa.table({f"f{j}": rng.random(300_000) for j in range(60)} | {"label": np.arange(300_000) % 2})
    for name, part in (("large", table), ("small", table.slice(0, 200))):
        with pa.OSFile(str(tmp_path / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, part.schema) as writer:
            writer.write_table(part)
    script = """
import sys, threading, warnings, rosenblatt
warnings.simplefilter("ignore")
def fit(name): rosenblatt.fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), f"{sys.argv[1]}/{name}.arrow",
                              memory="160MB")
KINDS = ("RssAnon:", "RssShmem")
def own(): return sum(int(line.split()[1]) for line in open('/proc/self/status') if line[:8] in KINDS)
peaks, done = [0], threading.Event()
def watch():
    while not done.wait(0.001): peaks.append(own())
fit("small")
before = own()
watcher = threading.Thread(target=watch)
watcher.start()
fit("large")
done.set()
watcher.join()
print((max(peaks) - before) * 1024)
"""
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (tmp_path / "large.arrow").stat().st_size > 140_000_000
    print(f"{int(run.stdout):,} bytes")
    assert int(run.stdout) < 160_000_000


def test_standard_input(svm, tmp_path):
    path = svm()
    script = "import sys, warnings, rosenblatt; warnings.simplefilter('ignore')\n"
    script += "rosenblatt.save(rosenblatt.fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), '-'), sys.argv[1])"
    environment = {**os.environ, "ROSENBLATT_CACHE": str(tmp_path / "caches")}
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model")], input=path.read_bytes(), env=environment, check=True
    )
    model = rosenblatt.Perceptron(max_epochs=2, random_state=0, order="blocks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.learn.orders.BLOCK", 1 << 15)
        patch.setattr("rosenblatt.learn.orders.POOL", 64)
        same(model.fit(*read(path)), load(tmp_path / "model"))
    assert list(Path(tmp_path / "caches").iterdir()) == []


def test_standard_input_in_this_process(svm, tmp_path, monkeypatch):
    path = svm()
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        model = fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), "-")
    same(model, rosenblatt.Perceptron(max_epochs=2, random_state=0, order="blocks").fit(*read(path)))
    assert list(Path(tmp_path / "caches").iterdir()) == []
