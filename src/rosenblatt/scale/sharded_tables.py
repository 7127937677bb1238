"""Models of tables in shards, in threads or on a cluster.

    shards: survey their rows  →  driver: join, learn the encoder, search a sample  →  shards: encode, learn, mix

The rows stay on their workers, except for samples that fit in memory.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rosenblatt.data.formats.byte_sources import CHUNK_BYTES
from rosenblatt.data.formats.reading import Reading
from rosenblatt.estimators.base.fitting import RowsWanted
from rosenblatt.estimators.base.table_model import TrainingRows
from rosenblatt.estimators.table_regressor import TableRegressor
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.large_tables import (
    PART,
    AskTraining,
    Preparation,
    learned_from,
    new_survey,
    no_features,
    prepared,
    target_scale,
)
from rosenblatt.scale.sharded_source import Engine, ShardedRows, ShardSource, Threads, check_fits, cut_source
from rosenblatt.scale.table_shards import AskRemoval, AskSurvey, EncodedTable, TableGroups, as_table_shards, group_key


@dataclass(frozen=True)
class TableTraining:
    """Trains a table model in shards."""

    engine: Engine
    shards: int | None
    mixing: str
    memory: int  # bytes for the survey of each group

    def fit(
        self,
        estimator: Any,
        groups: list[Any],
        how: Reading,
        label: str,
        task: str | None,
        point: Checkpoint,
        kinds: dict[str, str],
    ) -> tuple[Any, int]:
        """Fit a model of tables; the model, and the number of rows without a label."""
        began, groups = time.perf_counter(), as_table_shards(groups)
        places = {group_key(group): k for k, group in enumerate(groups)}
        numbered = TableGroups(how, min(CHUNK_BYTES, self.memory // PART), label, places)
        survey = new_survey(estimator, label, kinds, self.memory)
        question = AskSurvey(numbered, copy.deepcopy(survey))
        for group, found in zip(groups, self.engine.round(question, groups), strict=True):
            survey.join(found, group.name)
        survey.check(groups[0].name)
        ready = prepared(estimator, survey, task, kinds)
        self._learn(ready, groups, EncodedTable.of(numbered, ready, survey), point, began)
        return ready.estimator, survey.unlabelled

    def _learn(self, ready: Preparation, groups: list[Any], how: EncodedTable, point: Checkpoint, began: float) -> None:
        ready.estimator.learner_ = None
        if not ready.width:
            ready.conclude(no_features(ready.estimator, ready.target.counts), began)
            return
        try:
            cut = cut_source(self.engine, groups, how, self.shards, how.plain)
            check_fits(self.engine, cut)
            training = ShardTraining(self.engine, cut, ready)
            learner = learned_from(ready, training.source, cut.contents.rows, point, self.mixing)
            ready.estimator.learner_ = learner
            ready.conclude(training, began)
        except BaseException:
            if isinstance(self.engine, Threads):  # a cluster may itself have failed
                self._remove(groups, how)
            raise
        self._remove(groups, how)

    def _remove(self, groups: list[Any], how: EncodedTable) -> None:
        """Remove the caches of encoded rows; `rosenblatt cache` lists those that a lost worker left."""
        with suppress(OSError):
            for _ in self.engine.round(AskRemoval(how), groups):
                pass


@dataclass(frozen=True)
class ShardTraining:
    """The encoded rows of all shards."""

    engine: Engine
    cut: ShardedRows
    ready: Preparation

    def source(self, wanted: RowsWanted) -> ShardSource:
        """The rows, for the training loop."""
        return ShardSource(self.engine, self.cut, wanted)

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for each shard."""
        estimator = self.ready.estimator
        classes = not isinstance(estimator, TableRegressor)
        wanted = RowsWanted(type(estimator).__name__, classes, False, None, True, False, False)
        yield from self.source(wanted).ask(AskTraining(question, target_scale(estimator)))
