"""The command line: `rosenblatt train`, `predict`, `tag`, `evaluate`, `check`, `info`, `export` and others.

Heavy imports are made inside the commands, so that `rosenblatt --help` starts quickly.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from rosenblatt._version import __version__

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
    help="Perceptron learning made fast, proven and visible.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BAD_INPUT, UNDECIDED, INTERRUPTED = 2, 3, 130
OUTPUT_CLOSED = 141  # the code that shells give for SIGPIPE: the reader closed our output before the end


class Learner(StrEnum):
    """The learners that can be trained from files."""

    PERCEPTRON = "perceptron"
    AVERAGED = "averaged"
    PAUM = "paum"
    PASSIVE_AGGRESSIVE = "passive-aggressive"
    REGRESSOR = "regressor"
    AROW = "arow"
    SECOND_ORDER = "second-order"
    LINEAR = "linear"
    LOGISTIC = "logistic"
    LINEAR_REGRESSOR = "linear-regressor"
    LINEAR_SVM = "linear-svm"
    PEGASOS = "pegasos"
    NETWORK = "network"
    HIERARCHICAL = "hierarchical"
    VOTED = "voted"
    KERNEL = "kernel"
    KERNEL_SVM = "kernel-svm"
    MARK_I = "mark-i"
    AUTO = "auto"  # for tables: a search


ESTIMATORS = {
    Learner.PERCEPTRON: "Perceptron",
    Learner.AVERAGED: "AveragedPerceptron",
    Learner.PAUM: "PAUM",
    Learner.PASSIVE_AGGRESSIVE: "PassiveAggressive",
    Learner.REGRESSOR: "PassiveAggressiveRegressor",
    Learner.AROW: "AROW",
    Learner.SECOND_ORDER: "SecondOrderPerceptron",
    Learner.LINEAR: "LinearClassifier",
    Learner.LOGISTIC: "LinearClassifier",
    Learner.LINEAR_REGRESSOR: "LinearRegressor",
    Learner.LINEAR_SVM: "LinearSVM",
    Learner.PEGASOS: "Pegasos",
    Learner.NETWORK: "MultilayerPerceptron",
    Learner.HIERARCHICAL: "HierarchicalPerceptron",
    Learner.VOTED: "VotedPerceptron",
    Learner.KERNEL: "KernelPerceptron",
    Learner.KERNEL_SVM: "KernelSVM",
    Learner.MARK_I: "MarkI",
}
IN_MEMORY = {Learner.LINEAR_SVM, Learner.VOTED, Learner.KERNEL, Learner.KERNEL_SVM, Learner.MARK_I}
PRESETS: dict[Learner, dict[str, Any]] = {Learner.LOGISTIC: {"loss": "log"}}


class Task(StrEnum):
    """What is predicted: classes or numbers."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Format(StrEnum):
    """The file formats that can be read."""

    SVMLIGHT = "svmlight"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    ARROW = "arrow"
    TEXT = "text"


Source = Annotated[str, typer.Argument(help='A file, a pattern such as "part-*.svm", or - for standard input.')]
Model = Annotated[Path, typer.Argument(help="A model file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an output file that rosenblatt did not write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FormatOption = Annotated[Format | None, typer.Option(help="The file format, if the file name does not tell.")]
LabelOption = Annotated[
    str | None, typer.Option(help="Tables: the label column, by name or, if no column has that name, by number from 0.")
]
FeaturesOption = Annotated[int | None, typer.Option(min=1, help="The number of features, if known.")]
ZeroBased = Annotated[
    bool | None, typer.Option("--zero-based/--one-based", help="svmlight: the first index, if known.")
]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="CSV, TSV: whether the first line names the columns.")
]
Categorical = Annotated[str, typer.Option(help="Tables: one-hot encode text values (onehot) or hash them (hash).")]
Ngrams = Annotated[str, typer.Option(help='Text: the range of word n-grams, such as "1,2".')]


def _use_cache_folder(folder: Path | None) -> Path | None:
    """Workers that this process starts use the same folder."""
    if folder is not None:
        os.environ["ROSENBLATT_CACHE"] = os.path.abspath(folder)
    return folder


CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        callback=_use_cache_folder,
        help="The folder for caches of large files. Default: ROSENBLATT_CACHE, or else in the user's cache folder.",
    ),
]


