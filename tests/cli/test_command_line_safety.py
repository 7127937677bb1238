"""The command line overwrites no input, suggests only what works, and says what went wrong."""

import functools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from command_line_cases import COMMAND, _quiet, folder, run  # noqa: F401 (fixtures)

import rosenblatt
from rosenblatt.cli import main as cli
from rosenblatt.cli.progress_bar import show_progress
from rosenblatt.learn.epochs import EpochRecord
from rosenblatt.scale.progress import Progress


def test_paths_are_checked_before_training(folder, monkeypatch):
    def trained(*given, **more):
        pytest.fail("it trained")

    monkeypatch.setattr("rosenblatt.scale.fit_from_files.training_from_files", trained)
    for arguments, text in [
        (("-o", folder), "this is a folder"),
        (("--checkpoint", folder), "this is a folder"),
        (("--checkpoint", folder / "no" / "where"), "there is no folder"),
        (("--test", folder / "missing.svm"), "missing.svm: cannot read it: no such file"),
        (("--test", folder / "missing-*.svm"), "no file matches this pattern"),
    ]:
        code, _, error = run("train", folder / "rows.svm", *arguments)
        assert code == 2
        assert text in error
    assert "cannot be both" in run("train", "-", "--test", "-")[2]


def test_inputs_are_never_outputs(folder, monkeypatch):
    """By inode: under a link's name, within a pattern, and as standard input too; not even by force."""
    rows, more, table = folder / "rows.svm", folder / "more.svm", folder / "table.csv"
    rosenblatt.save(rosenblatt.Perceptron().fit([[1.0], [-1.0]], [0, 1]), folder / "m")
    (folder / "soft.svm").symlink_to(rows)
    os.link(rows, folder / "hard.svm")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("rosenblatt.scale.fit_from_files.steps", lambda *given, **more: pytest.fail("it read"))
    for arguments in [
        ("train", rows, "-o", rows),
        ("train", rows, "--checkpoint", rows),
        ("train", rows, "--checkpoint", rows, "--resume"),
        ("train", rows, "--test", more, "-o", more),
        ("train", rows, "--test", folder / "m*.svm", "--checkpoint", more),
        ("train", rows, "-o", folder / "soft.svm"),
        ("train", folder / "soft.svm", "-o", rows),
        ("train", rows, "-o", folder / "hard.svm"),
        ("train", folder / "*.svm", "-o", more),
        ("train", table, "--label", "churned", "-o", folder / "." / "table.csv"),
        ("train", rows, "--template", folder / "mail.txt", "-o", folder / "mail.txt"),
        ("train", rows, "--template", folder / "mail.txt", "--checkpoint", folder / "mail.txt"),
        ("train", rows, "--tls-key", folder / "mail.txt", "-o", folder / "mail.txt"),
        ("export", folder / "m", folder / "m"),
    ]:
        for force in ((), ("--force",)):
            code, _, error = run(*arguments, *force)
            assert code == 2, arguments
            assert "it would be overwritten, but it is also the input" in error
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_standard_input_is_not_overwritten_either(folder):
    rows = folder / "rows.svm"
    before = rows.read_bytes()
    run("train", rows, "-o", folder / "m", "--epochs", 2)
    for words, out in ((("train", "-", "-o", rows), None), (("predict", folder / "m", rows), "ab")):
        with open(rows, "rb") as into, open(rows, out or "rb") as onto:
            command = [*COMMAND, *map(str, words)]
            done = subprocess.run(
                command, stdin=into, stdout=onto if out else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 2
        assert "it would be overwritten" in done.stderr
        assert rows.read_bytes() == before


def test_only_models_are_replaced(folder, monkeypatch):
    rows, notes, point = folder / "rows.svm", folder / "notes.txt", folder / "point"
    notes.write_text("precious")
    for option in ("-o", "--checkpoint"):
        code, _, error = run("train", rows, option, notes, "--epochs", 2)
        assert code == 2
        assert error == f"{notes}: this file exists and rosenblatt did not write it: name another, or give --force."
        assert notes.read_text() == "precious"
        code, _, error = run("train", rows, option, "/dev/null", "--force")
        assert code == 2
        assert "this is a device" in error
    assert run("train", rows, "-o", notes, "--force", "--epochs", 2)[0] == 0
    assert run("train", rows, "-o", notes, "--epochs", 3)[0] == 0
    assert rosenblatt.load(notes).max_epochs == 3
    (folder / "empty").touch()  # as mktemp makes it: nothing is lost
    assert run("train", rows, "-o", folder / "empty", "--epochs", 2)[0] == 0
    for epochs in (2, 4):
        assert run("train", rows, "--checkpoint", point, "--resume", "--epochs", epochs, "--set", "margin=1e9")[0] == 0
    assert rosenblatt.load(point).n_iter_ == 4


def test_only_exports_are_replaced_by_exports(folder):
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    run("train", folder / "rows.svm", "-o", folder / "n", "--epochs", 2)
    for other in (folder / "n", folder / "table.csv"):
        before = other.read_bytes()
        code, _, error = run("export", folder / "m", other)
        assert code == 2
        assert "give --force" in error
        assert other.read_bytes() == before
    for options in ((), (), ("--force",)):
        assert run("export", folder / "m", folder / "m.onnx", *options)[0] == 0
    code, _, error = run("train", folder / "rows.svm", "-o", folder / "m.onnx")
    assert code == 2
    assert run("export", folder / "m", folder / "n", "--force")[0] == 0


def test_resume_is_suggested_only_if_this_run_saved_a_checkpoint(folder, monkeypatch):
    point = folder / "point"
    arguments = ("train", folder / "rows.svm", "--checkpoint", point, "--epochs", 5, "--set", "margin=1e9")
    assert run(*arguments, "--learner", "perceptron")[0] == 0

    def interrupted(steps, quiet, after):
        for step in steps:
            if after == 0 or step.record is not None:
                raise KeyboardInterrupt

    for after, said in ((0, "interrupted\n"), (1, f"interrupted; continue from {point} with --resume\n")):
        shown = functools.partial(interrupted, after=after)
        monkeypatch.setattr("rosenblatt.cli.progress_bar.show_progress", shown)
        code, _, error = run(*arguments, "--learner", "perceptron")
        assert code == 130
        assert error == said


@pytest.mark.parametrize(
    "words",
    [
        ("check", "SOURCE"),
        ("check", "SOURCE", "--json"),
        ("check", "--help"),
        ("check", "nowhere"),
        ("check", "--colour"),
    ],
    ids=" ".join,
)
def test_closing_the_output_early_exits_with_141(folder, words):
    """Whatever could not be written, the exit code is no verdict: 1 would mean that nothing separates the rows."""
    (folder / "same.svm").write_text("1 1:1\n-1 1:1\n")
    arguments = [str(folder / "same.svm") if word == "SOURCE" else word for word in words]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, "check", *arguments], stdout=writer, stderr=writer)
    os.close(writer)
    assert done.returncode == 141


