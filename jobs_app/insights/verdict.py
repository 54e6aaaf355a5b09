"""Is all well? If not: what needs attention, each with the page where somebody sees it and does something about it.

Pure: what was read is judged here, in the language of whoever asks. What could not be read is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app import durations
from jobs_app.insights.dashboard import Now, Schedules, StaleCounts
from jobs_app.insights.processes import LATE, LOST
from jobs_app.insights.queue_states import BEHIND, GROWING, LONG_WAIT, UNSERVED, grows
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.throughput import Hour
from jobs_app.models import Pause, Scope

BAD: Literal["bad"] = "bad"
WARN: Literal["warn"] = "warn"
LEAST_ENDED = 10  # runs in an hour: of fewer a rate says nothing
HIGH_FAILURE_RATE = 0.25
OLD_PAUSE = timedelta(hours=24)
NEWS_OF_LOST = timedelta(minutes=15)  # who is silent for longer was replaced, or is missed elsewhere


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that needs attention."""

    kind: str
    level: Literal["bad", "warn"]
    sentence: str
    page: str  # name of the page that shows it
    arguments: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was read; None: it could not be, in time."""

    now: Now | None
    schedules: Schedules | None
    stale: StaleCounts | None
    hour: Hour | None
    pauses: Sequence[Pause]

    @property
    def is_all(self) -> bool:
        return None not in (self.now, self.schedules, self.stale, self.hour)


def judge(known: Known) -> list[Finding]:
    """The worst first."""
    found = [*_workers(known), *_queues(known), *_stale(known), *_schedules(known), *_types(known), *_pauses(known)]
    return sorted(found, key=lambda one: one.level != BAD)


def _workers(known: Known) -> Iterator[Finding]:
    if known.now is None:
        return
    found = known.now.processes
    if known.now.waiting and not any(each.is_worker for each in found.living):
        yield _worker_finding("no_worker", BAD, _("No worker is alive, and jobs wait"))
    active = known.schedules.active if known.schedules else 0
    if active and not found.has_scheduler:
        yield _worker_finding("no_scheduler", BAD, _("No scheduler is alive, and schedules are active"))
    silent = [each for each in found.found if each.status in (LATE, LOST)]
    recent = [each for each in silent if found.at - each.row.seen_at <= NEWS_OF_LOST]
    if recent:
        text = ngettext("%(count)s process went silent", "%(count)s processes went silent", len(recent))
        yield _worker_finding("silent", WARN, text % {"count": len(recent)})
    if len(found.versions) > 1:
        sentence = _("Processes run different versions: %(versions)s") % {"versions": ", ".join(sorted(found.versions))}
        yield _worker_finding("versions", WARN, sentence)


def _queues(known: Known) -> Iterator[Finding]:
    if known.now is None:
        return
    is_anybody_there = any(each.is_worker for each in known.now.processes.living)
    for queue in known.now.queues:
        told, state, trend = {"queue": queue.name}, queue.state, queue.hour.trend
        if state == UNSERVED and queue.counts.waiting and is_anybody_there:
            sentence = _("Queue %(queue)s waits, and no live worker serves it") % told
            yield _queue_finding(queue, "unserved", BAD, sentence)
        if state == BEHIND:
            told |= {"time": durations.rough(queue.oldest_wait or 0), "limit": durations.rough(LONG_WAIT)}
            sentence = _("Queue %(queue)s waits for %(time)s; more than %(limit)s is long") % told
            yield _queue_finding(queue, "behind", WARN, sentence)
        if state in (BEHIND, GROWING) and grows(queue.counts.waiting, trend):
            told |= {"count": f"{trend or 0:.1f}"}
            sentence = _("The backlog of queue %(queue)s grows by %(count)s a minute") % told
            yield _queue_finding(queue, "growing", WARN, sentence)


def _stale(known: Known) -> Iterator[Finding]:
    if known.stale is None or not known.stale.total:
        return
    count, more = known.stale.total, "+" if known.stale.is_capped else ""
    text = ngettext("%(count)s run stands still", "%(count)s runs stand still", count)
    yield Finding(kind="stale", level=BAD, sentence=text % {"count": f"{count}{more}"}, page="dashboard_stale")


def _schedules(known: Known) -> Iterator[Finding]:
    if known.schedules is None:
        return
    overdue, disabled, failing = known.schedules.overdue, known.schedules.disabled, known.schedules.failing
    if overdue:
        text = ngettext("%(count)s schedule is overdue", "%(count)s schedules are overdue", overdue)
        yield _schedule_finding("overdue", BAD, text % {"count": overdue}, trouble="overdue")
    if disabled:
        text = ngettext(
            "%(count)s schedule was switched off by failures",
            "%(count)s schedules were switched off by failures",
            disabled,
        )
        yield _schedule_finding("disabled", BAD, text % {"count": disabled}, state="disabled")
    if failing:
        text = ngettext("%(count)s schedule fails", "%(count)s schedules fail", failing)
        yield _schedule_finding("failing", WARN, text % {"count": failing}, trouble="failing")


def _types(known: Known) -> Iterator[Finding]:
    for name, ended in (known.hour.types if known.hour else {}).items():
        if ended.succeeded + ended.failed >= LEAST_ENDED and ended.failure_rate >= HIGH_FAILURE_RATE:
            told = {"job_type": name, "share": round(100 * ended.failure_rate)}
            sentence = _("%(share)s %% of what %(job_type)s ended in the last hour failed") % told
            query = {"job_type": name, "state": "failed", "window": "1h"}
            yield Finding(kind="failure_rate", level=BAD, sentence=sentence, page="run_changelist", query=query)


def _pauses(known: Known) -> Iterator[Finding]:
    if any(pause.scope == Scope.ALL for pause in known.pauses):
        sentence = _("Everything is paused: nothing starts until somebody resumes it")
        query = {"state": "waiting"}
        yield Finding(kind="all_paused", level=WARN, sentence=sentence, page="run_changelist", query=query)
    now: datetime | None = known.now.at if known.now else None
    for pause in known.pauses if now else ():
        if now is not None and now - pause.created_at > OLD_PAUSE:
            told = {"what": str(pause), "time": durations.rough((now - pause.created_at).total_seconds())}
            sentence = _("%(what)s is paused for %(time)s") % told
            page, arguments = page_of(pause)
            yield Finding(kind="old_pause", level=WARN, sentence=sentence, page=page, arguments=arguments)


def page_of(pause: Pause) -> tuple[str, tuple[str, ...]]:
    """Where what it holds is seen."""
    pages = {Scope.QUEUE: "queuestate_detail", Scope.JOB_TYPE: "jobdefinition_detail", Scope.SUBJECT: "subject_detail"}
    page = pages.get(Scope(pause.scope))
    return (page, (pause.name,)) if page else ("dashboard_changelist", ())


def _worker_finding(kind: str, level: Literal["bad", "warn"], sentence: str) -> Finding:
    return Finding(kind=kind, level=level, sentence=sentence, page="workerstate_changelist")


def _queue_finding(queue: QueueLine, kind: str, level: Literal["bad", "warn"], sentence: str) -> Finding:
    return Finding(kind=kind, level=level, sentence=sentence, page="queuestate_detail", arguments=(queue.name,))


def _schedule_finding(kind: str, level: Literal["bad", "warn"], sentence: str, **query: str) -> Finding:
    return Finding(kind=kind, level=level, sentence=sentence, page="schedulestate_changelist", query=query)
