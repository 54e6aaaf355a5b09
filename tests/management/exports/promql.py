"""What the expressions for Prometheus may name, and a look into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import promql_parser

HISTOGRAMS = {
    "job_duration_seconds",
    "job_wait_seconds",
    "jobs_schedule_lateness_seconds",
    "jobs_scheduler_tick_duration_seconds",
}
LABELS = {
    "jobs_started_total": {"job_type"},
    "jobs_completed_total": {"job_type", "outcome"},
    "job_duration_seconds": {"job_type"},
    "job_wait_seconds": {"queue"},
    "jobs_leases_lost_total": {"job_type"},
    "jobs_worker_slots": set(),
    "jobs_worker_slots_busy": set(),
    "jobs_worker_draining": set(),
    "jobs_enqueue_attempts_total": {"job_type", "outcome"},
    "jobs_slots_skipped_total": {"job_type"},
    "jobs_schedule_lateness_seconds": {"job_type"},
    "jobs_scheduler_tick_duration_seconds": set(),
    "jobs_scheduler_last_tick_timestamp_seconds": set(),
    "jobs_queued": {"job_type"},
    "jobs_in_flight": {"job_type"},
    "jobs_retry_scheduled": {"job_type"},
    "jobs_paused": {"job_type"},
    "oldest_queued_age_seconds": {"job_type"},
    "oldest_in_flight_age_seconds": {"job_type"},
    "jobs_queue_oldest_ready_age_seconds": {"queue"},
    "jobs_queue_paused": {"queue"},
    "jobs_workers": {"status"},
    "jobs_schedulers": {"status"},
    "jobs_pauses": {"scope"},
    "jobs_schedules": {"status"},
    "jobs_schedule_oldest_due_age_seconds": {"job_type"},
    "jobs_stale_runs": set(),
    "jobs_table_live_rows": {"table"},
    "jobs_table_dead_rows": {"table"},
    "jobs_table_bytes": {"table"},
    "jobs_oldest_transaction_age_seconds": set(),
    "jobs_stats_last_success_timestamp_seconds": set(),
    "jobs_build_info": {"version", "django", "python"},
}
OF_A_PROCESS = {"jobs_worker_slots", "jobs_worker_slots_busy", "jobs_worker_draining"}
FROM_THE_DATABASE = {name for name in LABELS if not name.endswith("_total")} - HISTOGRAMS - OF_A_PROCESS
ONCE = re.compile(r"(?:max|absent|count)(?: by \([a-z_, ]+\) )?\($")  # what tells the same of one target and of five


def parts(expr: str) -> list[Any]:
    """All that it is made of. Raises where Prometheus would refuse it."""
    found: list[Any] = []
    promql_parser.walk(promql_parser.parse(expr.replace("$__rate_interval", "5m")), found.append)
    return found


def selected(expr: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric that it reads, without what a histogram adds to its name, and the labels that it asks for."""
    for part in parts(expr):
        if isinstance(part, promql_parser.VectorSelector):
            bare = re.sub("_(bucket|sum|count)$", "", part.name)
            yield bare if bare in HISTOGRAMS else part.name, {each.name for each in part.matchers.matchers}


def grouped_by(expr: str) -> Iterator[tuple[set[str], set[str]]]:
    """For each aggregation: its labels, and those that everything below it has."""
    for part in parts(expr):
        if isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None:
            below = [LABELS[name] for name, _ in selected(part.prettify())]
            yield set(part.modifier.labels) - {"le"}, set.intersection(*below)


def assert_sound(expr: str) -> None:
    """It can be read, names what there is, and does not add up what several targets tell of the one database."""
    assert list(selected(expr)), expr
    for name, labels in selected(expr):
        assert labels <= LABELS[name], expr
    for labels, known in grouped_by(expr):
        assert labels <= known, expr
    for found in re.finditer(r"[a-z_]+", expr):
        if found.group() in FROM_THE_DATABASE:
            assert ONCE.search(expr[: found.start()]), expr
