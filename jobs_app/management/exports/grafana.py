"""A dashboard for Grafana: one look for the verdict, and below it a row for each question that follows."""

from __future__ import annotations

import json
from typing import Any

from jobs_app.management.exports.files import File
from jobs_app.management.exports.panels import (
    DATASOURCE,
    GREEN,
    ORANGE,
    RED,
    Panel,
    Query,
    heatmap,
    laid_out,
    lines,
    number,
)

SCHEMA_VERSION = 39  # Grafana 10 and 11; newer ones read it too
TYPES = 'job_type=~"$job_type"'
QUEUES = 'queue=~"$queue"'
RATE = "[$__rate_interval]"
QUANTILES = (0.5, 0.95, 0.99)


def make() -> list[File]:
    return [File("jobs-dashboard.json", json.dumps(dashboard(), indent=2) + "\n")]


def dashboard() -> dict[str, Any]:
    return {
        "uid": "jobs-app",
        "title": "Jobs",
        "tags": ["jobs_app"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "annotations": {"list": [_firing_alerts()]},
        "panels": laid_out(
            [
                ("Is all well?", _verdict()),
                ("What comes in, what goes out, what waits", _queues()),
                ("How long it takes", _durations()),
                ("What fails", _failures()),
                ("Schedules", _schedules()),
                ("Workers", _workers()),
                ("Database (PostgreSQL)", _database()),
            ]
        ),
    }


def _variables() -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        _labels_of("job_type", "Job type", "jobs_queued"),
        _labels_of("queue", "Queue", "jobs_queue_oldest_ready_age_seconds"),
    ]


def _labels_of(name: str, label: str, metric: str) -> dict[str, Any]:
    query = f"label_values({metric}, {name})"
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # whenever the time range changes
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _firing_alerts() -> dict[str, Any]:
    return {
        "name": "Alerts",
        "enable": True,
        "iconColor": RED,
        "datasource": DATASOURCE,
        "expr": 'ALERTS{alertname=~"Jobs.*", alertstate="firing"}',
        "titleFormat": "{{alertname}}",
        "textFormat": "{{job_type}} {{queue}}",
    }


def _verdict() -> list[Panel]:
    failed, ended = (
        f'sum(increase(jobs_completed_total{{outcome=~"{outcomes}", {TYPES}}}[1h]))'
        for outcomes in ("failed", "succeeded|failed")
    )
    some, none = [(0, RED), (1, GREEN)], [(0, GREEN), (1, ORANGE)]
    share = [(0, GREEN), (0.01, ORANGE), (0.05, RED)]
    wait, waits = f"max(jobs_queue_oldest_ready_age_seconds{{{QUEUES}}})", [(0, GREEN), (60, ORANGE), (300, RED)]
    full, busy = [(0, GREEN), (0.9, ORANGE)], "sum(jobs_worker_slots_busy) / sum(jobs_worker_slots)"
    return [
        number("Workers", 'max(jobs_workers{status="alive"})', steps=some, told="Alert: JobsNoWorkers"),
        number("Schedulers", 'max(jobs_schedulers{status="alive"})', steps=some, told="Alert: JobsNoScheduler"),
        number("Oldest wait", wait, steps=waits, unit="s", told="Alert: JobsQueueSlow"),
        number("Failed, last hour", f"{failed} / {ended}", steps=share, unit="percentunit", told="Alert: JobsFailing"),
        number("Slots busy", busy, steps=full, unit="percentunit", told="Alert: JobsWorkersBusy"),
        number("Stale runs", "max(jobs_stale_runs)", steps=none, told="Alert: JobsStaleRuns"),
        number("Pauses", "sum(max by (scope) (jobs_pauses))", steps=none, told="Alert: JobsPauseForgotten"),
        number("Numbers are old by", _age("jobs_stats_last_success"), steps=[(0, GREEN), (180, RED)], unit="s"),
    ]


def _queues() -> list[Panel]:
    enqueued = f'sum(rate(jobs_enqueue_attempts_total{{outcome="success", {TYPES}}}{RATE}))'
    started = f"sum(rate(jobs_started_total{{{TYPES}}}{RATE}))"
    trend = f"({enqueued} or vector(0)) - ({started} or vector(0))"
    gauges = ("queued", "retry_scheduled", "in_flight", "paused")
    states = [Query(f"sum(max by (job_type) (jobs_{name}{{{TYPES}}}))", name) for name in gauges]
    oldest = ("oldest_queued_age_seconds", "oldest_in_flight_age_seconds")
    ages = [
        Query(f"max by (job_type) ({name}{{{TYPES}}})", f"{{{{job_type}}}} {name.split('_age')[0]}") for name in oldest
    ]
    return [
        lines("Enqueued and started", Query(enqueued, "enqueued"), Query(started, "started"), unit="ops"),
        lines(
            "Backlog trend: enqueued minus started",
            Query(trend, "jobs a second"),
            unit="ops",
            told="Above zero the backlog grows. A retry is a start without an enqueue. Alert: JobsBacklogGrowing",
        ),
        lines("Jobs by state", *states, stacked=True),
        lines("Queued by job type", Query(f"max by (job_type) (jobs_queued{{{TYPES}}})", "{{job_type}}"), stacked=True),
        lines("Oldest job", *ages, unit="s"),
        lines(
            "Oldest ready job of each queue",
            Query(f"max by (queue) (jobs_queue_oldest_ready_age_seconds{{{QUEUES}}})", "{{queue}}"),
            unit="s",
            told="Alert: JobsQueueSlow",
        ),
        lines("Wait from due to start", *_quantiles("job_wait_seconds", QUEUES), unit="s"),
        lines(
            "Queues paused", Query(f"max by (queue) (jobs_queue_paused{{{QUEUES}}})", "{{queue}}"), unit="bool_yes_no"
        ),
    ]


