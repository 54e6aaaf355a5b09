"""A filter of runs as conditions on the tables: one for each of its parts, so that some can be given to an index."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any, TypeAlias, cast

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Exists, F, OuterRef, Q, TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast
from django.db.models.lookups import Exact

from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import EXACTLY, NO_CLASS
from jobs_app.models import Job, JobAttempt, JobRun, State
from jobs_app.registry import SYSTEM_QUEUE

Conditions: TypeAlias = dict[str, Q]

SAME = ("job_type", "queue", "subject", "schedule", "parent")  # columns of the filter's own names


def of_jobs(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime) -> Conditions:
    """What a live run has to be; `is_live` says whether one can."""
    found = _of_both(connection, chosen, now, error="last_error")
    if state := live_state(chosen.state, now):
        found["state"] = state
    if chosen.longer is not None:
        found["longer"] = Q(state=State.RUNNING, started_at__lte=now - timedelta(seconds=chosen.longer))
    return found


def of_runs(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime) -> Conditions:
    """What a run that has ended has to be; `is_finished` says whether one can."""
    found = _of_both(connection, chosen, now, error="error")
    if chosen.state not in ("", "finished"):
        found["state"] = Q(state=chosen.state)
    if chosen.longer is not None:
        found["longer"] = Q(finished_at__gte=F("started_at") + timedelta(seconds=chosen.longer))
    if chosen.open:
        found["state"] = Q(state=State.FAILED)
        found["open"] = not_run_again(connection)
    return found


def live_state(word: str, now: datetime) -> Q | None:
    """In the words that people use for what waits; None: all that is live."""
    queued = Q(state=State.QUEUED)
    words = {
        "running": Q(state=State.RUNNING),
        "waiting": queued,
        "queued": queued & Q(attempts=0, run_at__lte=now),
        "scheduled": queued & Q(attempts=0, run_at__gt=now),
        "retrying": queued & Q(attempts__gt=0),
    }
    return words.get(word)


def not_run_again(connection: BaseDatabaseWrapper) -> Q:
    """No run repeats it, live or finished."""
    children = [table.objects.using(connection.alias).filter(parent=OuterRef("pk")) for table in (Job, JobRun)]
    return reduce(and_, [~Q(Exists(rows)) for rows in children])


def all_of(conditions: Conditions) -> Q:
    return reduce(and_, conditions.values(), Q())


def _of_both(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, *, error: str) -> Conditions:
    found = {name: Q(**{name: value}) for name in SAME if (value := getattr(chosen, name))}
    if chosen.worker:
        found["worker"] = Q(worker_id=chosen.worker)
    if time := _time(chosen, now):
        found["time"] = time
    if chosen.attempts:
        found["attempts"] = Q(attempts__gt=1)
    if chosen.error:
        found["error"] = _error(connection, chosen.error)
    if not chosen.has_chores and not chosen.queue:
        found["chores"] = ~Q(queue=SYSTEM_QUEUE)
    return found | _search(chosen, error)


def _time(chosen: RunFilter, now: datetime) -> Q:
    since = chosen.begins(now)
    found = Q(queued_at__gte=since) if since else Q()
    return found & Q(queued_at__lt=chosen.until) if chosen.until else found


def _error(connection: BaseDatabaseWrapper, wanted: str) -> Q:
    """Of the last attempt, which is found by its key."""
    last = JobAttempt.objects.using(connection.alias).filter(job_id=OuterRef("pk"), number=OuterRef("attempts"))
    if wanted == NO_CLASS:
        return ~Q(Exists(last.exclude(error_class="")))
    name = wanted.removeprefix(EXACTLY)
    named = Q(error_class=name)
    return Q(Exists(last.filter(named if name != wanted else named | Q(error_class__endswith=f".{name}"))))


def _search(chosen: RunFilter, error: str) -> Conditions:
    search, found = chosen.search, {}
    if search.run_id:
        found["id"] = Q(pk=search.run_id)
    if search.text:
        found["text"] = Q(subject__icontains=search.text) | Q(**{f"{error}__icontains": search.text})
    for path, value in search.payload:
        *outer, last = path.split(".")
        inside: Any = reduce(lambda lhs, key: KeyTransform(key, lhs), outer, cast(Any, F("payload")))
        # As text, so that 7 and "7" are found alike on both databases.
        found[f"payload.{path}"] = Q(Exact(Cast(KeyTextTransform(last, inside), TextField()), value))
    return found
