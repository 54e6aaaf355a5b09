"""Workers and schedulers as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobs_app import durations
from jobs_app.insights import processes
from jobs_app.insights.documents import process_data
from jobs_app.insights.processes import Process
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import Job, WorkerKind, WorkerState
from jobs_app.runtime.identity import short_name

HEADERS = ("KIND", "NAME", "STATUS", "BUSY", "SEEN", "QUEUES")
DETAIL_HEADERS = (*HEADERS, "TYPES", "VERSION", "MEMORY", "RUNS")
MEGABYTE = 1024 * 1024


def process_row(each: WorkerState, now: datetime) -> tuple[object, ...]:
    return (
        each.kind,
        name_of(each),
        processes.status_of(each, now=now),
        f"{each.busy}/{each.concurrency}" if each.concurrency else None,
        f"{durations.rough((now - each.seen_at).total_seconds())} ago",
        serves_text(each),
    )


def detail_row(each: Process, now: datetime) -> tuple[object, ...]:
    """The same, and what else is known of it."""
    row, more = each.row, each.running - len(each.jobs)
    told = [_job_text(job, now) for job in each.jobs] + ([f"and {more} more"] if more > 0 else [])
    memory = f"{row.rss_bytes // MEGABYTE} MB" if row.rss_bytes else None
    types = len(row.job_types) if each.is_worker else None
    return (*process_row(row, now), types, row.version, memory, ", ".join(told))


def detail_data(each: Process, now: datetime) -> dict[str, Any]:
    jobs = [running_data(job, now) for job in each.jobs]
    return {**process_data(each.row, now), "job_types": each.row.job_types, "running": each.running, "jobs": jobs}


def running_data(job: Job, now: datetime) -> dict[str, Any]:
    names = ("id", "job_type", "subject", "queue", "attempts", "worker_id", "started_at")
    return {**{name: getattr(job, name) for name in names}, "seconds": seconds_of(job, now)}


def name_of(each: WorkerState) -> str:
    """How its id begins, by which it can be named, and what people call it."""
    begin = f"{each.host}-{each.pid}"
    if not each.id.startswith(begin):
        return each.name or each.id
    return f"{each.name} ({begin})" if each.name else begin


def is_meant(each: WorkerState, word: str) -> bool:
    """By its id, the begin of it, its name, or what its log lines call it."""
    return word in (each.name, short_name(each.host, each.pid)) or each.id.startswith(word)


def worker_id_of(word: str) -> str:
    """Of the one that is there and meant by this; else it is an id, as history has it."""
    connection = jobs_connection()
    meant = [each.pk for each in processes.newest(connection) if is_meant(each, word)]
    return meant[0] if len(meant) == 1 else word


def serves_text(each: WorkerState) -> str:
    if each.kind == WorkerKind.SCHEDULER:
        return ""
    return (", ".join(each.queues) or "all") + "".join(f" but {name}" for name in each.excluded)


def is_any_working(found: Iterable[WorkerState], now: datetime) -> bool:
    """Does one of them take jobs?"""
    workers = (each for each in found if each.kind != WorkerKind.SCHEDULER)
    return any(processes.status_of(each, now=now) == processes.ALIVE for each in workers)


def seconds_of(job: Job, now: datetime) -> float | None:
    """For how long it runs."""
    return None if job.started_at is None else max(0.0, round((now - job.started_at).total_seconds(), 3))


def _job_text(job: Job, now: datetime) -> str:
    subject = f" {job.subject}" if job.subject else ""
    return f"{job.job_type}{subject} for {durations.rough(seconds_of(job, now) or 0)}"
