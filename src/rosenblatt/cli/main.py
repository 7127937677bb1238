"""The command line: `rosenblatt train`, `predict`, `evaluate`, `check`, `info`, `export`, `bench`, `lab`.

Heavy imports wait inside the commands, so that `rosenblatt --help` is quick.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from rosenblatt._version import __version__

EPILOG = """
Examples:\n
  rosenblatt train reviews.svm --test held-out.svm -o reviews.model\n
  rosenblatt predict reviews.model new.svm > labels.txt\n
  rosenblatt check customers.csv --label churned\n
  zcat huge.svm.gz | rosenblatt train - -o huge.model\n
  rosenblatt train 'part-*.svm' --workers 4 -o model
"""
app = typer.Typer(
    help="Perceptron learning made fast, proven and visible.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BAD_INPUT, UNDECIDED, INTERRUPTED = 2, 3, 130
UNREAD = 141  # as shells say of SIGPIPE: the answer was cut short, whatever it was


class Learner(StrEnum):
    """What can learn from files."""

    PERCEPTRON = "perceptron"
    AVERAGED = "averaged"
    PAUM = "paum"
    PASSIVE_AGGRESSIVE = "passive-aggressive"
    REGRESSOR = "regressor"
    AROW = "arow"
    SECOND_ORDER = "second-order"


CLASSES = {
    Learner.PERCEPTRON: "Perceptron",
    Learner.AVERAGED: "AveragedPerceptron",
    Learner.PAUM: "PAUM",
    Learner.PASSIVE_AGGRESSIVE: "PassiveAggressive",
    Learner.REGRESSOR: "PassiveAggressiveRegressor",
    Learner.AROW: "AROW",
    Learner.SECOND_ORDER: "SecondOrderPerceptron",
}


class Format(StrEnum):
    """The formats that can be read."""

    SVMLIGHT = "svmlight"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    ARROW = "arrow"
    TEXT = "text"


Source = Annotated[str, typer.Argument(help='A file, a pattern such as "part-*.svm", or - for standard input.')]
Model = Annotated[Path, typer.Argument(help="A model file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that is there and is no model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
FormatOption = Annotated[Format | None, typer.Option(help="The format, where the name does not tell.")]
LabelOption = Annotated[str | None, typer.Option(help="Tables: the column of the label, a name or a number from 0.")]
FeaturesOption = Annotated[int | None, typer.Option(min=1, help="The number of features, if it is known.")]
ZeroBased = Annotated[
    bool | None, typer.Option("--zero-based/--one-based", help="svmlight: where indices start, if it is known.")
]
Header = Annotated[bool, typer.Option("--header/--no-header", help="CSV, TSV: whether the first line has names.")]
Categorical = Annotated[str, typer.Option(help="Tables: names become columns (onehot) or are hashed (hash).")]
Ngrams = Annotated[str, typer.Option(help='Text: n-grams of words, as in "1,2".')]


def reading_settings(
    format: Format | None,
    label: str | None,
    features: int | None,
    zero: bool | None,
    header: bool,
    names: str,
    grams: str,
) -> dict[str, Any]:
    """What `rosenblatt.read` takes, from what was typed; only what differs from the defaults."""
    settings: dict[str, Any] = {}
    if format is not None:
        settings["format"] = format.value
    if label is not None:
        settings["label"] = int(label) if label.lstrip("-").isdigit() else label
    if features is not None:
        settings["n_features"] = features
    if zero is not None:
        settings["zero_based"] = zero
    if not header:
        settings["header"] = False
    if names != "onehot":
        settings["categorical"] = names
    if grams != "1,1":
        try:
            low, high = (int(part) for part in grams.split(","))
        except ValueError:
            raise ValueError(f'--ngrams takes two whole numbers, as in "1,2", not {grams!r}.') from None
        settings["ngrams"] = (low, high)
    return settings


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rosenblatt {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example:  rosenblatt train reviews.svm --test held-out.svm -o reviews.model")
def train(
    source: Source,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write the model.")] = None,
    test: Annotated[str | None, typer.Option(help="A file to evaluate the model on.")] = None,
    learner: Annotated[Learner, typer.Option(help="What learns.")] = Learner.AVERAGED,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help='A parameter of the learner, as in "margin=0.5"; repeat for more.')
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes at most; fewer when every row is right.")] = 10,
    order: Annotated[
        str, typer.Option(help='"shuffle" (blocks, and rows in pools of blocks) or "cyclic".')
    ] = "shuffle",
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    memory: Annotated[
        str | None,
        typer.Option(help="What training may take beside the model: 256MB; on a cluster half of each worker's memory."),
    ] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Cut the rows into so many shards, which learn side by side.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Threads that learn from shards.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler whose workers learn, such as tls://host:8786.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Start so many worker processes here.")] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="With tls://: certificates by which the scheduler is known."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="With tls://: our own certificate.")
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="With tls://: its key, if it is not in the same file."),
    ] = None,
    mixing: Annotated[str, typer.Option(help='Shards count alike ("uniform") or by their "mistakes".')] = "uniform",
    deadline: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds until a shard is given to another worker.")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A file to write after each epoch, and on Ctrl-C.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    force: Force = False,
    as_json: AsJson = False,
    format: FormatOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
    categorical: Categorical = "onehot",
    ngrams: Ngrams = "1,1",
) -> None:
    """Learn from a file of any size."""
    import rosenblatt
    from rosenblatt.cli.progress import watched
    from rosenblatt.cli.scoring import evaluated
    from rosenblatt.scale.fit_from_files import steps

    settings = reading_settings(format, label, features, zero_based, header, categorical, ngrams)
    parameters = dict(_parameter(one) for one in set_ or ())
    kind = getattr(rosenblatt, CLASSES[learner])
    model = kind(**{"max_epochs": epochs, "order": order, "random_state": seed, **parameters})
    _check_places(source, [path for path in (output, checkpoint) if path is not None], test, force)
    written = _stamp(checkpoint)
    how = {"shards": shards, "n_jobs": jobs, "mixing": mixing, "memory": memory, "deadline": deadline}
    with _cluster(cluster, workers, {"ca": tls_ca, "cert": tls_cert, "key": tls_key}) as client:
        under_way = steps(
            model,
            source,
            client=client,
            checkpoint=checkpoint,
            resume=resume,
            **how,
            **settings,
        )
        try:
            watched(under_way, quiet=as_json)
        except KeyboardInterrupt:
            under_way.close()  # type: ignore[attr-defined]
            where = f"; {checkpoint} goes on with --resume" if _stamp(checkpoint) not in (None, written) else ""
            print(f"interrupted{where}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if output is not None:
        rosenblatt.save(model, output)
    found = None if test is None else evaluated(model, test, {})
    if as_json:
        _print_json({"model": str(output) if output else None, "report": _report(model), "test": _about(found)})
        return
    print(model.report_)
    if found is not None:
        print(f"on {test}:\n{found}")


@contextmanager
def _cluster(address: str | None, workers: int | None, tls: dict[str, Path | None]) -> Iterator[Any]:
    """A client of the cluster at this address, or of one that lives as long as it is needed; None without either."""
    if any(tls.values()) and not (address or "").startswith("tls://"):
        raise ValueError("--tls-ca, --tls-cert and --tls-key are for a scheduler at --cluster tls://host:port.")
    if any(tls.values()) and not (tls["ca"] and tls["cert"]):
        raise ValueError(
            "TLS takes --tls-ca, --tls-cert and, where the certificate's file does not hold it, --tls-key."
        )
    if address is None and workers is None:
        yield None
        return
    if address is not None and workers is not None:
        raise ValueError("--cluster has workers, --workers starts some: give one of them.")
    from rosenblatt.scale.dask_cluster import connected

    with connected(address, workers, tls if any(tls.values()) else None) as client:
        if address is not None:
            print(f"dashboard: {client.dashboard_link}", file=sys.stderr, flush=True)
        yield client


def _check_places(source: str, outputs: list[Path], test: str | None, force: bool) -> None:
    """Refuse before training what could only fail after it, or would destroy data."""
    from rosenblatt.data.formats.byte_sources import STDIN, expand, flows, opened
    from rosenblatt.persist.model_files import is_model

    tests = expand(test) if test is not None else ()
    if STDIN in tests and STDIN in expand(source):
        raise ValueError("Standard input cannot be both what is learned from and the test.")
    for path in outputs:
        _check_output(path, (*expand(source), *tests), is_model, force)
    for name in tests:
        if not flows(name):
            with opened(name):
                pass


def _check_output(path: Path, inputs: Sequence[str], ours: Callable[[Path], bool], force: bool) -> None:
    """Refuse a file that is read, and unless forced one that is there and was not written by such a command."""
    from rosenblatt.data.formats.byte_sources import spare_inputs

    if path.is_dir():
        raise ValueError(f"{path}: this is a folder, name a file in it.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    spare_inputs(inputs, [path])
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"{path}: this is a device, a pipe or a socket, name a file.")
    if path.stat().st_size and not force and not ours(path):
        raise ValueError(f"{path}: this file is there and is no model of rosenblatt: name another, or give --force.")


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """Which file stands there now."""
    if path is None or not path.exists():
        return None
    about = path.stat()
    return about.st_ino, about.st_mtime_ns


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f'--set takes name=value, as in "margin=0.5", not {text!r}.')
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


@app.command(epilog="Example:  rosenblatt predict reviews.model new.svm > labels.txt")
def predict(
    model: Model,
    source: Source,
    scores: Annotated[bool, typer.Option("--scores", help="Print scores beside the labels.")] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Text: lines have no label.")] = False,
    format: FormatOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
) -> None:
    """Print a label for each row."""
    import rosenblatt
    from rosenblatt.cli.scoring import predicted
    from rosenblatt.data.formats.byte_sources import expand, spare_inputs

    settings = reading_settings(format, None, None, zero_based, header, "onehot", "1,1")
    spare_inputs((str(model), *expand(source)), ["/dev/stdout"])  # labels appended to the rows would be read as rows
    loaded = rosenblatt.load(model)
    for lines in predicted(loaded, source, settings, scores=scores, labelled=not unlabelled):
        print(lines, end="")


@app.command(epilog="Example:  rosenblatt evaluate reviews.model held-out.svm")
def evaluate(
    model: Model,
    source: Source,
    as_json: AsJson = False,
    format: FormatOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
) -> None:
    """Say how often a model is right on a file."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluated

    settings = reading_settings(format, None, None, zero_based, header, "onehot", "1,1")
    found = evaluated(rosenblatt.load(model), source, settings)
    _print_json(_about(found)) if as_json else print(found)


