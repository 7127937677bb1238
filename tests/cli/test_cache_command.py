"""`rosenblatt cache` and `--cache-dir`."""

import json
import os

import pytest
from typer.testing import CliRunner

from rosenblatt.cli.caches import _size
from rosenblatt.cli.main import app

pytestmark = pytest.mark.usefixtures("quiet", "small_blocks")


@pytest.fixture
def run(monkeypatch, on_disk):
    """Runs a command; `--cache-dir` sets a variable, which is put back after the test."""
    monkeypatch.setenv("ROSENBLATT_CACHE", str(on_disk))

    def command(*words):
        found = CliRunner().invoke(app, list(map(str, words)))
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return found.stdout

    return command


def test_the_cache_folder_of_a_run(svm, tmp_path, run, on_disk):
    path, folder = svm(), tmp_path / "elsewhere"
    run("train", path, "--epochs", 2, "--cache-dir", folder)
    assert [one.suffix for one in folder.iterdir()] == [".rbcache"]
    assert list(on_disk.iterdir()) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["elsewhere", "rows.svm"]


def test_listing_and_removing(svm, run, on_disk):
    assert run("cache") == f"no caches in {on_disk}\n"
    first, second = svm(), svm(name="other.svm")
    run("train", first, "--epochs", 2)
    run("train", second, "--epochs", 2)
    head, one, two, total = run("cache").splitlines()
    assert head == f"{on_disk}:"
    assert one.startswith("  other.svm.")
    assert one.endswith(f"up to date: {second}")
    assert two.endswith(f"up to date: {first}")
    assert total.startswith("2 caches, ")
    shown = json.loads(run("cache", "--json"))
    assert shown["folder"] == str(on_disk)
    assert [each["sources"] for each in shown["caches"]] == [[str(second)], [str(first)]]
    assert shown["caches"][0]["bytes"] == os.path.getsize(on_disk / shown["caches"][0]["name"])
    assert run("cache", "--remove", first).splitlines()[-1].startswith("removed 1 cache, ")
    with pytest.raises(ValueError, match="no cache of this name"):
        run("cache", "--remove", first)
    (on_disk / "notes.txt").write_text("mine")
    run("cache", "--remove-all")
    assert [one.name for one in on_disk.iterdir()] == ["notes.txt"]


def test_sizes():
    assert [_size(n) for n in (0, 999, 1000, 1_250_000, 3 * 10**9, 2 * 10**13)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.2 MB",
        "3.0 GB",
        "20.0 TB",
    ]
