"""Whoever ends a job gives its key to the next one, in the same transaction, where that needs nothing but the key.

It is open then, or claimed already: a worker that has nothing more urgent to do starts the next short job of each key
as it reports the last one. That saves a job behind a key an UPDATE and the wait for a claim. Everybody else is only
looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.claim import LEASE, RETURNED, Claim, ClaimedJob, claim_parameters
from jobs_app.lifecycle.cursors import run_within
from jobs_app.lifecycle.database import NOW, is_postgres
from jobs_app.lifecycle.keys import WAITS, Key, wake_next
from jobs_app.lifecycle.relation import relation

# The most urgent that waits for each key. By ctid, as a claim: to look up each id again takes 2 us. Nothing rewrites a
# job that waits for its key and lets it wait on, so that a place that was locked is still its own.
_OTHER = WAITS.replace("waiting.", "other.")
_FIRST = f"""
SELECT first.* FROM ({{rows}}) AS lane CROSS JOIN LATERAL (
       SELECT waiting.ctid AS place, waiting.queue || ' ' || waiting.job_type AS kind, waiting.policy, waiting.subject,
              waiting.run_at, waiting.expires_at, waiting.max_attempts, EXISTS (
              SELECT 1 FROM jobs_app_job AS other
               WHERE {_OTHER} AND other.job_type > waiting.job_type) AS is_contested
         FROM jobs_app_job AS waiting WHERE {WAITS}
        ORDER BY waiting.job_type, waiting.priority DESC, waiting.run_at, waiting.id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS first
"""
# Where its key was all that a job waited for, it need not be looked at again: it has the key now, if no other type
# waits for it too. Only one that may start at once: what nobody starts must not keep the key from others. And what has
# a single attempt is claimed by whoever starts it at once, never ahead.
_NEXT = f"""
SELECT place, is_contested, goes_on, goes_on AND kind = ANY (%(starting)s) AND max_attempts > 1 AS starts
  FROM (SELECT first.*, NOT is_contested AND policy IN ('singleton', 'exclusive', 'stately')
               AND kind = ANY (%(straight)s) AND NOT subject = ANY (%(paused)s)
               AND run_at <= {NOW} AND (expires_at IS NULL OR expires_at > {NOW}) AS goes_on
          FROM first) AS each
"""
HAND_OVER = f"""
WITH first AS MATERIALIZED ({_FIRST}), next AS MATERIALIZED ({_NEXT})
UPDATE jobs_app_job AS job
   SET hold = CASE WHEN goes_on THEN '' ELSE 'new' END, run_at = CASE WHEN goes_on THEN {NOW} ELSE run_at END,
       state = CASE WHEN starts THEN 'running' ELSE state END, attempts = attempts + starts::int,
       token = CASE WHEN starts THEN %(token)s::uuid ELSE token END,
       worker_id = CASE WHEN starts THEN %(worker_id)s ELSE worker_id END,
       started_at = CASE WHEN starts THEN {NOW} ELSE started_at END,
       first_started_at = CASE WHEN starts THEN coalesce(first_started_at, {NOW}) ELSE first_started_at END,
       lease_expires_at = CASE WHEN starts THEN {LEASE} END
  FROM next WHERE job.ctid = next.place
RETURNING is_contested, goes_on, starts, {RETURNED}
"""
NOBODY: dict[str, Any] = {"token": None, "worker_id": "", "lease": None, "leases": None}  # claims any of them


@dataclass
class Straight:
    """Who needs nothing but its key, as far as the one who ends a job knows; and what became of them."""

    kinds: Sequence[str] = ()  # queue and job type, with a blank between them
    paused_subjects: Sequence[str] = ()
    starting: Sequence[str] = ()  # of these kinds, those that start here at once
    claim: Claim | None = None  # in whose name, and how many at most
    claimed: list[ClaimedJob] = field(default_factory=list)
    opened: set[tuple[str, int]] = field(default_factory=set)  # lanes in which others are open now
    woken: set[str] = field(default_factory=set)  # queues in which others must be looked at

    def covers(self, queue: str, job_type: str) -> bool:
        """Does the end of such a job free its key, and nothing else?"""
        return f"{queue} {job_type}" in self.kinds

    def for_nobody(self) -> Straight:
        """The same, but all are looked at again."""
        return replace(self, kinds=())

    @contextmanager
    def if_stored(self) -> Iterator[None]:
        """What was claimed by a transaction that failed is not."""
        before = len(self.claimed)
        try:
            yield
        except BaseException:
            del self.claimed[before:]
            raise


def hand_over(connection: BaseDatabaseWrapper, freed: Iterable[Key], straight: Straight) -> None:
    """Give freed keys on, in the transaction that freed them, as `wake_next` would have them looked at."""
    keys = sorted(set(freed))
    if not keys:
        return
    if not (straight.kinds and is_postgres(connection)):
        wake_next(connection, keys)
        straight.woken.update(key.queue for key in keys)
        return
    claim = straight.claim
    may_start = claim is not None and len(keys) <= claim.limit - len(straight.claimed)
    rows, parameters = relation(connection, {"queue": "text", "key": "text"}, keys)
    parameters |= {
        **(claim_parameters(connection, claim, ()) if claim is not None else NOBODY),
        "straight": list(straight.kinds),
        "paused": list(straight.paused_subjects),
        "starting": list(straight.starting) if may_start else [],
    }
    found = run_within(connection, HAND_OVER.format(rows=rows), parameters)
    wake_next(connection, _note(straight, found))


def _note(straight: Straight, found: Sequence[tuple[Any, ...]]) -> list[Key]:
    """What became of the next of each key; the keys for which another type waits as well, to be looked at beside it."""
    contested: list[Key] = []
    token = straight.claim and straight.claim.token
    for is_contested, goes_on, starts, *columns in found:
        job = ClaimedJob._make((*columns, token))
        if starts:
            straight.claimed.append(job)
        elif goes_on:
            straight.opened.add((job.queue, job.priority))
        else:
            straight.woken.add(job.queue)
            contested += [Key(job.queue, str(job.key))] if is_contested else []
    straight.claimed.sort(key=lambda job: (-job.priority, job.id.int))
    return contested