def reading_settings(
    format: Format | None,
    label: str | None,
    features: int | None,
    zero: bool | None,
    header: bool,
    names: str,
    grams: str,
) -> dict[str, Any]:
    """Keyword arguments for `rosenblatt.read` from the command line's options; only those that are not the defaults."""
    settings: dict[str, Any] = {}
    if format is not None:
        settings["format"] = format.value
    if label is not None:
        settings["label"] = label
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
            raise ValueError(f'--ngrams takes two integers, such as "1,2", not {grams!r}.') from None
        settings["ngrams"] = (low, high)
    return settings


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rosenblatt {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example:  rosenblatt train reviews.svm --test held-out.svm -o reviews.model")
def train(
    source: Source,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write the model.")] = None,
    test: Annotated[str | None, typer.Option(help="A file to evaluate the model on.")] = None,
    learner: Annotated[
        Learner | None,
        typer.Option(
            help="Train this one learner; auto: search learners and their settings for a table. Default: tables and "
            "text get a model with encoded columns, out-of-fold scores and probabilities; svmlight files, and runs "
            "with options of a single learner, get averaged."
        ),
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="Tables: predict classes or numbers, if the label can be either.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help='Tables: the kind of a column, such as "zip=names"; may be repeated.'),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Tables: search learners and their settings for so long; another run may choose others. Default: "
            "one learner, without a search; with --learner auto a search that every run repeats.",
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="CoNLL columns: a file of feature templates in CRF++'s notation."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help='A parameter of the learner, such as "margin=0.5"; may be repeated.'),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of epochs; fewer if training ends before.", show_default="10"),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help='"shuffle" (blocks, and the rows within pools of blocks) or "cyclic".', show_default="shuffle"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory for training, besides the model. Default: 256MB, 1GB for tables without --learner; on a "
            "cluster, half of each worker's memory."
        ),
    ] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Split the rows into this many shards, trained in parallel.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of threads that train on the shards.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="Train on the workers of a Dask scheduler, such as tls://host:8786.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Start this many worker processes on this machine.")
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="With tls://: the CA certificates to verify the scheduler with."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="With tls://: the client certificate.")
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="With tls://: its private key, unless the certificate file holds it."
        ),
    ] = None,
    mixing: Annotated[str, typer.Option(help='Weight shards equally ("uniform") or by their "mistakes".')] = "uniform",
    deadline: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds before a shard is given to another worker.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file to save progress to, after each epoch and on Ctrl-C.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint.")] = False,
    cache_dir: CacheFolder = None,
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
    """Train a model on a file of any size."""
    from rosenblatt.cli.progress import show_progress
    from rosenblatt.cli.tables import train_table
    from rosenblatt.data.formats.byte_sources import spooled
    from rosenblatt.scale.fit_from_files import steps

    settings = reading_settings(format, label, features, zero_based, header, categorical, ngrams)
    tls = {"ca": tls_ca, "cert": tls_cert, "key": tls_key}
    others = [str(path) for path in (template, *tls.values()) if path is not None]
    _check_paths(source, [path for path in (output, checkpoint) if path is not None], test, others, force)
    if template is not None:
        unused = (learner, task, column, seconds, memory, shards, cluster, workers, deadline, cache_dir, *tls.values())
        if settings or any(unused) or jobs != 1 or mixing != "uniform":
            raise ValueError("--template goes with -o, --test, --epochs, --order, --seed, --set and --checkpoint only.")
        settings = {"max_epochs": epochs or 10, "order": order or "shuffle", "random_state": seed}
        settings.update(_parameter(one) for one in set_ or ())
        _train_sequences(source, output, test, template, settings, checkpoint, resume, as_json)
        return
    if format is None and Path(source.removesuffix(".gz").removesuffix(".zst")).suffix == ".conll":
        raise ValueError(f"{source}: CoNLL columns need a file of feature templates: give --template.")
    of_one_learner = (set_, epochs, order, shards, cluster, workers, deadline, features)
    plain = all(option is None for option in of_one_learner) and jobs == 1
    plain = plain and (categorical, ngrams, mixing) == ("onehot", "1,1", "uniform")
    with ExitStack() as copies:
        files: Any = source
        if learner in (None, Learner.AUTO) and plain:
            files = copies.enter_context(spooled(source, stdin=False))  # telling the format must not use up a pipe
            if _is_table(files, settings):
                settings |= {"memory": memory, "checkpoint": checkpoint, "resume": resume}
                said = None if task is None else task.value
                with _interruptible(checkpoint):
                    search = learner is Learner.AUTO or seconds is not None
                    model = train_table(files, column or [], said, seed, search, seconds, settings)
                if files is not source:
                    model.summary_ = replace(model.summary_, source=Path(source).name)
                _report_table(model, output, test, as_json)
                return
        if task is not None or column or seconds is not None:
            raise ValueError(
                "--task, --column and --seconds are for tables that are trained without --learner and its options."
            )
        if learner is Learner.AUTO:
            raise ValueError("--learner auto is for tables, without options of a single learner: leave those out.")
        learner = learner or Learner.AVERAGED
        model = _estimator(learner, epochs or 10, order or "shuffle", seed, dict(_parameter(one) for one in set_ or ()))
        if learner in IN_MEMORY:
            _fit_in_memory(model, files, settings)
            _report_training(model, output, test, as_json)
            return
        how = {"shards": shards, "n_jobs": jobs, "mixing": mixing, "memory": memory, "deadline": deadline}
        with _cluster(cluster, workers, tls) as client:
            training = steps(model, files, client=client, checkpoint=checkpoint, resume=resume, **how, **settings)
            with _interruptible(checkpoint), closing(training):  # type: ignore[type-var]
                show_progress(training, quiet=as_json)
    _report_training(model, output, test, as_json)