@app.command(
    epilog="Exit codes: 0 complete separation, 1 not separable, 3 undecided, 2 bad input, 141 nobody read the answer.  "
    "Example:  rosenblatt check customers.csv --label churned"
)
def check(
    source: Source,
    as_json: AsJson = False,
    format: FormatOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
    categorical: Categorical = "onehot",
    ngrams: Ngrams = "1,1",
) -> None:
    """Say whether a plane separates the classes, with the proof."""
    import rosenblatt
    from rosenblatt.cli.scoring import named
    from rosenblatt.data.formats.byte_sources import spooled
    from rosenblatt.data.formats.reading import lasting, prepared, reading

    settings = reading_settings(format, label, features, zero_based, header, categorical, ngrams)
    with spooled(source, stdin=False) as files:
        how = reading(files, **settings)
        with lasting(files, how) as again:
            how = prepared(again, how)
            X, y = rosenblatt.read(again, like=how)
    verdict = rosenblatt.separability(named(X, how), y)
    if as_json:
        each = {str(one.positive): one.verdict for one in getattr(verdict, "verdicts", (verdict,))}
        _print_json({"separable": verdict.separable, "verdicts": each, "proof": str(verdict)})
    else:
        print(verdict)
    if not verdict.separable:
        raise typer.Exit(UNDECIDED if verdict.separable is None else 1)


