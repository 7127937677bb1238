"""Tables and labelled text in files, as named columns of Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from rosenblatt.formats import table_batches, table_layout
from rosenblatt.formats.byte_sources import CHUNK_BYTES, expand_paths, line_chunks
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.tables.columns.frames import Table
from rosenblatt.tables.columns.values import one_column

LABEL, TEXT = "label", "text"  # the columns of a file of lines label<TAB>text
LINE_SHARE = 16  # the longest line, in parts


def table_parts(source: Any, how: Reading, size: int = CHUNK_BYTES) -> Iterator[Table]:
    """The rows of the files, in parts of about `size` bytes."""
    for path in expand_paths(source):
        if how.format == "text":
            yield from _text_parts(path, how.labelled, size)
        else:
            for batch in table_batches.batches(path, how, size):
                if batch.rows:
                    yield Table(dict(batch.columns), batch.rows, batch=batch, path=path)


def _text_parts(path: str, labelled: bool, size: int) -> Iterator[Table]:
    for chunk in line_chunks(path, size, LINE_SHARE * size):
        whole = bytes(chunk.data[: chunk.size])
        try:
            lines = whole.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            line = chunk.line + whole.count(b"\n", 0, error.start)
            raise FileError("expected UTF-8, found other bytes", path, line) from error
        rows = [(k, line.rstrip("\r")) for k, line in enumerate(lines) if line.strip()]
        if not rows:
            continue
        if not labelled:
            yield Table({TEXT: pa.array([line for _, line in rows], pa.large_string())}, len(rows))
            continue
        parts = [line.partition("\t") for _, line in rows]
        for (k, _), (_, tab, _) in zip(rows, parts, strict=True):
            if not tab:
                raise FileError("expected a label, a tab and text, found no tab", path, chunk.line + k)
        columns = {LABEL: [label for label, _, _ in parts], TEXT: [text for _, _, text in parts]}
        yield Table({name: pa.array(values, pa.large_string()) for name, values in columns.items()}, len(rows))


def read_table(source: Any, how: Reading) -> Table:
    """All rows of the files."""
    parts = list(table_parts(source, how))
    if not parts:
        raise FileError("expected rows, found none", expand_paths(source)[0])
    first = parts[0].columns
    for part in parts:
        if list(part.columns) != list(first):
            raise FileError(f"expected the columns {list(first)}, found {list(part.columns)}", expand_paths(source)[-1])
    columns = {name: one_column([part.columns[name] for part in parts]) for name in first}
    return Table(columns, sum(part.rows for part in parts), path=expand_paths(source)[0])


def label_name(how: Reading, table: Table, path: str) -> str:
    """The name of the label column."""
    return LABEL if how.format == "text" else table_layout.find_label_column(how.label, list(table.columns), path)
