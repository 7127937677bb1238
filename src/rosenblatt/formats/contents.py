"""The contents of a source, found by a scan: rows, features, labels and their counts, the layout of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats import svmlight, table_layout
from rosenblatt.formats.byte_sources import (
    CHUNK_BYTES,
    expand_paths,
)
from rosenblatt.formats.declared_fields import AMOUNT, at_least, instance, must
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import HASHED_FEATURES, MAX_FEATURES, Reading
from rosenblatt.formats.row_blocks import RowBlock

Array = np.ndarray[Any, Any]
LABELS = str | bytes | int | float | np.generic
LABEL = instance(LABELS)
MAX_LABELS = 1 << 16  # with more distinct labels than this, they are not taken as classes


@dataclass(frozen=True)
class Contents:
    """A summary of the contents of a source, and how it is read."""

    how: Annotated[Reading, instance(Reading)]
    rows: int
    stored: int
    radius2: Annotated[float, AMOUNT]  # 0 if it was not computed
    labels: tuple[Annotated[Any, LABEL], ...] | None  # sorted; None if there are none, or too many to be classes
    counts: tuple[int, ...]
    dense: bool
    most: Annotated[int, at_least(-1)] = -1  # the highest column, and whether there is a column 0, as written
    zero: bool = False

    def check(self) -> None:
        """A number for each label."""
        must(len(self.labels or ()) == len(self.counts), "a number for each label")


@dataclass
class Inventory:
    """Counts and ranges over the rows of a source, collected block by block."""

    rows: int = 0
    stored: int = 0
    most: int = -1  # the highest column as written
    zero: bool = False  # whether an index 0 was found
    several: bool = False
    counts: dict[Any, int] | None = field(default_factory=dict)  # the count of each label; None if there are too many

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        self.rows += block.rows
        self.several = self.several or block.several
        if sp.issparse(block.X):
            self.stored += block.X.nnz
            self.most = max(self.most, int(block.X.indices.max(initial=-1)))
            self.zero = self.zero or bool((block.X.indices == 0).any())
        else:
            self.stored += block.X.size
            self.most = block.X.shape[1] - 1
        if block.labels is not None:
            self._count(block.labels)

    def add_preview(self, glance: svmlight.LinePreview) -> None:
        """Add lines that were previewed but not parsed."""
        self.rows += glance.labels.size
        self.stored += glance.stored
        self.most = max(self.most, glance.most)
        self.zero = self.zero or glance.least == 0
        self._count(glance.labels)

    def _count(self, labels: Array) -> None:
        found, counts = np.unique(labels, return_counts=True)
        self.add_counts(found.tolist(), counts.tolist())

    def add_counts(self, labels: Iterable[Any], counts: Iterable[int]) -> None:
        """Take over the counts of labels."""
        if self.counts is not None:
            for label, count in zip(labels, counts, strict=True):
                self.counts[label] = self.counts.get(label, 0) + count
            if len(self.counts) > MAX_LABELS:
                self.counts = None

    def complete_reading(self, how: Reading, path: str | None = None) -> Reading:
        """The reading, completed by what was found; an error about a contradiction names `path`."""
        if how.format == "svmlight":
            zero = self.zero if how.zero_based == "auto" else bool(how.zero_based)
            shift = 1 if how.zero_based == "auto" and not zero else 0
            width = max(self.most + 1 - shift, 1)
            if how.n_features is not None and width > how.n_features:
                raise FileError(f"expected {how.n_features:,} features, found index {self.most:,}", path)
            how = replace(how, zero_based=zero, n_features=how.n_features or width)
            if how.multilabel or (how.multilabel is None and self.several):
                if self.counts is None:
                    raise FileError(f"expected at most {MAX_LABELS:,} different labels, found more", path)
                how = replace(how, multilabel=True, labels=tuple(sorted(self.counts)))
            return replace(how, multilabel=bool(how.multilabel))
        return replace(how, n_features=self.most + 1) if how.n_features is None else how

    def shift(self, how: Reading) -> int:
        """The offset to subtract from columns that were read before it was known where they start."""
        return 1 if how.format == "svmlight" and how.zero_based == "auto" and not self.zero else 0

    def contents(self, how: Reading, radius2: float = 0.0, dense: bool = False) -> Contents:
        """A summary of what was found."""
        labels = None if not self.counts else tuple(sorted(self.counts))
        counts = () if not self.counts or labels is None else tuple(self.counts[label] for label in labels)
        return Contents(how, self.rows, self.stored, radius2, labels, counts, dense, self.most, self.zero)


def merge_contents(parts: Sequence[Contents], how: Reading) -> tuple[Contents, int]:
    """The combined contents of several sources under `how`, and the offset of their columns."""
    inventory = Inventory(
        rows=sum(part.rows for part in parts),
        stored=sum(part.stored for part in parts),
        most=max(part.most for part in parts),
        zero=any(part.zero for part in parts),
        several=any(bool(part.how.multilabel) for part in parts),
    )
    for part in parts:
        if part.labels is None and part.rows:
            inventory.counts = None
        inventory.add_counts(part.labels or (), part.counts)
    radius2, dense = max(part.radius2 for part in parts), all(part.dense for part in parts if part.rows)
    return inventory.contents(inventory.complete_reading(how), radius2, dense), inventory.shift(how)


def with_layout(source: Any, how: Reading, size: int = CHUNK_BYTES) -> Reading:
    """The reading with the layout of a table, which must be known before rows can be encoded."""
    if how.format in ("svmlight", "text") or how.layout is not None:
        return how
    layout = table_layout.scan_layout(expand_paths(source), how, size, hashed=how.n_features or HASHED_FEATURES)
    if layout.n_features > MAX_FEATURES:
        raise FileError(
            f"expected at most {MAX_FEATURES:,} features, found {layout.n_features:,}", expand_paths(source)[0]
        )
    return replace(how, layout=layout, n_features=layout.n_features)