@app.command(epilog="Example:  rosenblatt info reviews.model")
def info(model: Model, as_json: AsJson = False) -> None:
    """Say what a model file holds."""
    import rosenblatt

    loaded = rosenblatt.load(model)
    usual = type(loaded)().get_params()
    changed = {name: value for name, value in loaded.get_params().items() if repr(value) != repr(usual[name])}
    classes = getattr(loaded, "classes_", None)
    about = {
        "class": type(loaded).__name__,
        "parameters": changed,
        "features": getattr(loaded, "n_features_in_", None),
        "classes": None if classes is None else classes.tolist(),
        "bytes": model.stat().st_size,
        "report": _report(loaded),
    }
    if as_json:
        _print_json(about)
        return
    settings = (f"{name}={' '.join(repr(value).split())}" for name, value in changed.items())  # arrays have many lines
    print(f"{about['class']}({', '.join(settings)})")
    print(f"  features {about['features']:,}" if about["features"] else "  not trained")
    if classes is not None:
        shown = ", ".join(str(one) for one in classes[:10])
        print(f"  classes  {shown}{f', … {classes.size:,} in all' if classes.size > 10 else ''}")
    if hasattr(loaded, "report_"):
        print(loaded.report_)


@app.command(epilog="Example:  rosenblatt export reviews.model reviews.onnx")
def export(
    model: Model,
    output: Annotated[Path, typer.Argument(help="An .onnx file to write.")],
    force: Force = False,
) -> None:
    """Write a linear model as ONNX."""
    import rosenblatt
    from rosenblatt.persist.onnx_export import is_export

    _check_output(output, [str(model)], is_export, force)
    rosenblatt.export_onnx(rosenblatt.load(model), output)
    print(f"{output}: {output.stat().st_size:,} bytes")


