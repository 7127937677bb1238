"""Model files on full disks, under links, with long names."""

import os
import resource
import subprocess
import sys

import pytest
from model_file_cases import (
    _quiet,  # noqa: F401 (fixtures)
    fitted,
)

from rosenblatt import FileError, load, save
from rosenblatt.formats.safe_writing import replace_atomically

# -- disks -----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        load(tmp_path / "nothing")
    with pytest.raises(FileError, match="cannot write"):
        save(fitted(), tmp_path / "no" / "folder")


def _small_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_full_disk_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "model"
    save(fitted(), path)
    before = path.read_bytes()
    script = (
        "import sys, numpy as np, rosenblatt\n"
        "model = rosenblatt.Perceptron(max_epochs=3).fit(np.eye(50), np.arange(50) % 3)\n"
        "try: rosenblatt.save(model, sys.argv[1])\n"
        "except rosenblatt.FileError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(path)],
        preexec_fn=_small_disk,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "no space left on the disk" in run.stdout, run.stderr
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_what_a_killed_writer_left_is_swept_up(tmp_path):
    child = "import os, sys\nfrom rosenblatt.formats.safe_writing import replace_atomically\n"
    child += "with replace_atomically(sys.argv[1]) as file:\n"
    child += "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", child, str(tmp_path / "x")], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / f".x.{os.uname().nodename}-1.tmp").touch()
    with replace_atomically(tmp_path / "x") as file:
        file.write(b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) <= 2  # a file of a process that lives, or of another machine, is left alone


def test_the_mode_of_a_file_stays(tmp_path):
    path = tmp_path / "model"
    for mode in (0o600, 0o664, 0o444):
        path.touch()
        path.chmod(mode)
        save(fitted(), path)
        assert path.stat().st_mode & 0o7777 == mode
        path.unlink()
    path.touch()
    path.chmod(0o600)
    with replace_atomically(path):  # and nobody else reads what is not yet there
        (temporary,) = tmp_path.glob(".rosenblatt-*")
        assert temporary.stat().st_mode & 0o777 == 0o600
    before = os.umask(0o027)
    try:
        save(fitted(), tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_link_leads_to_the_file_that_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("model", "not-yet"):
        link, target = tmp_path / f"link-to-{name}", tmp_path / "there" / name
        link.symlink_to(target)
        if name == "model":
            target.touch()
        save(fitted(), link)
        assert link.is_symlink()
        load(target)
    assert {one.name for one in (tmp_path / "there").iterdir()} == {"model", "not-yet"}
    planted, victim = tmp_path / "cache", tmp_path / "victim"
    victim.write_bytes(b"precious")
    planted.symlink_to(victim)
    with replace_atomically(planted) as file:  # a name that the user did not choose
        file.write(b"rows")
    assert victim.read_bytes() == b"precious"
    assert planted.read_bytes() == b"rows"


def test_the_longest_names(tmp_path):
    for name in ("m" * 255, "ü" * 127):
        save(fitted(), tmp_path / name)
        load(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 2


def test_stray_temporary_names(tmp_path):
    with replace_atomically(tmp_path / "x"):
        (temporary,) = tmp_path.iterdir()
    start = temporary.name.split(f"{os.getpid()}.")[0]
    strays = {f"{start}{pid}.{end}.tmp" for pid in ("9" * 40, "²", "", "-1", "0x1") for end in ("00000000", "0", "..")}
    strays |= {f".x.{os.uname().nodename}-{'9' * 30}.1.tmp", f".x.{os.uname().nodename}-².tmp"}
    for name in strays:
        (tmp_path / name).touch()
    save(fitted(), tmp_path / "x")
    assert {one.name for one in tmp_path.iterdir()} == {"x", *strays}


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is a device, a pipe or a socket"):
        save(fitted(), tmp_path / "pipe")
    with pytest.raises(FileError, match="is a directory"):
        save(fitted(), tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_a_large_file_of_another_kind_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "rows"
    path.touch()
    os.truncate(path, 1 << 40)  # zeros that take no room on the disk, and would in memory
    with pytest.raises(FileError, match="not a rosenblatt model file"):
        load(path)
