"""No litter: small files leave no cache, those of large ones are in the user's cache folder and can be removed."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rosenblatt
from from_files import same
from rosenblatt import FileError, fit
from rosenblatt.formats.byte_sources import cache_folder, spooled
from rosenblatt.scale import cache_files, row_cache

pytestmark = pytest.mark.usefixtures("quiet", "small_blocks")


def learn(path, **settings):
    return fit(rosenblatt.AveragedPerceptron(max_epochs=2, random_state=0), path, **settings)


def test_a_small_file_leaves_nothing_behind(svm, tmp_path, monkeypatch):
    path = svm()
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    learn(path)
    learn(path, shards=3)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.svm"]


def test_held_in_memory_and_on_disk_are_the_same_to_the_bit(svm, tmp_path, monkeypatch):
    path = svm(classes=3)
    folder = tmp_path / "caches"
    monkeypatch.setenv("ROSENBLATT_CACHE", str(folder))
    held, shards = learn(path), learn(path, shards=3)
    assert not folder.exists()
    monkeypatch.setattr(row_cache, "HELD_SHARE", 1 << 60)
    same(held, learn(path))
    same(shards, learn(path, shards=3))
    (kept,) = folder.iterdir()
    size = kept.stat().st_size
    kept.unlink()
    monkeypatch.setattr(row_cache, "HELD_SHARE", 160_000_000 / (size - 0.5))  # a little more than memory may hold
    same(held, learn(path, memory=160_000_000))
    assert kept.stat().st_size == size
    kept.unlink()
    monkeypatch.setattr(row_cache, "HELD_SHARE", 160_000_000 / (size + 0.5))
    same(held, learn(path, memory=160_000_000))
    assert not kept.exists()


def test_shards_of_a_small_file_parse_it_once(svm, monkeypatch):
    path, made = svm(), []
    convert = row_cache.convert
    monkeypatch.setattr(row_cache, "convert", lambda *args: made.append(1) or convert(*args))
    learn(path, shards=4)
    assert len(made) == 1


def test_caches_are_listed_and_removed(svm, on_disk):
    first, second = svm(), svm(name="other.svm", seed=1)
    assert cache_files.cache_files() == []
    learn(first)
    learn(second)
    foreign = {"notes.txt": b"mine", "mine.rbcache": b"mine, too", "stdin-notes": b"mine"}
    for name, data in foreign.items():
        (on_disk / name).write_bytes(data)
    (on_disk / "link.rbcache").symlink_to(first)
    found = cache_files.cache_files()
    assert [(one.sources, one.state) for one in found] == [
        ((str(second),), "up to date"),
        ((str(first),), "up to date"),
    ]
    assert [one.bytes for one in found] == [one.path.stat().st_size for one in found]
    first.write_text("1 1:1\n")
    second.unlink()
    assert [one.state for one in cache_files.cache_files()] == ["the file is gone", "out of date"]
    with pytest.raises(FileError, match="no cache of this name"):
        cache_files.named(found, ["third.svm"])
    cache_files.remove(cache_files.named(found, [os.path.relpath(first), found[1].path.name]))
    (left,) = cache_files.cache_files()
    left.path.write_bytes(left.path.read_bytes()[:100])
    (left,) = cache_files.cache_files()
    assert (left.state, left.sources) == ("damaged", ())
    cache_files.remove([left])
    assert {one.name: one.read_bytes() for one in on_disk.iterdir() if not one.is_symlink()} == foreign
    assert (on_disk / "link.rbcache").is_symlink()


def test_what_a_killed_run_left_is_removed_and_what_a_running_one_uses_is_not(tmp_path, on_disk):
    script = """
import os, sys
from rosenblatt.formats.byte_sources import spooled
from rosenblatt.formats.safe_writing import replace_atomically
with spooled("-"), replace_atomically(os.path.join(os.environ["ROSENBLATT_CACHE"], "x.rbcache")):
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], input=b"1 1:1\n", check=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('1 1:1')"])
    with spooled(pipe) as running:
        assert writer.wait() == 0
        found = cache_files.cache_files()
        assert [one.state for one in found] == ["left by a run that was killed"] * 2
        cache_files.remove(found)
        assert [str(one) for one in on_disk.iterdir()] == running
    assert list(on_disk.iterdir()) == []


def test_the_folder_of_each_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("ROSENBLATT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "rosenblatt"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "rosenblatt"
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    assert list(tmp_path.iterdir()) == []  # nobody asked to write


def test_a_folder_that_cannot_be_written(svm, monkeypatch, on_disk):
    path = svm()
    monkeypatch.setenv("ROSENBLATT_CACHE", str(path / "under-a-file"))
    with pytest.raises(FileError, match="cannot write"):
        learn(path)
    monkeypatch.setattr(row_cache, "HELD_SHARE", 8)
    assert np.isfinite(learn(path).coef_).all()  # a small one needs no folder
