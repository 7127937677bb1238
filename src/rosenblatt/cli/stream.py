"""`rosenblatt stream`: predict and learn line by line, through a pipe or from a file, with one answer per line."""

from __future__ import annotations

import csv
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli.options import Delimiter, Format, FormatOption
from rosenblatt.cli.outputs import check_output
from rosenblatt.cli.training import AUTO, Learner, new_learner, parameter
from rosenblatt.registry import LEARNERS

CHUNK_BYTES = 1 << 18
LABEL = "label"


def stream_command(
    model: Annotated[Path, typer.Argument(help="The model file, which is kept up to date.")],
    source: Annotated[str, typer.Argument(help="A file of JSON lines or CSV, or - for standard input.")] = "-",
    label: Annotated[
        str | None,
        typer.Option(help="The field of the label: lines that have it are learned from.", show_default=LABEL),
    ] = None,
    learner: Annotated[
        Learner | None,
        typer.Option(
            help="The online learner of a new model, such as averaged, passive-aggressive or arow. A model that exists "
            "goes on.",
            metavar="NAME",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the learner; may be repeated."),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Hash the names of features to this many columns, such as 1048576."),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Answer with the scores, too.")] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Save the model about every so many lines, besides at the end.")
    ] = 100_000,
    format: FormatOption = None,
    delimiter: Delimiter = None,
) -> None:
    """Answer each JSON line, or row of CSV, with a prediction, and learn from those with a label."""
    import rosenblatt
    from rosenblatt.formats.byte_sources import STDIN, format_by_name, refuse_overwriting_inputs
    from rosenblatt.model_files.save_and_load import is_model

    check_output(model, [source], is_model, force=False)
    refuse_overwriting_inputs((str(model), source), ["/dev/stdout"])
    kind = format.value if format is not None else (None if source == STDIN else format_by_name(source)) or "jsonl"
    if kind not in (Format.JSONL, Format.CSV, Format.TSV):
        raise ValueError(f"{source}: stream reads JSON lines (--format jsonl, the default), CSV and TSV, not {kind}.")
    estimator = _estimator(model, learner, dict(parameter(one) for one in set_ or ()))
    stream = Stream(rosenblatt.OneByOne(estimator, features=features), label or LABEL, scores)
    known = vars(estimator)
    if features is None and "n_features_in_" in known and "feature_names_in_" not in known:
        width = estimator.n_features_in_
        raise ValueError(
            f"{model}: this model has no names of features: if its {width} were hashed, give --features {width}."
        )
    lines = _chunks_of_lines(source)
    if kind != Format.JSONL:
        separator = delimiter or ("\t" if kind == Format.TSV else ",")
        lines = stream.without_header(lines, separator, numbers=_is_regressor(estimator), required=label is not None)

    def save() -> None:
        if stream.door.learned > stream.saved:
            rosenblatt.save(stream.door.estimator(), model)
            stream.saved = stream.door.learned

    stopped, failure = 0, None
    with _signals() as heard:
        try:
            stopped = _answer_all(stream, lines, heard, save, every)
        except (OSError, ValueError) as error:  # damaged input, or nobody reads the answers: keep what was learned
            failure = error
        save()
    if failure is not None and not stream.lines:
        raise failure
    print(stream.summary(), file=sys.stderr)
    print(f"saved {model}" if stream.saved else "nothing was learned", file=sys.stderr)
    if failure is not None:
        raise failure
    if stopped:
        raise typer.Exit(128 + stopped)
    if stream.broken and stream.broken == stream.lines:
        raise ValueError(f"{'standard input' if source == STDIN else source}: no line could be read.")


class Stream:
    """An online learner that answers lines, and counts them.

    Parameters
    ----------
    door : OneByOne
        What predicts and learns.
    label : str
        The field of the label.
    scores : bool
        Whether answers have scores.
    """

    def __init__(self, door: Any, label: str, scores: bool) -> None:
        self.door, self.label, self.scores = door, label, scores
        self.row_of: Callable[[bytes], dict[str, Any]] = _row_of_json
        self.lines = self.broken = self.header = self.saved = 0
        self.predicted = 0  # rows with a label that were predicted before the update
        self.errors = 0.0  # of numbers

    def without_header(
        self, chunks: Iterator[list[bytes]], delimiter: str, numbers: bool, required: bool
    ) -> Iterator[list[bytes]]:
        """Read the names of the columns from the first line of CSV, then give the other lines."""
        first = next(chunks, [b""])
        names = _values(first[0], delimiter)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"line 1: expected a header of distinct names, found {first[0].decode()!r}.")
        if required and self.label not in names:
            raise ValueError(f"line 1: there is no column {self.label!r} among {', '.join(map(repr, names))}.")
        known = self.door.classes
        numbers = numbers or bool(known and not isinstance(known[0], str))
        self.row_of, self.header = RowOfCsv(names, delimiter, self.label, numbers), 1
        yield first[1:]
        yield from chunks

    def answer(self, line: bytes) -> bytes:
        """Answer a line, after learning from it if it has a label; a broken one is answered with the reason."""
        self.lines += 1
        door = self.door
        try:
            row = self.row_of(line)
            y = row.pop(self.label, None)
            if None in row.values():
                row = {name: value for name, value in row.items() if value is not None}
            found = {"scores": door.score_one(row)} if self.scores else {}
            said = door.predict_one(row) if y is None else door.learn_one(row, y)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self.broken += 1
            why = str(error.__cause__ or error)
            print(f"line {self.lines + self.header:,}: {why}", file=sys.stderr, flush=True)
            return json.dumps({"prediction": None, "error": why}).encode() + b"\n"
        if y is not None and said is not None:
            self.predicted += 1
            if type(said) is float:
                self.errors += abs(said - float(y))
        return json.dumps({"prediction": said, **found}, default=str).encode() + b"\n"

    def summary(self) -> str:
        """What was read and learned, and how good the predictions were before the update."""
        door, n = self.door, self.predicted
        told = [f"{door.learned:,} learned"]
        if n and door.classes:
            share = 100 * (1 - door.mistakes / n)
            told += [f"{door.mistakes:,} of {n:,} predicted wrongly before the update (accuracy {share:.2f} %)"]
        elif n:
            told += [f"mean absolute error {self.errors / n:.4g} before the update"]
        if self.broken:
            told += [f"{self.broken:,} broken and skipped"]
        return f"{self.lines:,} lines: {', '.join(told)}"


