"""The command line: `rosenblatt train`, `predict`, `tag`, `evaluate`, `check`, `info`, `export` and others.

Heavy imports are made inside the commands, so that `rosenblatt --help` starts quickly.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from rosenblatt._version import __version__
from rosenblatt.cli.help_by_topic import CommandByTopic
from rosenblatt.cli.options import (
    AsJson,
    CacheFolder,
    ColumnKinds,
    Delimiter,
    Encoding,
    FeaturesOption,
    Force,
    FormatOption,
    Header,
    LabelOption,
    Model,
    Ngrams,
    Source,
    ZeroBased,
    reading_settings,
)
from rosenblatt.cli.outputs import check_output, measures_as_dict, print_json, report_as_dict
from rosenblatt.cli.stream import stream_command
from rosenblatt.cli.training import train_command
from rosenblatt.registry import family

EPILOG = """
Examples:\n
  rosenblatt train reviews.svm --test held-out.svm -o reviews.model\n
  rosenblatt predict reviews.model new.svm > labels.txt\n
  rosenblatt train chunking.conll --template chunk.tpl -o chunker.model\n
  rosenblatt check customers.csv --label churned\n
  zcat huge.svm.gz | rosenblatt train - -o huge.model\n
  rosenblatt train 'part-*.svm' --workers 4 -o model
"""
app = typer.Typer(
    help="Fast linear classifiers that prove when your data are separable.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BAD_INPUT, UNDECIDED = 2, 3
OUTPUT_CLOSED = 141  # the code that shells give for SIGPIPE: the reader closed our output before the end


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --version: what a bug report needs to say about this machine, too.")
    ] = False,
) -> None:
    if version:
        from rosenblatt.cli.versions import versions

        print(versions() if everything else f"rosenblatt {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(BAD_INPUT)


EXAMPLE = "Example:  rosenblatt train reviews.svm --test held-out.svm -o reviews.model"
app.command("train", epilog=EXAMPLE, cls=CommandByTopic)(train_command)

app.command(
    "stream",
    epilog="Exit codes: 0 end of input, 2 bad input, 141 output closed early; once the model is saved, 130 Ctrl-C, "
    "143 SIGTERM.  Example:  rosenblatt stream spam.model --learner arow < rows.jsonl > answers.jsonl",
)(stream_command)


@app.command("predict", epilog="Example:  rosenblatt predict reviews.model new.svm > labels.txt")
def predict_command(
    model: Model,
    source: Source,
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores after each label.")] = False,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print the probability of each class, in the order of `info`, after it.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tables: print what each column adds to the score, largest first.")
    ] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Text: the lines have no label.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write CSV here, with a header: ids, the prediction and, if the model has them, probabilities.",
        ),
    ] = None,
    force: Force = False,
    format: FormatOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Print the predicted label of each row, or write a table of answers."""
    import rosenblatt
    from rosenblatt.cli.scoring import is_answers, predicted_lines, write_answers
    from rosenblatt.cli.sequences import is_sequence_model
    from rosenblatt.formats.byte_sources import expand_paths, refuse_overwriting_inputs

    settings = reading_settings(format, None, None, zero_based, header, None, delimiter, encoding)
    # Labels appended to the input would be read as rows.
    refuse_overwriting_inputs((str(model), *expand_paths(source)), ["/dev/stdout"])
    loaded = rosenblatt.load(model)
    if is_sequence_model(loaded):
        raise ValueError(f"{type(loaded).__name__} tags the tokens of sentences: use rosenblatt tag.")
    if proba and not hasattr(loaded, "predict_proba"):
        raise ValueError(f"{type(loaded).__name__} has no probabilities: --scores prints its scores.")
    if explain and family(loaded) != "tables":
        raise ValueError(f"--explain is for models of tables, and this is a model of {type(loaded).__name__}.")
    more = {"scores": scores, "explain": explain, "labelled": not unlabelled}
    if output is not None:
        check_output(output, (str(model), *expand_paths(source)), is_answers, force)
        rows = write_answers(loaded, source, settings, output, **more)
        print(f"{output}: {rows:,} rows")
        return
    for lines in predicted_lines(loaded, source, settings, proba=proba, **more):
        print(lines, end="")


