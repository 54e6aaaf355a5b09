"""What stands still is moved on, kind by kind: given back, failed, or left to people, and each is told why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count

from jobs_app.conf import RECONCILABLE
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import requeue as requeuing
from jobs_app.lifecycle.control.acting import APP, Act, Acted, begin
from jobs_app.lifecycle.control.runs import RUNS_PER_CHUNK, on_runs, run_ids, why_not_live
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.lifecycle.moves import HELD, Ended, remove
from jobs_app.lifecycle.recover import Lost, verdict_on
from jobs_app.lifecycle.stale import FAIL, KINDS, STUCK, Stale, find_stale, judge
from jobs_app.lifecycle.workforce import read_workforce
from jobs_app.models import Job, JobAttempt, Outcome
from jobs_app.signals import jobs_recovered
from jobs_app.text import clean

FAIL_RUN = f"{APP}.fail_run"


@dataclass(kw_only=True)
class Reconciled(Acted):
    """What an act changed, and all that it found standing still."""

    found: list[Stale] = field(default_factory=list)


def reconcile(
    actor: Any,
    reason: str = "",
    *,
    apply: Collection[str] = ("expired",),
    runs: Any = None,
    dry_run: bool = False,
) -> Reconciled:
    """Move on what stands still of the kinds in `apply`, with `runs` of these alone; the rest is only told. A run is
    judged again as it is moved.

    `expired` and `lost` wait again while they have attempts. What is `stuck` runs on under a worker that is alive, so
    it is failed by force, and its report will be refused. A user needs the permission to requeue, and for what fails
    the one to fail.
    """
    act = begin("reconcile", "reconcile_runs", actor, reason)
    _check(apply)
    found = find_stale(jobs_connection(), KINDS)
    wanted = dict.fromkeys([stale.job.pk for stale in found] if runs is None else run_ids(runs))
    found = [stale for stale in found if stale.job.pk in wanted]
    applied = () if dry_run else apply
    kept = {stale.job.pk: stale.reason for stale in found if stale.kind not in applied}
    going = [] if dry_run else [run_id for run_id in wanted if run_id not in kept]
    done = Reconciled(found=found, skipped=kept)
    for first in range(0, len(going), RUNS_PER_CHUNK):
        done.add(_move(act, going[first : first + RUNS_PER_CHUNK], apply))
    return done


def _check(kinds: Iterable[str]) -> None:
    if wrong := [kind for kind in kinds if kind not in RECONCILABLE]:
        raise OptionInvalid(f"reconcile: {wrong[0]!r} cannot be applied. Known are: {', '.join(RECONCILABLE)}.")


def _move(act: Act, ids: Sequence[UUID], kinds: Collection[str]) -> Acted:
    """All of a chunk together; where the database refuses that, each alone, so that one costs the others nothing."""
    step = partial(_settle, kinds=kinds)
    try:
        return on_runs(ids, act, step)
    except DatabaseError as error:
        if not jobs_connection().is_usable():
            raise  # it is not about these runs
        if len(ids) == 1:
            return Acted(skipped={ids[0]: f"could not be moved: {clean(error)}"})
    alone = Acted()
    for run_id in ids:
        alone.add(_move(act, [run_id], kinds))
    return alone


def _settle(
    connection: BaseDatabaseWrapper,
    act: Act,
    live: dict[UUID, Job],
    others: list[UUID],
    *,
    kinds: Collection[str],
) -> Acted:
    now = database_now(connection)
    workforce = read_workforce(connection, now)
    judged = {run_id: judge(job, workforce, now) for run_id, job in live.items()}
    stale = [one for one in judged.values() if one and one.kind in kinds]
    skipped = dict.fromkeys(live, "stands still no more")
    for one in stale:
        skipped.pop(one.job.pk)
        if one.verdict == FAIL and not act.may(FAIL_RUN):
            skipped[one.job.pk] = f"needs the permission {FAIL_RUN}"
    ended = _ended(connection, [one for one in stale if one.job.pk not in skipped])
    requeued = requeuing.requeue(connection, [one for one in ended if one.state == "queued"], HELD)
    failed = remove(connection, [one for one in ended if one.state != "queued"], HELD)
    if requeued or failed:  # as of those that recovery finds by itself
        tell = partial(jobs_recovered.tell, None, requeued=requeued, failed=failed, expired=set())
        transaction.on_commit(tell, using=connection.alias)
    return Acted(moved=sorted(requeued | failed), skipped=skipped | why_not_live(connection, others))


def _ended(connection: BaseDatabaseWrapper, stale: Sequence[Stale]) -> list[Ended]:
    tried = JobAttempt.objects.using(connection.alias).filter(
        job_id__in=[one.job.pk for one in stale], outcome=Outcome.LOST
    )
    lost_before = dict(tried.order_by().values_list("job_id").annotate(Count("number")))
    return [
        _failed(one) if one.kind == STUCK else verdict_on(_lost(one.job, lost_before), one.reason, "Reconciled")
        for one in stale
    ]


def _failed(stale: Stale) -> Ended:
    job = stale.job
    return Ended(
        id=job.pk,
        token=job.token,
        state="failed",
        outcome="lost",
        done_reason="stuck",
        error_class="Reconciled",
        error=stale.reason,
    )


def _lost(job: Job, lost_before: dict[UUID, int]) -> Lost:
    assert job.token is not None
    return Lost(
        id=job.pk,
        token=job.token,
        job_type=job.job_type,
        worker_id=job.worker_id,
        policy=job.policy,
        cancel_requested=job.cancel_requested,
        counted_attempts=job.attempts - job.free_attempts,
        max_attempts=job.max_attempts,
        lost_before=lost_before.get(job.pk, 0),
    )