@contextmanager
def _interruptible(checkpoint: Path | None) -> Iterator[None]:
    """On Ctrl-C, say from where training can be continued."""
    before = _file_identity(checkpoint)
    try:
        yield
    except KeyboardInterrupt:
        saved = _file_identity(checkpoint) not in (None, before)
        print(f"interrupted{f'; continue from {checkpoint} with --resume' if saved else ''}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _train_sequences(
    source: str,
    output: Path | None,
    test: str | None,
    template: Path,
    parameters: dict[str, Any],
    checkpoint: Path | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Train a model of CoNLL columns, save it, evaluate it and print its report."""
    import rosenblatt
    from rosenblatt.cli.progress import show_progress
    from rosenblatt.cli.sequences import evaluate_tags, new_tagger, scores_as_dict
    from rosenblatt.scale.sequence_files import sequence_training

    model = new_tagger(template, parameters)
    training = sequence_training(model, source, checkpoint=checkpoint, resume=resume)
    with _interruptible(checkpoint), closing(training):  # type: ignore[type-var]
        show_progress(training, quiet=as_json)
    if output is not None:
        rosenblatt.save(model, output)
    found = None if test is None else evaluate_tags(model, test)
    if as_json:
        saved = str(output) if output else None
        _print_json({"model": saved, "report": _report(model), "test": scores_as_dict(found)})
        return
    print(model.report_)
    if found is not None:
        print(f"on {test}:\n{found}")


def _is_table(source: Any, settings: dict[str, Any]) -> bool:
    from rosenblatt.scale.table_files import is_table_source

    return is_table_source(source, settings)


def _estimator(learner: Learner, epochs: int, order: str, seed: int, parameters: dict[str, Any]) -> Any:
    """The learner with those of these parameters that it has; those that were set by name it must have."""
    import rosenblatt

    kind = getattr(rosenblatt, ESTIMATORS[learner])
    common = {"max_epochs": epochs, "order": order, "random_state": seed, **PRESETS.get(learner, {})}
    known = kind().get_params()
    return kind(**{**{name: value for name, value in common.items() if name in known}, **parameters})


def _fit_in_memory(model: Any, source: str, settings: dict[str, Any]) -> None:
    """Train a learner that needs all rows at once."""
    import rosenblatt
    from rosenblatt.data.formats.byte_sources import spooled
    from rosenblatt.data.formats.reading import make_reading, rereadable, with_layout

    with spooled(source, stdin=False) as files:
        how = make_reading(files, **settings)
        with rereadable(files, how, scan=True) as again:
            how = with_layout(again, how)
            X, y = rosenblatt.read(again, like=how)
    model.fit(X, y)
    model.reading_ = replace(how, n_features=X.shape[1])


def _report_training(model: Any, output: Path | None, test: str | None, as_json: bool) -> None:
    """Save the model, evaluate it and print its report."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluate_file

    if output is not None:
        rosenblatt.save(model, output)
    found = None if test is None else evaluate_file(model, test, {})
    if as_json:
        _print_json({"model": str(output) if output else None, "report": _report(model), "test": _as_dict(found)})
        return
    print(model.report_)
    if found is not None:
        print(f"on {test}:\n{found}")


def _report_table(model: Any, output: Path | None, test: str | None, as_json: bool) -> None:
    """Save a model of a raw table, evaluate it and print its summary."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluate_file
    from rosenblatt.cli.tables import summary_as_dict

    if output is not None:
        rosenblatt.save(model, output)
    found = None if test is None else evaluate_file(model, test, {})
    if as_json:
        saved = str(output) if output else None
        _print_json({"model": saved, "summary": summary_as_dict(model), "test": _as_dict(found)})
        return
    print(model.summary_)
    if output is not None:
        print(f"saved {output}")
    if found is not None:
        print(f"on {test}:\n{found}")


@contextmanager
def _cluster(address: str | None, workers: int | None, tls: dict[str, Path | None]) -> Iterator[Any]:
    """A client of the cluster at this address, or of a temporary local one with `workers`; None if neither is given."""
    if any(tls.values()) and not (address or "").startswith("tls://"):
        raise ValueError("--tls-ca, --tls-cert and --tls-key are for a scheduler at --cluster tls://host:port.")
    if any(tls.values()) and not (tls["ca"] and tls["cert"]):
        raise ValueError(
            "TLS takes --tls-ca, --tls-cert and, unless the certificate file holds the private key, --tls-key."
        )
    if address is None and workers is None:
        yield None
        return
    if address is not None and workers is not None:
        raise ValueError("--cluster already has workers and --workers starts new ones: give one of them.")
    from rosenblatt.scale.dask_cluster import connected

    with connected(address, workers, tls if any(tls.values()) else None) as client:
        if address is not None:
            print(f"dashboard: {client.dashboard_link}", file=sys.stderr, flush=True)
        yield client


def _check_paths(source: str, outputs: list[Path], test: str | None, others: Sequence[str], force: bool) -> None:
    """Check paths before training, to refuse what would fail only after it or would destroy data."""
    from rosenblatt.data.formats.byte_sources import STDIN, expand_paths, open_bytes, readable_once
    from rosenblatt.persist.model_files import is_model

    tests = expand_paths(test) if test is not None else ()
    if STDIN in tests and STDIN in expand_paths(source):
        raise ValueError("Standard input cannot be both the training data and the test data.")
    for path in outputs:
        _check_output(path, (*expand_paths(source), *tests, *others), is_model, force)
    for name in tests:
        if not readable_once(name):
            with open_bytes(name):
                pass


def _check_output(path: Path, inputs: Sequence[str], ours: Callable[[Path], bool], force: bool) -> None:
    """Refuse to overwrite an input, or, unless forced, an existing file that `ours` does not recognise."""
    from rosenblatt.data.formats.byte_sources import refuse_overwriting_inputs

    if path.is_dir():
        raise ValueError(f"{path}: this is a folder; name a file in it.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    refuse_overwriting_inputs(inputs, [path])
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"{path}: this is a device, a pipe or a socket; name a file.")
    if path.stat().st_size and not force and not ours(path):
        raise ValueError(f"{path}: this file exists and rosenblatt did not write it: name another, or give --force.")


def _file_identity(path: Path | None) -> tuple[int, int] | None:
    """The inode and modification time of the file, None if there is none."""
    if path is None or not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f'--set takes name=value, such as "margin=0.5", not {text!r}.')
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


@app.command(epilog="Example:  rosenblatt predict reviews.model new.svm > labels.txt")
def predict(
    model: Model,
    source: Source,
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores after each label.")] = False,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print the probability of each class, in the order of `info`, after it.")
    ] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Text: the lines have no label.")] = False,
    format: FormatOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
) -> None:
    """Print the predicted label of each row."""
    import rosenblatt
    from rosenblatt.cli.scoring import predicted_lines
    from rosenblatt.cli.sequences import is_sequence_model
    from rosenblatt.data.formats.byte_sources import expand_paths, refuse_overwriting_inputs

    settings = reading_settings(format, None, None, zero_based, header, "onehot", "1,1")
    # Labels appended to the input would be read as rows.
    refuse_overwriting_inputs((str(model), *expand_paths(source)), ["/dev/stdout"])
    loaded = rosenblatt.load(model)
    if is_sequence_model(loaded):
        raise ValueError(f"{type(loaded).__name__} tags the tokens of sentences: use rosenblatt tag.")
    if proba and not hasattr(loaded, "predict_proba"):
        raise ValueError(f"{type(loaded).__name__} has no probabilities: --scores prints its scores.")
    for lines in predicted_lines(loaded, source, settings, scores=scores, labelled=not unlabelled, proba=proba):
        print(lines, end="")


@app.command(epilog="Example:  rosenblatt tag chunker.model < new.conll > tagged.conll")
def tag(
    model: Model,
    source: Annotated[str, typer.Argument(help="A file with CoNLL columns, or - for standard input.")] = "-",
) -> None:
    """Print the lines of CoNLL columns with the predicted tag as one more column."""
    import rosenblatt
    from rosenblatt.cli.sequences import is_sequence_model, tagged_lines
    from rosenblatt.data.formats.byte_sources import expand_paths, refuse_overwriting_inputs

    refuse_overwriting_inputs((str(model), *expand_paths(source)), ["/dev/stdout"])
    loaded = rosenblatt.load(model)
    if not is_sequence_model(loaded):
        raise ValueError(f"{type(loaded).__name__} labels rows, not the tokens of sentences: use rosenblatt predict.")
    for lines in tagged_lines(loaded, source):
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
    """Print how good a model is on a file: accuracy, F1, log loss, AUC, confusions; a regressor's mean error and R²."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluate_file
    from rosenblatt.cli.sequences import evaluate_tags, is_sequence_model, scores_as_dict

    settings = reading_settings(format, None, None, zero_based, header, "onehot", "1,1")
    loaded = rosenblatt.load(model)
    if is_sequence_model(loaded):
        scores = evaluate_tags(loaded, source)
        _print_json(scores_as_dict(scores)) if as_json else print(scores)
        return
    found = evaluate_file(loaded, source, settings)
    _print_json(_as_dict(found)) if as_json else print(found)


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
    categorical: Categorical = "onehot",
    ngrams: Ngrams = "1,1",
) -> None:
    """Decide whether a plane separates the classes, and print the proof."""
    import rosenblatt
    from rosenblatt.cli.scoring import with_column_names
    from rosenblatt.data.formats.byte_sources import spooled
    from rosenblatt.data.formats.reading import make_reading, rereadable, with_layout

    settings = reading_settings(format, label, features, zero_based, header, categorical, ngrams)
    with spooled(source, stdin=False) as files:
        how = make_reading(files, **settings)
        with rereadable(files, how) as again:
            how = with_layout(again, how)
            X, y = rosenblatt.read(again, like=how)
    verdict = rosenblatt.separability(with_column_names(X, how), y)
    if as_json:
        each = {str(one.positive): one.verdict for one in getattr(verdict, "verdicts", (verdict,))}
        _print_json({"separable": verdict.separable, "verdicts": each, "proof": str(verdict)})
    else:
        print(verdict)
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
        "report": _report(loaded),
    }
    if hasattr(loaded, "summary_"):
        from rosenblatt.cli.tables import summary_as_dict

        about["summary"] = summary_as_dict(loaded)
    if as_json:
        _print_json(about)
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
    output: Annotated[Path, typer.Argument(help="The .onnx file to write.")],
    force: Force = False,
) -> None:
    """Export a linear model to ONNX."""
    import rosenblatt
    from rosenblatt.persist.onnx_export import is_export

    _check_output(output, [str(model)], is_export, force)
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
    from rosenblatt.cli.caches import as_dict, listing
    from rosenblatt.scale import cache_files

    found = cache_files.cache_files()
    if remove_all or remove:
        found = found if remove_all else cache_files.named(found, remove or ())
        cache_files.remove(found)
    _print_json(as_dict(found)) if as_json else print(listing(found, removed=remove_all or bool(remove)))


