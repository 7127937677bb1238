"""The options that several commands share, and the settings of `rosenblatt.read` that they stand for."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


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
    JSONL = "jsonl"
    NPY = "npy"
    NPZ = "npz"
    TEXT = "text"


Source = Annotated[str, typer.Argument(help='A file, a pattern such as "part-*.svm", or - for standard input.')]
Model = Annotated[Path, typer.Argument(help="A model file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an output file that rosenblatt did not write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FormatOption = Annotated[Format | None, typer.Option(help="The file format, if the file name does not tell.")]
LabelOption = Annotated[str | None, typer.Option(help="Tables: the label column, by name or by number from 0.")]
FeaturesOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="svmlight: the number of features, if known. Text files: hash words into so many features."
    ),
]
ZeroBased = Annotated[
    bool | None, typer.Option("--zero-based/--one-based", help="svmlight: the first index, if known.")
]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="CSV, TSV: whether the first line names the columns.")
]
ColumnKinds = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=KIND", help='The kind of a column, such as "zip=names"; may be repeated.'),
]
Ngrams = Annotated[
    str | None,
    typer.Option(help='Text files: hash word n-grams of this range, such as "1,3".', show_default="1,2, by TF-IDF"),
]


Delimiter = Annotated[
    str | None, typer.Option(help='CSV: what separates values, such as ";", if its first line does not tell.')
]
Encoding = Annotated[
    str | None, typer.Option(help='CSV, TSV: how text is encoded, such as "latin-1".', show_default="utf-8")
]


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
    header: bool = True,
    grams: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> dict[str, Any]:
    """Keyword arguments for `rosenblatt.read` from the command line's options; only those that are not the defaults."""
    kind = None if format is None else format.value
    given = {"format": kind, "label": label, "n_features": features, "zero_based": zero}
    given |= {"delimiter": delimiter, "encoding": encoding}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not header:
        settings["header"] = False
    if grams is not None:
        try:
            low, high = (int(part) for part in grams.split(","))
        except ValueError:
            raise ValueError(f'--ngrams takes two integers, such as "1,2", not {grams!r}.') from None
        settings["ngrams"] = (low, high)
    return settings
