"""The net below the waking of keys: jobs that wait for a key which nobody has.

Who frees a key wakes the next one in the same transaction, and passes rows that another session is just writing. If
that was all that waited, and the other session rolled back, nobody is woken. Nor does a handler's own transaction at
REPEATABLE READ see who came after it began.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres, pinned_transaction
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.turns import take_turn

EVERY_SECONDS = 5.0
KEYS_PER_TURN = 2000

# A loose index scan: one step for each key, whatever waits for it.
_NEXT_KEY = """
SELECT queue, key FROM jobs_app_job WHERE state = 'queued' AND hold = 'key' AND (queue, key) > ({after})
 ORDER BY queue, key LIMIT 1
"""
KEYS = f"""
WITH RECURSIVE each (queue, key) AS (
  ({_NEXT_KEY.format(after="%(queue)s, %(key)s")})
  UNION ALL
  SELECT next.queue, next.key FROM each CROSS JOIN LATERAL ({_NEXT_KEY.format(after="each.queue, each.key")}) AS next),
page AS (SELECT queue, key FROM each LIMIT %(limit)s)
SELECT queue, key, EXISTS (
       SELECT 1 FROM jobs_app_job AS job
        WHERE job.queue = page.queue AND job.key = page.key AND job.gate = 2 AND job.hold IN ('', 'limit'))
  FROM page
"""
_BEGINNING = Key("", "")

_place = _BEGINNING  # where this process goes on the next time it has a turn


def wake_forsaken(connection: BaseDatabaseWrapper) -> int:
    """Look at some of the keys that are waited for; how many nobody had. One process at a time, every few seconds."""
    global _place
    if not is_postgres(connection) or not take_turn(connection, "keys", seconds=EVERY_SECONDS):
        return 0  # SQLite has one writer: nothing is ever passed
    with pinned_transaction(connection):
        with connection.cursor() as cursor:
            cursor.execute(KEYS, {"queue": _place.queue, "key": _place.key, "limit": KEYS_PER_TURN})
            found = [(Key(queue, key), has_owner) for queue, key, has_owner in cursor.fetchall()]
        forsaken = [key for key, has_owner in found if not has_owner]
        wake_next(connection, forsaken)
    _place = found[-1][0] if len(found) == KEYS_PER_TURN else _BEGINNING
    return len(forsaken)
