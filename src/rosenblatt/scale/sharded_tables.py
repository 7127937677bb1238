"""Models of tables in shards, in threads or on a cluster.

    shards: survey their rows  →  driver: join, learn the encoder, search a sample  →  shards: encode, learn, mix

The rows stay on their workers, except for samples that fit in memory.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from functools import partial
from typing import Any

from rosenblatt.formats.byte_sources import CHUNK_BYTES
from rosenblatt.scale.large_tables import (
    PART,
    TableJob,
    learned_from,
    prepared,
)
from rosenblatt.scale.sharded_source import Engine, ShardSource, Threads, check_fits, cut_source
from rosenblatt.scale.table_shards import AskRemoval, AskSurvey, EncodedTable, TableGroups, as_table_shards, group_key


def fit_sharded_table(
    job: TableJob, engine: Engine, groups: list[Any], shards: int | None, mixing: str
) -> tuple[Any, int]:
    """Fit a model of tables in shards; the model, and the number of rows without a label."""
    groups = as_table_shards(groups)
    places = {group_key(group): k for k, group in enumerate(groups)}
    numbered = TableGroups(job.how, min(CHUNK_BYTES, job.memory // PART), job.label, places)
    survey = job.survey()
    question = AskSurvey(numbered, copy.deepcopy(survey))
    for group, found in zip(groups, engine.round(question, groups), strict=True):
        survey.join(found, group.name)
    survey.check(groups[0].name)
    ready = prepared(job, survey)
    if not ready.width:
        return ready.without_features(), survey.unlabelled
    how = EncodedTable.of(numbered, ready, survey)
    try:
        cut = cut_source(engine, groups, how, shards, how.plain)
        check_fits(engine, cut)
        model = learned_from(ready, partial(ShardSource, engine, cut), cut.contents.rows, mixing)
    except BaseException:
        if isinstance(engine, Threads):  # a cluster may itself have failed
            _remove(engine, groups, how)
        raise
    _remove(engine, groups, how)
    return model, survey.unlabelled


def _remove(engine: Engine, groups: list[Any], how: EncodedTable) -> None:
    """Remove the caches of encoded rows; `rosenblatt cache` lists those that a lost worker left."""
    with suppress(OSError):
        for _ in engine.round(AskRemoval(how), groups):
            pass
