"""How the checks went, out of the audit that is kept of every run anyway."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from examples.storage_checks.models import Measurement, Provider
from jobs_app.models import JobRun

KINDS = ("deal", "retrieval")
SKIPPED = "skipped"  # begins what a check returns that did not take place
LOOK_BACK = timedelta(days=1)  # for runs that waited before they ended
COUNTED = ("success", "error", "aborted")


def measure(since: datetime, until: datetime) -> int:
    """Count what ended in between, and say how many that were. The same period again is the same measurements."""
    ended = JobRun.objects.filter(job_type__in=KINDS, finished_at__gt=since, finished_at__lte=until)
    known = Provider.objects.values("pk")  # somebody may have triggered a check of another, and cancelled it
    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in ended.filter(queued_at__gt=since - LOOK_BACK, subject__in=known):
        if not str(run.result).startswith(SKIPPED):
            counts.setdefault((run.subject, run.job_type), Counter())[_word(run.outcome)] += 1
    for (provider, kind), found in counts.items():
        numbers = {word: found[word] for word in COUNTED}
        Measurement.objects.update_or_create(provider_id=provider, kind=kind, until=until, defaults=numbers)
    return sum(found.total() for found in counts.values())


def forget(*, before: datetime) -> int:
    deleted, _ = Measurement.objects.filter(until__lt=before).delete()
    return deleted


def _word(outcome: str) -> str:
    """A check that was cut off, by its deadline or by the end of its worker, says nothing about its provider."""
    return outcome if outcome in COUNTED else "aborted"