def _durations() -> list[Panel]:
    total = f"sum by (job_type) (rate(job_duration_seconds_sum{{{TYPES}}}{RATE}))"
    return [
        lines("Duration", *_quantiles("job_duration_seconds", TYPES), unit="s"),
        lines(
            "Slots that each job type takes",
            Query(total, "{{job_type}}"),
            stacked=True,
            told="Seconds of work in each second, so the number of slots that are busy with it.",
        ),
        heatmap("Durations", f"sum by (le) (increase(job_duration_seconds_bucket{{{TYPES}}}{RATE}))", unit="s"),
    ]


def _failures() -> list[Panel]:
    def of(outcome: str) -> Query:
        expr = f'sum by (job_type) (rate(jobs_completed_total{{outcome="{outcome}", {TYPES}}}{RATE}))'
        return Query(expr, "{{job_type}}")

    lost = Query(f"sum by (job_type) (rate(jobs_leases_lost_total{{{TYPES}}}{RATE}))", "{{job_type}}")
    every = Query(f"sum by (outcome) (rate(jobs_completed_total{{{TYPES}}}{RATE}))", "{{outcome}}")
    return [
        lines("Ends by outcome", every, unit="ops", stacked=True),
        lines("Failed", of("failed"), unit="ops", told="Alerts: JobsFailing, JobsOnlyFailing"),
        lines("Retried", of("retried"), unit="ops"),
        lines("Returned unfinished", of("returned"), unit="ops"),
        lines("Leases lost", lost, unit="ops", told="Alert: JobsLeasesLost"),
    ]


def _schedules() -> list[Panel]:
    outcomes = f"sum by (outcome) (rate(jobs_enqueue_attempts_total{{{TYPES}}}{RATE}))"
    skipped = f"sum by (job_type) (rate(jobs_slots_skipped_total{{{TYPES}}}{RATE}))"
    due = f"max by (job_type) (jobs_schedule_oldest_due_age_seconds{{{TYPES}}})"
    tick = Query(_age("jobs_scheduler_last_tick"), "since the last tick")
    return [
        lines("Tick duration", *_quantiles("jobs_scheduler_tick_duration_seconds", ""), unit="s"),
        lines("Since the last tick", tick, unit="s", told="Alert: JobsSchedulerStalled"),
        lines("From slot to enqueue", *_quantiles("jobs_schedule_lateness_seconds", TYPES), unit="s"),
        lines("Schedules due for", Query(due, "{{job_type}}"), unit="s", told="Alert: JobsScheduleLate"),
        lines("Enqueues by outcome", Query(outcomes, "{{outcome}}"), unit="ops", told="Alert: JobsEnqueueErrors"),
        lines("Slots skipped", Query(skipped, "{{job_type}}"), unit="ops"),
        lines("Schedules by status", Query("max by (status) (jobs_schedules)", "{{status}}"), stacked=True),
    ]


def _workers() -> list[Panel]:
    versions = "count by (version, django, python) (jobs_build_info)"
    return [
        lines(
            "Slots",
            Query("sum(jobs_worker_slots)", "slots"),
            Query("sum(jobs_worker_slots_busy)", "busy"),
            told="Alert: JobsWorkersBusy",
        ),
        lines("Busy slots of each worker", Query("jobs_worker_slots_busy", "{{instance}}")),
        lines("Draining", Query("sum(jobs_worker_draining)", "workers")),
        lines("Workers by status", Query("max by (status) (jobs_workers)", "{{status}}"), stacked=True),
        lines("Schedulers by status", Query("max by (status) (jobs_schedulers)", "{{status}}"), stacked=True),
        lines("Versions", Query(versions, "{{version}}, Django {{django}}, Python {{python}}"), stacked=True),
    ]


def _database() -> list[Panel]:
    def of_tables(title: str, metric: str, unit: str, told: str = "") -> Panel:
        return lines(title, Query(f"max by (table) ({metric})", "{{table}}"), unit=unit, told=told)

    oldest = Query("max(jobs_oldest_transaction_age_seconds)", "oldest")
    return [
        of_tables("Live rows", "jobs_table_live_rows", "short"),
        of_tables("Dead rows", "jobs_table_dead_rows", "short", "Alert: JobsBloat"),
        of_tables("Size", "jobs_table_bytes", "bytes"),
        lines("Oldest open transaction", oldest, unit="s", told="Alert: JobsOldTransaction"),
    ]


def _age(moment: str) -> str:
    """Of a process that has not done it yet the moment is 0."""
    return f"time() - max({moment}_timestamp_seconds > 0)"


def _quantiles(metric: str, labels: str) -> list[Query]:
    summed = f"sum by (le) (rate({metric}_bucket{{{labels}}}{RATE}))"
    return [Query(f"histogram_quantile({share}, {summed})", f"p{share * 100:g}") for share in QUANTILES]