@app.command(epilog="Example:  rosenblatt bench reviews.svm")
def bench(
    source: Annotated[str | None, typer.Argument(help="A file, or -; synthetic rows by default.")] = None,
    as_json: AsJson = False,
    format: FormatOption = None,
    label: LabelOption = None,
) -> None:
    """Measure the speed of reading and training on this machine."""
    from rosenblatt.cli.scoring import measure_speed

    found = measure_speed(source, reading_settings(format, label, None, None, True, "onehot", "1,1"))
    if as_json:
        _print_json(found)
        return
    for name, value in found.items():
        print(f"{name:<28} {value:,.1f}")


@app.command(epilog="Example:  rosenblatt lab customers.csv")
def lab(
    source: Annotated[
        Path | None, typer.Argument(help="A CSV file to open: column names, numbers, labels in the last column.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open the lab in a browser, to watch perceptrons learn from your own points."""
    from rosenblatt.show.lab import serve

    serve(source, port=port, open_browser=not no_browser)


# -- output ----------------------------------------------------------------------------------------------------------


def _report(model: Any) -> Any:
    if getattr(model, "report_", None) is None:
        return None
    from dataclasses import asdict

    report = asdict(model.report_)
    if "epochs" in report:
        report["epochs"] = len(report["epochs"])
    return report


def _as_dict(evaluation: Any) -> Any:
    from dataclasses import asdict

    return None if evaluation is None else asdict(evaluation)


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
