"""How training in shards went."""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Sharding:
    r"""The record of a training in shards.

    Attributes
    ----------
    mixing : {"uniform", "mistakes", "added"}
        How the weights of the shards were averaged; "added" if the changes of shards were added (`LinearSVM`).
    rows : tuple of int
        The number of rows of each shard.
    mistakes : tuple of tuple of int
        The updates of each shard, for each epoch.
    weighted : float
        Σ_n Σ_i μ_{i,n} k_{i,n}, which is bounded by R²/γ²; the `bound` of the report, on all updates, is S times as
        large.
    sent_again : int
        How often a shard was sent to another worker, because the first died, failed or was too slow.
    bytes_moved : int
        Weights sent to workers and back; 0 within one process.
    computing, reading, waiting : float
        Seconds, over all threads of all workers: in passes, in reading shards, and in neither while an epoch ran.
        0 where changes were added.
    copies, merges : tuple of int
        Where changes were added, for each epoch: the copies of w that learned side by side, and how often their changes
        were added.
    gaps : tuple of float
        Where changes were added, for each epoch: the relative duality gap of all rows, estimated during its pass.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rosenblatt import Perceptron, fit
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:2 2:1\n-1 1:-1 2:1\n+1 1:3\n-1 2:4\n")
    >>> sharding = fit(Perceptron(random_state=0), path, shards=2).report_.sharding
    >>> sharding.mixing, sharding.rows, sharding.bytes_moved
    ('uniform', (2, 2), 0)
    """

    mixing: str
    rows: tuple[int, ...]
    mistakes: tuple[tuple[int, ...], ...] = ()
    weighted: float = 0.0
    sent_again: int = 0
    bytes_moved: int = 0
    computing: float = 0.0
    reading: float = 0.0
    waiting: float = 0.0
    copies: tuple[int, ...] = ()
    merges: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()

    def __str__(self) -> str:
        """A readable summary."""
        if self.mixing == "added":
            runs = [(count, len(list(run))) for count, run in itertools.groupby(self.copies)]
            told = ", ".join(f"{count} in {epochs} epoch{'s' * (epochs != 1)}" for count, epochs in runs)
            lines = [f"{len(self.rows)} shards, changes added {sum(self.merges)} times; copies of w: {told}"]
            if self.bytes_moved:
                lines.append(f"{self.bytes_moved / 1e6:,.1f} MB moved")
            return "\n".join(lines + [f"shards sent again: {self.sent_again}"] * bool(self.sent_again))
        how = "uniformly" if self.mixing == "uniform" else "by mistakes"
        lines = [f"{len(self.rows)} shards, mixed {how}, {self.weighted:,.1f} weighted mistakes"]
        lines.append(
            f"{self.computing:.3g} s computing, {self.reading:.3g} s reading, {self.waiting:.3g} s waiting, "
            f"{self.bytes_moved / 1e6:,.1f} MB moved"
        )
        if self.sent_again:
            lines.append(f"shards sent again: {self.sent_again}")
        return "\n".join(lines)