@app.command(epilog="Example:  rosenblatt tag chunker.model < new.conll > tagged.conll")
def tag(
    model: Model,
    source: Annotated[str, typer.Argument(help="A file with CoNLL columns, or - for standard input.")] = "-",
) -> None:
    """Print the lines of CoNLL columns with the predicted tag as one more column."""
    import rosenblatt
    from rosenblatt.cli.sequences import is_sequence_model, tagged_lines
    from rosenblatt.formats.byte_sources import expand_paths, refuse_overwriting_inputs

    refuse_overwriting_inputs((str(model), *expand_paths(source)), ["/dev/stdout"])
    loaded = rosenblatt.load(model)
    if not is_sequence_model(loaded):
        raise ValueError(f"{type(loaded).__name__} labels rows, not the tokens of sentences: use rosenblatt predict.")
    for lines in tagged_lines(loaded, source):
        print(lines, end="")


@app.command("evaluate", epilog="Example:  rosenblatt evaluate reviews.model held-out.svm")
def evaluate_command(
    model: Model,
    source: Source,
    as_json: AsJson = False,
    format: FormatOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Print how good a model is on a file: accuracy, F1, log loss, AUC, confusions; a regressor's mean error and R²."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluate_file

    settings = reading_settings(format, None, None, zero_based, header, None, delimiter, encoding)
    found = evaluate_file(rosenblatt.load(model), source, settings)
    print_json(measures_as_dict(found)) if as_json else print(found)


@app.command(
    epilog="Exit codes: 0 complete separation, 1 not separable, 3 undecided, 2 bad input, 141 output closed early.  "
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
    column: ColumnKinds = None,
    ngrams: Ngrams = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Decide whether a plane separates the classes, and print the proof."""
    import rosenblatt
    from rosenblatt.cli.table_models import column_kinds, encoded_table, has_columns
    from rosenblatt.formats.byte_sources import spooled
    from rosenblatt.formats.read_and_stream import read_rows

    settings = reading_settings(format, label, features, zero_based, header, ngrams, delimiter, encoding)
    table = None
    with spooled(source, stdin=False) as files:  # detecting the format must not consume a pipe
        if has_columns(files, settings):
            table = encoded_table(files, settings, column_kinds(column or []))
            verdict = rosenblatt.separability(table.X, table.y)
        else:
            _, X, y, _ = read_rows(files, **settings)
            verdict = rosenblatt.separability(X, y)
    if as_json:
        each = {str(one.positive): one.verdict for one in getattr(verdict, "verdicts", (verdict,))}
        used = {} if table is None else {"columns": table.columns, "left_out": table.encoder.left_out_}
        print_json({"separable": verdict.separable, "verdicts": each, "proof": str(verdict), **used})
    else:
        print(verdict if table is None else f"{table}\n{verdict}")
    if not verdict.separable:
        raise typer.Exit(UNDECIDED if verdict.separable is None else 1)


@app.command(epilog="Example:  rosenblatt info reviews.model")
def info(model: Model, as_json: AsJson = False) -> None:
    """Print what a model file holds."""
    import rosenblatt

    loaded = rosenblatt.load(model)
    defaults = type(loaded)().get_params(deep=False)
    changed = {
        name: value for name, value in loaded.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    }
    classes = getattr(loaded, "classes_", None)
    about = {
        "class": type(loaded).__name__,
        "parameters": changed,
        "features": getattr(loaded, "n_features_in_", None),
        "classes": None if classes is None else classes.tolist(),
        "bytes": model.stat().st_size,
        "report": report_as_dict(loaded),
    }
    if family(loaded) == "tables" and about["report"] is not None:
        about["summary"] = asdict(loaded.summary_)
    if as_json:
        print_json(about)
        return
    # An array's repr spans several lines: they are joined.
    settings = (f"{name}={' '.join(repr(value).split())}" for name, value in changed.items())
    print(f"{about['class']}({', '.join(settings)})")
    print(f"  features {about['features']:,}" if about["features"] else "  not trained")
    if classes is not None:
        shown = ", ".join(str(one) for one in classes[:10])
        print(f"  classes  {shown}{f', … ({classes.size:,} in all)' if classes.size > 10 else ''}")
    for told in ("report_", "summary_"):
        if getattr(loaded, told, None) is not None:
            print(getattr(loaded, told))


@app.command(epilog="Example:  rosenblatt export reviews.model reviews.onnx")
def export(
    model: Model,
    path: Annotated[Path | None, typer.Argument(metavar="[OUTPUT]", help="The .onnx file to write.")] = None,
    option: Annotated[Path | None, typer.Option("-o", "--output", help="The same.")] = None,
    force: Force = False,
) -> None:
    """Export a linear model to ONNX."""
    output = path or option
    if output is None or (path and option):
        raise ValueError("export writes one file: rosenblatt export MODEL -o FILE.onnx.")
    import rosenblatt
    from rosenblatt.model_files.onnx_export import is_export

    check_output(output, [str(model)], is_export, force)
    rosenblatt.export_onnx(rosenblatt.load(model), output)
    print(f"{output}: {output.stat().st_size:,} bytes")


@app.command(epilog="Example:  rosenblatt cache --remove huge.svm")
def cache(
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", help="Remove the cache of this name, or those of this file; may be repeated."),
    ] = None,
    remove_all: Annotated[bool, typer.Option("--remove-all", help="Remove all caches.")] = False,
    cache_dir: CacheFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the caches of large files, or remove them; other files in their folder are left alone."""
    from rosenblatt.cli.caches import caches_as_dict, listing
    from rosenblatt.scale import cache_files

    found = cache_files.cache_files()
    if remove_all or remove:
        found = found if remove_all else cache_files.named(found, remove or ())
        cache_files.remove(found)
    print_json(caches_as_dict(found)) if as_json else print(listing(found, removed=remove_all or bool(remove)))


@app.command(epilog="Example:  rosenblatt bench reviews.svm")
def bench(
    source: Annotated[str | None, typer.Argument(help="A file, or -; synthetic rows by default.")] = None,
    as_json: AsJson = False,
    format: FormatOption = None,
    label: LabelOption = None,
) -> None:
    """Measure the speed of reading and training on this machine."""
    from rosenblatt.cli.speed import measure_speed

    found = measure_speed(source, reading_settings(format, label, None, None))
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print(f"{name:<28} {value:,.1f}")


@app.command("compile", epilog="Example:  NUMBA_CACHE_DIR=/opt/rosenblatt rosenblatt compile averaged linear-svm")
def compile_command(
    learners: Annotated[
        list[str] | None, typer.Argument(help="Names, as train --learner takes them; all by default.")
    ] = None,
) -> None:
    """Compile learners ahead, for images and machines whose disk cannot be written later."""
    from rosenblatt.cli.compile_ahead import compile_ahead

    for line in compile_ahead(learners or []):
        print(line, flush=True)


@app.command(epilog="Example:  rosenblatt lab customers.csv")
def lab(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A CSV file to open: column names, numbers, labels in the last column. Or a saved state, .json."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open the lab in a browser, to watch perceptrons learn from your own points."""
    from rosenblatt.lab import serve

    serve(source, port=port, open_browser=not no_browser)


def fail(error: BaseException) -> NoReturn:
    """Print the error as one sentence and exit with the code for bad input."""
    sentence = " ".join(str(error).split()) or type(error).__name__
    print(f"rosenblatt: {sentence}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def main() -> None:
    """Run the command line."""
    warnings.simplefilter("ignore")  # the printed report says the same
    try:
        code: Any = _run_command()
    except BrokenPipeError:
        code = OUTPUT_CLOSED
    except SystemExit as stop:  # typer and rich exit with 1 on a broken pipe, which must not read as "not separable"
        code = OUTPUT_CLOSED if stop.code == 1 else stop.code
    for stream in (sys.stdout, sys.stderr):
        _flush_or_discard(stream)
    sys.exit(code)


def _run_command() -> int:
    """Run the command, flush its output and return its exit code."""
    try:
        code = app(standalone_mode=False)  # returns the exit code
        print(end="", flush=True)
        return code or 0
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        fail(error)
    except Exception as error:
        if hasattr(error, "show"):  # typer's own: an unknown command, option or value
            error.show()
            return int(getattr(error, "exit_code", BAD_INPUT))
        # A bug: still one sentence, and never the exit code of "not separable".
        fail(RuntimeError(f"internal error, please report it: {type(error).__name__}: {error}"))


def _flush_or_discard(stream: Any) -> None:
    """Flush a stream, or redirect it to the null device if that fails: a failed flush at exit would change the code."""
    try:
        print(end="", file=stream, flush=True)
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
