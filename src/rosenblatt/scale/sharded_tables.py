"""Models of tables in shards, in threads or on a cluster.

    shards: survey their rows  →  driver: join, learn the encoder, search a sample  →  shards: encode, learn, mix

The rows stay on their workers, except for samples that fit in memory.
"""

from __future__ import annotations

import copy
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from rosenblatt.data.formats.byte_sources import CHUNK_BYTES
from rosenblatt.data.formats.reading import Reading
from rosenblatt.estimators.base.state_checks import must
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.large_tables import PART, Preparation, learned_from, new_survey, prepared
from rosenblatt.scale.shard_answer_checks import check_survey_of_table
from rosenblatt.scale.sharded_source import Engine, ShardSource, Threads, check_fits, cut_source
from rosenblatt.scale.shards import Shard
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
        for group, found in zip(groups, self.engine.round(question, groups, check_survey_of_table), strict=True):
            survey.join(found, group.name)
        survey.check(groups[0].name)
        ready = prepared(estimator, survey, task, kinds)
        if not ready.width:
            return ready.without_features(began), survey.unlabelled
        return self._learned(ready, groups, EncodedTable.of(numbered, ready, survey), point, began), survey.unlabelled

    def _learned(
        self, ready: Preparation, groups: list[Any], how: EncodedTable, point: Checkpoint, began: float
    ) -> Any:
        try:
            cut = cut_source(self.engine, groups, how, self.shards, how.plain)
            check_fits(self.engine, cut)
            source = partial(ShardSource, self.engine, cut)
            model = learned_from(ready, source, cut.contents.rows, point, began, self.mixing)
        except BaseException:
            if isinstance(self.engine, Threads):  # a cluster may itself have failed
                self._remove(groups, how)
            raise
        self._remove(groups, how)
        return model

    def _remove(self, groups: list[Any], how: EncodedTable) -> None:
        """Remove the caches of encoded rows; `rosenblatt cache` lists those that a lost worker left."""
        with suppress(OSError):
            for _ in self.engine.round(AskRemoval(how), groups, _check_removed):
                pass


def _check_removed(answer: Any, shard: Shard) -> None:
    must(answer is True, "that a cache is removed")
