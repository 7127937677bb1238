"""`rosenblatt train`: which learner, from which files, on which machines."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli.help_by_topic import HelpAll
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
    Ngrams,
    Source,
    Task,
    ZeroBased,
    reading_settings,
)
from rosenblatt.cli.outputs import check_output, measures_as_dict, print_json, report_as_dict
from rosenblatt.registry import LEARNERS, family

INTERRUPTED = 130
AUTO = "auto"  # for tables: a search
Learner = StrEnum("Learner", [(name, name) for name in (*LEARNERS, AUTO)])  # type: ignore[misc]


def train_command(
    source: Source,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write the model.")] = None,
    label: LabelOption = None,
    test: Annotated[str | None, typer.Option(help="A file to evaluate the model on.")] = None,
    learner: Annotated[
        Learner | None,
        typer.Option(
            help="The learner, such as averaged, logistic, linear-svm or arow; auto, the default for tables, searches.",
            metavar="NAME",
        ),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(metavar="TASK", help="Tables: classification or regression, if the label can be either."),
    ] = None,
    column: ColumnKinds = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Tables: search learners and their settings for this long; another run may choose others. Default: "
            "a search that every run repeats.",
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
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the learner; may be repeated."),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="The most epochs.", show_default="10"),
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
    features: FeaturesOption = None,
    zero_based: ZeroBased = None,
    header: Header = True,
    ngrams: Ngrams = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    help_all: HelpAll = False,
) -> None:
    """Train a model on a file of any size."""
    from rosenblatt.cli.progress_bar import show_phases, show_progress
    from rosenblatt.cli.table_models import column_kinds, encoded_by_columns, has_columns
    from rosenblatt.formats.byte_sources import spooled, unpacked_name
    from rosenblatt.scale.fit_from_files import steps
    from rosenblatt.scale.table_files import fit_table

    settings = reading_settings(format, label, features, zero_based, header, ngrams, delimiter, encoding)
    tls = {"ca": tls_ca, "cert": tls_cert, "key": tls_key}
    others = [str(path) for path in (template, *tls.values()) if path is not None]
    _check_paths(source, [path for path in (output, checkpoint) if path is not None], test, others, force)
    if template is not None:
        unused = (learner, task, column, seconds, memory, shards, cluster, workers, deadline, cache_dir, *tls.values())
        if settings or any(unused) or jobs != 1 or mixing != "uniform":
            raise ValueError("--template goes with -o, --test, --epochs, --order, --seed, --set and --checkpoint only.")
        from rosenblatt import SequencePerceptron

        settings = {"max_epochs": epochs or 10, "order": order or "shuffle", "random_state": seed}
        parameters = dict(parameter(one) for one in set_ or ())
        check_parameters(parameters, SequencePerceptron().get_params(), "SequencePerceptron")
        _train_sequences(source, output, test, template, settings | parameters, checkpoint, resume, as_json)
        return
    if format is None and Path(unpacked_name(source)).suffix == ".conll":
        raise ValueError(f"{source}: CoNLL columns need a file of feature templates: give --template.")
    how: dict[str, Any] = {"shards": shards, "n_jobs": jobs, "mixing": mixing, "memory": memory, "deadline": deadline}
    how |= {"checkpoint": checkpoint, "resume": resume}
    single = learner not in (None, AUTO) or any(option is not None for option in (set_, epochs, order))
    search = AUTO if learner == AUTO or seconds is not None else None
    if single and search:
        raise ValueError("A search (--learner auto, --seconds) takes no --set, --epochs or --order: leave those out.")
    parameters = dict(parameter(one) for one in set_ or ())
    with ExitStack() as copies:
        files: Any = copies.enter_context(spooled(source, stdin=False))  # detecting the format must not consume a pipe
        if has_columns(files, settings):
            table: dict[str, Any] = {"columns": column_kinds(column or []), "random_state": seed, "seconds": seconds}
            said = None if task is None else task.value
            if single:
                named = learner or ("linear-regressor" if task == Task.REGRESSION else "passive-aggressive")
                default = {} if learner or task == Task.REGRESSION else {"C": 0.1, "keep": "average"}
                search = new_learner(named, epochs or 10, order or "shuffle", seed, {**default, **parameters})
            table |= {} if search is None else {"learner": search}
            with _cluster(cluster, workers, tls) as client, _interruptible(checkpoint), show_phases(as_json):
                model = fit_table(table, files, said, client=client, **how, **encoded_by_columns(settings))
            if files is not source:
                model.summary_ = replace(model.summary_, source=Path(source).name)
            _report(model, output, test, as_json)
            return
        if task is not None or column or search:
            raise ValueError(
                "--task, --column, --seconds and --learner auto are for tables, and for text without --features."
            )
        name = learner or "averaged"
        model = new_learner(name, epochs or 10, order or "shuffle", seed, parameters)
        if not LEARNERS[name].from_files:
            _fit_in_memory(model, files, settings)
            _report(model, output, test, as_json)
            return
        with _cluster(cluster, workers, tls) as client:
            training = steps(model, files, client=client, **how, **settings)
            with _interruptible(checkpoint), closing(training):  # type: ignore[type-var]
                show_progress(training, quiet=as_json)
    _report(model, output, test, as_json)


@contextmanager
def _interruptible(checkpoint: Path | None) -> Iterator[None]:
    """On Ctrl-C, print where training can be continued from."""
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
    from rosenblatt.cli.progress_bar import show_progress
    from rosenblatt.cli.sequences import new_tagger
    from rosenblatt.scale.sequence_files import sequence_training

    model = new_tagger(template, parameters)
    training = sequence_training(model, source, checkpoint=checkpoint, resume=resume)
    with _interruptible(checkpoint), closing(training):  # type: ignore[type-var]
        show_progress(training, quiet=as_json)
    _report(model, output, test, as_json)


def new_learner(name: str, epochs: int, order: str, seed: int, parameters: dict[str, Any]) -> Any:
    """The learner with the parameters that apply to it; parameters set by --set must."""
    learner = LEARNERS[name]
    common = {"max_epochs": epochs, "order": order, "random_state": seed, **learner.settings}
    known = learner.kind().get_params()
    check_parameters(parameters, known, learner.estimator)
    return learner.kind(**{**{name: value for name, value in common.items() if name in known}, **parameters})


def _fit_in_memory(model: Any, source: str, settings: dict[str, Any]) -> None:
    """Train a learner that needs all rows at once."""
    from rosenblatt.formats.read_and_stream import read_rows

    how, X, y, _ = read_rows(source, **settings)
    model.fit(X, y)
    model.reading_ = how


def _report(model: Any, output: Path | None, test: str | None, as_json: bool) -> None:
    """Save the model, evaluate it and print its report; of a raw table, its summary."""
    import rosenblatt
    from rosenblatt.cli.scoring import evaluate_file

    if output is not None:
        rosenblatt.save(model, output)
    found, table = None if test is None else evaluate_file(model, test, {}), family(model) == "tables"
    if as_json:
        told = {"summary": asdict(model.summary_)} if table else {"report": report_as_dict(model)}
        print_json({"model": str(output) if output else None, **told, "test": measures_as_dict(found)})
        return
    print(model.summary_ if table else model.report_)
    if output is None:
        print("nothing is kept: -o MODEL saves the model")
    elif table:
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
    from rosenblatt.formats.byte_sources import STDIN, expand_paths, open_bytes, readable_once
    from rosenblatt.model_files.save_and_load import is_model

    tests = expand_paths(test) if test is not None else ()
    if STDIN in tests and STDIN in expand_paths(source):
        raise ValueError("Standard input cannot be both the training data and the test data.")
    for path in outputs:
        check_output(path, (*expand_paths(source), *tests, *others), is_model, force)
    for name in tests:
        if not readable_once(name):
            with open_bytes(name):
                pass


def _file_identity(path: Path | None) -> tuple[int, int] | None:
    """The inode and modification time of the file, None if there is none."""
    if path is None or not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def check_parameters(given: Iterable[str], known: Iterable[str], estimator: str) -> None:
    """Refuse parameters that the estimator does not have, and name those that it has."""
    names = sorted(known)
    for name in sorted(set(given) - set(names)):
        close = get_close_matches(name, names, 1)
        guess = f": did you mean {close[0]}? All: " if close else ", only "
        raise ValueError(f"--set {name}: {estimator} has no such parameter{guess}{', '.join(names)}.")


def parameter(text: str) -> tuple[str, Any]:
    """The name and the value of --set name=value; what Python does not read as a value is text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f'--set takes name=value, such as "margin=0.5", not {text!r}.')
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