def test_an_answer_that_cannot_be_written(folder):
    (folder / "same.svm").write_text("1 1:1\n-1 1:1\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "check", str(folder / "same.svm")], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert subprocess.run([*COMMAND, "check", str(folder / "same.svm")], stdout=subprocess.DEVNULL).returncode == 1


def test_an_unknown_command_or_option(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "check", "--colour"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert "--colour" in capsys.readouterr().err


@pytest.mark.parametrize("error", [BrokenPipeError(), SystemExit(1)], ids=["ours", "of rich"])
def test_a_broken_pipe_is_not_a_verdict(monkeypatch, error):
    def broken(**how):
        raise error

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 141


class Verdict:
    positive, verdict = 1, "complete"

    def __init__(self, separable):
        self.separable = separable


@pytest.mark.parametrize(("separable", "code"), [(True, 0), (False, 1), (None, 3)])
def test_check(folder, monkeypatch, separable, code):
    monkeypatch.setattr(rosenblatt, "separability", lambda X, y: Verdict(separable), raising=False)
    assert run("check", folder / "table.csv", "--label", "churned")[0] == code
    got, out, _ = run("check", folder / "rows.svm", "--json")
    assert got == code
    assert json.loads(out)["separable"] is separable


def test_lab(folder, monkeypatch):
    from rosenblatt import lab

    asked = []
    monkeypatch.setattr(lab, "serve", lambda *where, **how: asked.append((where, how)))
    assert run("lab")[0] == run("lab", folder / "table.csv", "--port", 5010, "--no-browser")[0] == 0
    assert asked == [
        ((None,), {"port": 0, "open_browser": True}),
        ((folder / "table.csv",), {"port": 5010, "open_browser": False}),
    ]
    assert run("lab", "--port", 70000)[0] == 2


@pytest.mark.compiled
def test_lab_in_a_process(tmp_path):
    (tmp_path / "own.csv").write_text("a,b,c\n1,2,x\n3,4,y\n")
    child = subprocess.Popen(
        [*COMMAND, "lab", str(tmp_path / "own.csv"), "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", child.stdout.readline())[0]
        for _ in range(3_000):
            try:
                with urllib.request.urlopen(address) as page:
                    text = page.read().decode()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        assert "rosenblatt lab" in text
        child.send_signal(signal.SIGINT)
        assert child.wait(600) == 0
    finally:
        child.kill()
        child.stdout.close()


def test_lab_without_panel(monkeypatch):
    monkeypatch.setitem(sys.modules, "panel", None)
    code, _, error = run("lab", "--no-browser")
    assert code == 2
    assert 'pip install "rosenblatt[lab]"' in error


def test_export(folder):
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    assert run("export", folder / "m", folder / "m.onnx")[0] == 0
    assert (folder / "m.onnx").stat().st_size > 100


def test_bench(folder, monkeypatch):
    code, out, _ = run("bench", folder / "rows.svm")
    assert code == 0
    assert "MB/s" in out
    assert len(json.loads(run("bench", folder / "rows.svm", "--json")[1])) == 3
    assert "MB/s" in run("bench", folder / "table.csv", "--label", "churned")[1]
    monkeypatch.setenv("ROSENBLATT_CACHE", str(folder / "caches"))
    assert len(json.loads(run("bench", "-", "--json", input=(folder / "rows.svm").read_bytes())[1])) == 3
    monkeypatch.setattr("rosenblatt.cli.speed.SYNTHETIC_ROWS", 50)
    assert run("bench")[0] == 0


def test_version_and_main(monkeypatch, capsys, folder):
    assert run("--version")[1].strip() == f"rosenblatt {rosenblatt.__version__}"
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "info", str(folder / "rows.svm")])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("rosenblatt: ")


@pytest.mark.compiled
def test_help_has_examples_and_starts_quickly():
    def spent():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "rosenblatt train reviews.svm" in out
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.5
    for name in ("train", "predict", "evaluate", "check", "info", "export", "bench"):
        assert "Example" in run(name, "--help")[1]


def test_heavy_imports_are_deferred():
    script = "import sys, rosenblatt.cli.main; print(sorted({'numba', 'sklearn', 'numpy', 'rich'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "numba" not in out
    assert "sklearn" not in out


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self, real):
        self.real = real

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_progress_in_both_forms(monkeypatch, capsys):
    def steps():
        for epoch in (1, 2):
            yield Progress(epoch, 50, 100, 3, 0.1)
            yield Progress(epoch, 100, 100, 5, 0.2, EpochRecord(epoch, 5, None, 0.25, 0.1))

    show_progress(steps())
    assert "epoch 2: 5 mistakes, loss 0.25, 1,000 rows/s" in capsys.readouterr().err
    show_progress(steps(), quiet=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    show_progress(steps())
    assert "epoch 2: 5 mistakes" in capsys.readouterr().err