@app.command(epilog="Example:  rosenblatt bench reviews.svm")
def bench(
    source: Annotated[str | None, typer.Argument(help="A file, or -; without one, rows are made up.")] = None,
    as_json: AsJson = False,
    format: FormatOption = None,
    label: LabelOption = None,
) -> None:
    """Measure reading and training on this machine."""
    from rosenblatt.cli.scoring import measured

    found = measured(source, reading_settings(format, label, None, None, True, "onehot", "1,1"))
    if as_json:
        _print_json(found)
        return
    for name, value in found.items():
        print(f"{name:<28} {value:,.1f}")


@app.command(epilog="Example:  rosenblatt lab customers.csv")
def lab(
    source: Annotated[
        Path | None, typer.Argument(help="A CSV to look at: names, rows of numbers, labels in the last column.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only say where the page is.")] = False,
) -> None:
    """Open the lab in a browser: see perceptrons learn, on your own points."""
    from rosenblatt.show.lab import serve

    serve(source, port=port, open_browser=not no_browser)


# -- what is printed -------------------------------------------------------------------------------------------------


def _report(model: Any) -> Any:
    if not hasattr(model, "report_"):
        return None
    from dataclasses import asdict

    report = asdict(model.report_)
    return {**report, "epochs": len(report["epochs"])}


def _about(found: Any) -> Any:
    from dataclasses import asdict

    return None if found is None else asdict(found)


def _print_json(value: Any) -> None:
    def finite(node: Any) -> Any:
        if isinstance(node, dict):
            return {str(key): finite(item) for key, item in node.items()}
        if isinstance(node, list | tuple):
            return [finite(item) for item in node]
        if hasattr(node, "tolist"):  # an array
            return finite(node.tolist())
        if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
            return None
        return node if isinstance(node, str | int | float | bool | None) else str(node)

    print(json.dumps(finite(value), indent=2))


def fail(error: BaseException) -> NoReturn:
    """One sentence, and the exit code of bad input."""
    sentence = " ".join(str(error).split()) or type(error).__name__
    print(f"rosenblatt: {sentence}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def main() -> None:
    """Run the command line."""
    warnings.simplefilter("ignore")  # the report says what a warning would
    try:
        code: Any = _outcome()
    except BrokenPipeError:
        code = UNREAD
    except SystemExit as left:  # of 1, by typer or rich: whoever reads us has had enough, which is no verdict
        code = UNREAD if left.code == 1 else left.code
    for stream in (sys.stdout, sys.stderr):
        _drained(stream)
    sys.exit(code)


def _outcome() -> int:
    """The exit code of the command that was typed, once its answer is written."""
    try:
        code = app(standalone_mode=False)  # which returns what the command exits with
        print(end="", flush=True)
        return code or 0
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        fail(error)
    except Exception as error:
        if hasattr(error, "show"):  # of typer: no such command, option or value
            error.show()
            return int(getattr(error, "exit_code", BAD_INPUT))
        # A fault of ours: one sentence still, and never the exit code of "not separable".
        fail(RuntimeError(f"this should not happen, please report it: {type(error).__name__}: {error}"))


def _drained(stream: Any) -> None:
    """Leave nothing that Python could not write when it ends: it would complain, and exit with a code of its own."""
    try:
        print(end="", file=stream, flush=True)
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
