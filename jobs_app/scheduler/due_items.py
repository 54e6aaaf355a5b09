"""Things of the host that are due become one job each, and no second one while the first is queued or running."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from jobs_app.drafts import Drafts
from jobs_app.errors import DefinitionInvalid, JobsError
from jobs_app.lifecycle.database import write_transaction
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.models import Job
from jobs_app.registry import registry
from jobs_app.scheduler.metrics import note_found
from jobs_app.scheduler.source_rows import source_rows
from jobs_app.sources import Source, read_row

ROWS_PER_STATEMENT = 1000


@dataclass(kw_only=True)
class DueFound:
    """What a source of due things yielded, and what was made of it."""

    noun: str = "items"
    noun_of_one: str = "item"
    found: int = 0
    made: list[tuple[UUID, str]] = field(default_factory=list)  # run, subject
    refused: list[str] = field(default_factory=list)  # items that could not be used, and why


def enqueue_due(connection: BaseDatabaseWrapper, source: Source, go_on: Callable[[], bool] = lambda: True) -> DueFound:
    """One job for each item of the source and each of its job types, but for those that have one.

    What is open is read before the source is: an item whose job ends in between looks due for a moment longer, and
    must not get a second one.
    """
    found = DueFound()
    drafts = {name: Drafts(registry.get(name), {}) for name in source.job_types}
    taken = {name: _open_keys(connection, name) for name in source.job_types}
    items = source_rows(connection, source)
    while go_on() and (chunk := list(islice(items, ROWS_PER_STATEMENT))):
        found.found += len(chunk)
        if isinstance(chunk[0], Model):
            found.noun, found.noun_of_one = (
                str(chunk[0]._meta.verbose_name_plural),
                str(chunk[0]._meta.verbose_name),
            )
        for name, drafting in drafts.items():
            jobs = _jobs(name, drafting, chunk, taken[name], found)
            with write_transaction(connection):
                stored = enqueue(jobs)
            made = [(one.id, job.subject) for one, job in zip(stored, jobs, strict=True) if one.created]
            note_found(name, len(made))
            found.made += made
    return found


def _open_keys(connection: BaseDatabaseWrapper, job_type: str) -> set[str | None]:
    jobs = Job.objects.using(connection.alias).filter(queue=registry.get(job_type).queue, policy="exclusive")
    return set(jobs.order_by().values_list("key", flat=True))


def _jobs(
    job_type: str, drafts: Drafts, chunk: Iterable[Any], taken: Collection[str | None], found: DueFound
) -> Sequence[NewJob]:
    jobs = []
    for item in chunk:
        try:
            subject, options = read_row(registry.get(job_type), item)
            job, _ = drafts.draft(options.payload or {}, subject)
        except (ValueError, JobsError) as problem:
            found.refused.append(f"{item!r}: {problem}")
            continue
        if job.policy != "exclusive":
            raise DefinitionInvalid(
                f"job type {job_type!r} gets its jobs from a source of due things and must be exclusive=True: that is "
                "what lets an item have one open job."
            )
        if job.key not in taken:
            jobs.append(job)
    return jobs
