"""A cluster from the command line, the workers it starts, and the models that come of it."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import dask
import psutil
import pytest
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
    two,
    write,
)
from distributed import Client
from distributed.security import Security
from typer.testing import CliRunner

import rosenblatt
from from_files import same
from rosenblatt import fit, load, read
from rosenblatt.cli import main as cli
from rosenblatt.scale import dask_cluster as cluster


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "rosenblatt.cli.main", *words], capture_output=True, text=True, timeout=600
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
@pytest.mark.exhaustive
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


def listening(process):
    """The ports on which a process and its children listen."""
    several = [process, *process.children(recursive=True)]
    return [one.laddr for each in several for one in each.net_connections("inet") if one.status == "LISTEN"]


def test_workers_of_this_machine_answer_nobody_else():
    """Whoever talks to a scheduler, or to a worker, runs code as its user: others on this machine must not."""
    before, refused = set(listening(psutil.Process())), "(?i)closed|reset|certificate|timed out"
    steady, quick = {"distributed.worker.memory.target": False}, {"distributed.comm.timeouts.connect": "2s"}
    with dask.config.set(steady), cluster.connected(workers=1) as client, dask.config.set(quick):
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


@pytest.mark.exhaustive
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
