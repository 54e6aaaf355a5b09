"""What admission waits for: its key, a limit, a rate. The rules are those of admission, asked and not moved."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.admission import use_of
from jobs_app.insights.waiting.reasons import Case, Reason, Target, told
from jobs_app.lifecycle.gated import Owner, Reader
from jobs_app.lifecycle.opening import OPEN_IN_QUEUE, OPEN_OF_TYPE
from jobs_app.lifecycle.rates import Rates, Scope
from jobs_app.limits import ONE_RUNNING, Rate
from jobs_app.models import Gate, Hold


def key_reasons(case: Case) -> list[Reason]:
    """Who has its key. One that has passed this gate before has it itself."""
    run = case.run
    if not run.key or not case.is_before_gate or (case.gate != Gate.KEY and run.hold != Hold.KEY):
        return []
    if run.hold == Hold.LIMIT:  # it has its key
        return []
    owners = [owner for owner in _owners(case, run.key) if owner.id != run.pk]
    alone = next((owner for owner in owners if owner.policy in ONE_RUNNING), None)
    if run.policy in ONE_RUNNING and alone is not None:
        return [_busy(case, alone)]
    use = use_of(owners)
    if use.lets_in(run, case.queue_rules, case.type_limits):
        return []
    return [_key_limit(case, owners)]


def limit_reasons(case: Case) -> list[Reason]:
    """Counted as admission does it: what is open or runs, over the whole cluster."""
    return [] if case.gate == Gate.NONE or not case.is_before_gate else [*_queue_limit(case), *_type_limit(case)]


def rate_reasons(case: Case) -> list[Reason]:
    if case.gate == Gate.NONE or not case.is_before_gate:
        return []
    rates = Rates(case.connection)
    found = []
    for scope, rate, target in _paces(case):
        moment = rates.free_at(scope, rate)
        if moment > case.now:
            found.append(_rate(rate, moment, target))
    return sorted(found, key=lambda reason: reason.until or case.now, reverse=True)


def _owners(case: Case, key: str) -> list[Owner]:
    reader = Reader(case.connection, case.run.queue, job_types=(), paused_subjects=())
    return reader.owners([key])


def _busy(case: Case, owner: Owner) -> Reason:
    if case.run.key == case.run.subject:
        sentence = _("its subject %(key)s is busy with run %(run)s of %(job_type)s")
    else:
        sentence = _("its key %(key)s is busy with run %(run)s of %(job_type)s")
    told_as = {"key": case.run.key, "run": owner.id, "job_type": owner.job_type}
    return Reason(kind="key_busy", sentence=sentence % told_as, target=Target("run", str(owner.id)))


def _key_limit(case: Case, owners: list[Owner]) -> Reason:
    """As many with its key are open, run, or wait for their rate as may."""
    sentence = ngettext(
        "%(count)d run with its key %(key)s is before it, and no more may be at once",
        "%(count)d runs with its key %(key)s are before it, and no more may be at once",
        len(owners),
    )
    told_as = {"count": len(owners), "key": case.run.key}
    target = Target("run", str(owners[0].id)) if owners else None
    return Reason(kind="key_limit", sentence=sentence % told_as, target=target)


def _queue_limit(case: Case) -> Iterator[Reason]:
    most, queue = case.queue_rules.concurrency, case.run.queue
    count = 0 if most is None else sum(row[2] for row in _rows(case, OPEN_IN_QUEUE, queue))
    if most is not None and count >= most:
        told_as = {"queue": queue, "count": count, "most": most}
        sentence = _("the limit of queue %(queue)s is reached: %(count)d of %(most)d run or are about to") % told_as
        yield Reason(kind="queue_limit", sentence=sentence, target=Target("queue", queue))


def _type_limit(case: Case) -> Iterator[Reason]:
    most, job_type = case.type_limits.concurrency, case.run.job_type
    count = 0 if most is None else _rows(case, OPEN_OF_TYPE, job_type)[0][0]
    if most is not None and count >= most:
        told_as = {"job_type": job_type, "count": count, "most": most}
        sentence = _("the limit of job type %(job_type)s is reached: %(count)d of %(most)d run or are about to")
        yield Reason(kind="type_limit", sentence=sentence % told_as, target=Target("job_type", job_type))


def _paces(case: Case) -> Iterator[tuple[Scope, Rate, Target]]:
    """Every rate that counts its start."""
    run, queue, job_type = case.run, case.queue_rules, case.type_limits
    of_queue, of_type = Target("queue", run.queue), Target("job_type", run.job_type)
    wanted = [
        (Scope.of_queue(run.queue), queue.rate, of_queue),
        (Scope.of_type(run.job_type), job_type.rate, of_type),
    ]
    if run.key:
        wanted += [
            (Scope.of_key(run.queue, run.key), queue.rate_per_key, of_queue),
            (Scope.of_key(run.queue, run.key, run.job_type), job_type.rate_per_key, of_type),
        ]
    return ((scope, rate, target) for scope, rate, target in wanted if rate is not None)


def _rate(rate: Rate, moment: datetime, target: Target) -> Reason:
    told_as = {"starts": rate.starts, "seconds": f"{rate.seconds:g}", "moment": told(moment)}
    if target.kind == "queue":
        sentence = _("the rate of its queue, %(starts)d in %(seconds)s seconds, lets the next one start at %(moment)s")
    else:
        sentence = _(
            "the rate of its job type, %(starts)d in %(seconds)s seconds, lets the next one start at %(moment)s"
        )
    return Reason(kind="rate", sentence=sentence % told_as, target=target, until=moment)


def _rows(case: Case, sql: str, name: str) -> list[tuple[int, ...]]:
    with case.connection.cursor() as cursor:
        cursor.execute(sql, [name])
        return cursor.fetchall()
