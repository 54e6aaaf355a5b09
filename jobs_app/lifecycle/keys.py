"""Who has a key, and who is next: what happens to the jobs that share one when another ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.relation import relation


class Key(NamedTuple):
    """Jobs of one queue share a key, whatever their type."""

    queue: str
    key: str


# The most urgent that waits for each key. It is only looked at again: whether it may start, admission decides.
NEXT = """
(SELECT waiting.id FROM jobs_app_job AS waiting
  WHERE waiting.queue = freed.queue AND waiting.key = freed.key AND waiting.state = 'queued' AND waiting.hold = 'key'
  ORDER BY waiting.priority DESC, waiting.run_at, waiting.id LIMIT 1)
"""
WAKE = f"""
UPDATE jobs_app_job SET hold = 'new'
 WHERE state = 'queued' AND hold = 'key' AND id IN (SELECT {NEXT} FROM ({{rows}}) AS freed)
"""


def wake_next(connection: BaseDatabaseWrapper, freed: Iterable[Key]) -> None:
    """Let admission look again at the next of each key, in the transaction that freed it: no word of it can be lost.

    Admission locks the jobs that have a key before it sends another one to wait, so that either it sees the key freed,
    or we, who come later, see who waits.
    """
    keys = sorted(set(freed))
    if not keys:
        return
    rows, parameters = relation(connection, {"queue": "text", "key": "text"}, keys)
    with connection.cursor() as cursor:
        cursor.execute(WAKE.format(rows=rows), parameters)