class RowOfCsv:
    """Rows of CSV as mappings: what reads as a number is one, other values are texts, and empty ones are left out.

    Labels are texts, unless the model learned `numbers`.
    """

    def __init__(self, names: list[str], delimiter: str, label: str, numbers: bool) -> None:
        self.names, self.delimiter, self.label, self.numbers = names, delimiter, label, numbers

    def __call__(self, line: bytes) -> dict[str, Any]:
        """The row of a line."""
        found = _values(line, self.delimiter)
        if len(found) != len(self.names):
            raise ValueError(f"expected {len(self.names)} values, as in the header, found {len(found)}")
        row = dict(zip(self.names, found, strict=True))
        label = row.pop(self.label, "")
        values = {name: _number_or_text(text) for name, text in row.items() if text}
        if label:
            values[self.label] = float(label) if self.numbers else label
        return values


def _values(line: bytes, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.decode()], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"it is not a row of CSV: {error}") from None


def _number_or_text(text: str) -> float | str:
    try:
        return text if "_" in text else float(text)  # Python reads 1_000 as a number
    except ValueError:
        return text


def _row_of_json(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, character {error.pos + 1}") from None
    if type(row) is not dict:
        raise ValueError('expected an object, such as {"words": 3, "label": "spam"}')
    if b"\\u" in line:
        json.dumps(row, ensure_ascii=False).encode()  # halves of a character cannot be saved
    return row


def _is_regressor(estimator: Any) -> bool:
    from sklearn.base import is_regressor

    return bool(is_regressor(estimator))


def _estimator(model: Path, learner: Learner | None, parameters: dict[str, Any]) -> Any:
    """The model of the file, or a new one."""
    import rosenblatt

    if learner is None and parameters:
        raise ValueError("--set is for a new model: it goes with --learner.")
    if learner == AUTO:
        raise ValueError("--learner auto needs all rows: name an online learner, such as averaged.")
    if not model.exists():
        if learner is None:
            raise ValueError(f"{model}: there is no such model: --learner averaged, say, starts a new one.")
        return new_learner(learner, 10, "shuffle", 0, parameters)
    found = rosenblatt.load(model)
    if learner is not None:
        wanted, has = {**LEARNERS[learner].settings, **parameters}, found.get_params()
        differ = [name for name, value in wanted.items() if repr(has.get(name)) != repr(value)]
        if type(found) is not LEARNERS[learner].kind or differ:
            what = f"{differ[0]}={has.get(differ[0])!r}" if differ else type(found).__name__
            raise ValueError(f"{model}: the model there is another ({what}): name another file or drop --learner.")

    return found


def _chunks_of_lines(source: str) -> Iterator[list[bytes]]:
    """The lines that have arrived, as soon as there are some."""
    from rosenblatt.formats.byte_sources import BYTE_ORDER_MARK, STDIN, open_bytes

    rest, begun = b"", False
    with open_bytes(source) as file:
        read = file.read1 if source == STDIN else file.read
        while chunk := read(CHUNK_BYTES):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if lines and not begun:
                lines[0], begun = lines[0].removeprefix(BYTE_ORDER_MARK), True
            if lines:
                yield lines
    if rest:
        yield [rest]


def _answer_all(
    stream: Stream, chunks: Iterator[list[bytes]], heard: _Heard, save: Callable[[], None], every: int
) -> int:
    """Answer all lines, those that are there before waiting for others; the signal that ended it, or 0."""
    out, due = sys.stdout.buffer, every
    while True:
        try:
            with heard.waiting():
                lines = next(chunks, None)
        except _Stopped:
            return heard.number
        if lines is None:
            return 0
        answers = []
        for line in lines:
            answers.append(stream.answer(line))
            if heard.number:
                break
        out.write(b"".join(answers))
        out.flush()
        if stream.lines >= due:
            save()
            due = stream.lines + every


class _Stopped(BaseException):
    """A signal came while lines were waited for."""


class _Heard:
    """Ctrl-C or SIGTERM: ends waiting for lines at once, and learning after the line."""

    def __init__(self) -> None:
        self.number, self._waits = 0, False

    def __call__(self, number: int, frame: Any) -> None:
        self.number = number
        if self._waits:
            raise _Stopped

    @contextmanager
    def waiting(self) -> Iterator[None]:
        try:
            self._waits = True
            if self.number:
                raise _Stopped
            yield
        finally:
            self._waits = False


@contextmanager
def _signals() -> Iterator[_Heard]:
    """Ctrl-C and SIGTERM are noted for a while."""
    heard = _Heard()
    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
