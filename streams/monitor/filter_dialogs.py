"""Select the traffic to monitor: the traffic of applications, or of one replay.

A replay that creates new dialog ids marks these ids (:mod:`streams.wire.job`). The id is in the key
of all records of a dialog, or in a header of a queue's record, so no record needs to be decoded.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streams.monitor.read import header, uuid_text
from streams.wire.job import tag_of
from streams.wire.records import CONVERSATION

_ID = "(?:^|/)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:/|$)"
_VERSION_AT, _TAG = 15, 8
_REPLAYED = "8"


def only(raw: DataFrame, job: str | None) -> DataFrame:
    """Return the records of one replay job's dialogs; ``raw`` may lack the column ``headers``.

    Without a job, return the records that belong to no job, including records without a dialog.
    """
    key = F.regexp_extract(F.lower(F.col("key").cast("string")), _ID, 1)
    if "headers" not in raw.columns:
        return raw.where(_is_of(key, job))
    # In a queue, the key is the group's id, and a header contains the dialog's id.
    return raw.where(_is_of(F.coalesce(uuid_text(header(CONVERSATION)), key), job))


def _is_of(conversation: Column, job: str | None) -> Column:
    replayed = F.substring(conversation, _VERSION_AT, 1) == _REPLAYED
    if job is None:
        return ~F.coalesce(replayed, F.lit(False))
    return replayed & (F.substring(conversation, -_TAG, _TAG) == tag_of(job))
