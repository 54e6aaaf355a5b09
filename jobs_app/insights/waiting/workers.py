"""Who could start it: nobody, somebody who drains, or workers whose slots are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.insights.waiting.reasons import Case, Reason, Target
from jobs_app.lifecycle.workforce import Hand
from jobs_app.models import Job, State
from jobs_app.registry import SYSTEM_QUEUE, registry

ALL_WORKERS = Target("workers")


class Running(NamedTuple):
    """What one worker has in hand."""

    total: int
    in_queue: int
    of_type: int


def unserved_reasons(case: Case) -> list[Reason]:
    """What keeps it from starting however long it waits, unless somebody starts other workers."""
    run = case.run
    told_as = {"queue": run.queue, "job_type": run.job_type}
    if case.is_chore:  # every process takes these, a scheduler too
        alone = _("no worker and no scheduler is alive: start one with manage.py runworker")
        return [] if case.workforce.alive else [Reason(kind="unserved", sentence=alone, target=ALL_WORKERS)]
    if not case.workforce.serves(run.queue):
        return [_no_worker(case)]
    if not case.workforce.knows(run.queue, run.job_type):
        return [_unknown(case)]
    if _is_switched_off(run.job_type):
        off = _("its job type %(job_type)s is switched off") % told_as
        return [Reason(kind="switched_off", sentence=off, target=Target("job_type", run.job_type))]
    if all(hand.is_draining for hand in _takers(case)):
        drains = _("every live worker that could take it drains: they finish what they have, and take no more")
        return [Reason(kind="draining", sentence=drains, target=ALL_WORKERS)]
    return []


def slot_reasons(case: Case) -> list[Reason]:
    """All who could take it have their hands full; what each runs is counted from live rows."""
    takers = [] if case.is_chore else [hand for hand in _takers(case) if not hand.is_draining]
    running = _running(case)
    if not takers or any(_free(case, hand, running) > 0 for hand in takers):
        return []
    slots = sum(hand.slots for hand in takers)
    if all(running[hand.worker_id].total >= hand.slots for hand in takers):
        sentence = ngettext(
            "the one slot of the workers that could take it is busy",
            "all %(slots)d slots of the workers that could take it are busy",
            slots,
        )
        return [Reason(kind="slots", sentence=sentence % {"slots": slots}, target=ALL_WORKERS)]
    sentence = _("each worker that could take it runs as many of its queue or of its job type as one process may")
    return [Reason(kind="process_limit", sentence=sentence, target=Target("queue", case.run.queue))]


def _no_worker(case: Case) -> Reason:
    told_as = {"queue": case.run.queue, "job_type": case.run.job_type}
    if _is_remote(case.run.job_type):
        return _no_remote_worker(told_as)
    sentence = _("no live worker serves queue %(queue)s: start one with manage.py runworker --queues %(queue)s")
    return Reason(kind="unserved", sentence=sentence % told_as, target=ALL_WORKERS)


def _no_remote_worker(told_as: dict[str, str]) -> Reason:
    sentence = _(
        "its job type %(job_type)s is for remote workers and none that pulls from queue %(queue)s was heard of lately: "
        "start one with python -m jobs_app.client --queues %(queue)s"
    )
    return Reason(kind="unserved", sentence=sentence % told_as, target=ALL_WORKERS)


def _unknown(case: Case) -> Reason:
    told_as = {"queue": case.run.queue, "job_type": case.run.job_type}
    if case.run.job_type not in registry:
        sentence = _("this deployment does not know job type %(job_type)s: its code is gone, or not there yet")
        return Reason(kind="unknown_type", sentence=sentence % told_as)
    if _is_remote(case.run.job_type):
        return _no_remote_worker(told_as)
    sentence = _("no live worker of queue %(queue)s knows job type %(job_type)s: start one whose code has it")
    return Reason(kind="unknown_to_workers", sentence=sentence % told_as, target=ALL_WORKERS)


def _is_remote(job_type: str) -> bool:
    known = registry.find(job_type)
    return known is not None and known.remote


def _is_switched_off(job_type: str) -> bool:
    known = registry.find(job_type)
    try:
        return known is not None and not known.is_enabled
    except Exception:  # a callable of the host's own
        return False


def _takers(case: Case) -> Sequence[Hand]:
    return [hand for hand in case.workforce.hands if hand.takes(case.run.queue, case.run.job_type)]


def _free(case: Case, hand: Hand, running: dict[str, Running]) -> int:
    """How many more of such jobs it could run."""
    has = running[hand.worker_id]
    limits = (
        (hand.slots, has.total),
        (case.queue_rules.concurrency_per_process, has.in_queue),
        (case.type_limits.concurrency_per_process, has.of_type),
    )
    return min(most - count for most, count in limits if most is not None)


def _running(case: Case) -> dict[str, Running]:
    """Bounded by the slots of all workers; the slot for chores is beside the others."""
    rows = Job.objects.using(case.connection.alias).filter(state=State.RUNNING).exclude(queue=SYSTEM_QUEUE)
    counted = list(rows.order_by().values_list("worker_id", "queue", "job_type").annotate(Count("pk")))
    total = _sums((worker, count) for worker, _, _, count in counted)
    in_queue = _sums((worker, count) for worker, queue, _, count in counted if queue == case.run.queue)
    of_type = _sums((worker, count) for worker, _, name, count in counted if name == case.run.job_type)
    workers = {hand.worker_id for hand in case.workforce.hands}
    return {worker: Running(total[worker], in_queue[worker], of_type[worker]) for worker in workers}


def _sums(counted: Iterable[tuple[str, int]]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for worker, count in counted:
        sums[worker] += count
    return sums
