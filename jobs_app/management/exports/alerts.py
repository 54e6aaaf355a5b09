"""Alerts for Prometheus: what is worth waking somebody for, and what to do then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from string import Template
from textwrap import indent

from jobs_app.conf import Settings
from jobs_app.management.exports.files import File

CRITICAL, WARNING, INFO = "critical", "warning", "info"
TICK_PATIENCE_SECONDS = 60.0
RULE = Template("""\
- alert: $name
  expr: |-
$expr
  for: $wait
  labels:
    severity: $severity
  annotations:
    summary: $summary
    description: $description
    runbook: $runbook
""")


@dataclass(frozen=True, kw_only=True)
class Alert:
    name: str
    expr: str
    wait: str  # so long it has to hold
    severity: str
    summary: str
    description: str
    run: str  # the verb of `manage.py jobs` that shows more

    def text(self) -> str:
        return RULE.substitute(
            name=self.name,
            expr=indent(self.expr, " " * 4),
            wait=self.wait,
            severity=self.severity,
            summary=json.dumps(self.summary),
            description=json.dumps(self.description),
            runbook=json.dumps(f"python manage.py jobs {self.run}"),
        )


def make(settings: Settings) -> list[File]:
    rules = "".join(indent(alert.text(), " " * 6) for alert in alerts(settings))
    return [File("jobs-alerts.yaml", f"groups:\n  - name: jobs_app\n    rules:\n{rules}")]


def alerts(settings: Settings) -> Iterator[Alert]:
    """What comes from the database is told by several processes, so the highest of them is taken."""
    yield from _of_processes(settings)
    yield from _of_queues()
    yield from _of_runs()
    yield from _of_the_database()


def _of_processes(settings: Settings) -> Iterator[Alert]:
    yield Alert(
        name="JobsNoWorkers",
        expr="""\
max(jobs_workers{status="alive"}) == 0
and max(jobs_queue_oldest_ready_age_seconds) > 60""",
        wait="5m",
        severity=CRITICAL,
        summary="No worker is alive, and jobs wait",
        description="Start workers, or see why they ended: their log says it. Nothing is lost meanwhile.",
        run="status",
    )
    yield Alert(
        name="JobsNoScheduler",
        expr="""\
max(jobs_schedulers{status="alive"}) == 0
and max(jobs_schedules{status="active"}) > 0""",
        wait="5m",
        severity=CRITICAL,
        summary="No scheduler is alive, and schedules make no jobs",
        description="Start a scheduler. Slots that passed are made up for as each schedule's catch-up says.",
        run="status",
    )
    # A scheduler that has nothing to do ticks once in a poll.
    patience = max(TICK_PATIENCE_SECONDS, 2 * settings.scheduler_poll_seconds)
    yield Alert(
        name="JobsSchedulerStalled",
        expr=f"time() - max(jobs_scheduler_last_tick_timestamp_seconds > 0) > {patience:.0f}",
        wait="2m",
        severity=CRITICAL,
        summary="Schedulers run, but none has ticked for {{ $value | humanizeDuration }}",
        description="See the log of the schedulers: the database may be away, or a tick may hang. Restart them.",
        run="status",
    )
    yield Alert(
        name="JobsWorkersBusy",
        expr="""\
sum(jobs_worker_slots_busy) / sum(jobs_worker_slots) > 0.9
and max(jobs_queue_oldest_ready_age_seconds) > 60""",
        wait="1h",
        severity=WARNING,
        summary="{{ $value | humanizePercentage }} of all slots are busy, and jobs wait",
        description="Start more workers, or give them more slots. The command tells how many the load needs.",
        run="capacity",
    )


def _of_queues() -> Iterator[Alert]:
    yield Alert(
        name="JobsQueueSlow",
        expr="""\
max by (queue) (jobs_queue_oldest_ready_age_seconds) > 300
unless on (queue) max by (queue) (jobs_queue_paused) == 1
unless on () max(jobs_pauses{scope="all"}) > 0""",
        wait="10m",
        severity=CRITICAL,
        summary="The oldest job of queue {{ $labels.queue }} has waited {{ $value | humanizeDuration }}",
        description="See whether a worker serves this queue, and whether a pause, a limit or a long job holds it up.",
        run="status",
    )
    yield Alert(
        name="JobsBacklogGrowing",
        expr="""\
predict_linear(max by (job_type) (jobs_queued)[1h:1m], 4 * 3600) > 10000
and deriv(max by (job_type) (jobs_queued)[30m:1m]) > 0""",
        wait="30m",
        severity=WARNING,
        summary="In four hours {{ $value | humanize }} jobs of type {{ $labels.job_type }} will wait",
        description="More is enqueued than is worked off. Start more workers, or find out who enqueues so much.",
        run="capacity",
    )
    yield Alert(
        name="JobsPauseForgotten",
        expr="max by (scope) (jobs_pauses) > 0",
        wait="24h",
        severity=INFO,
        summary="Something has been paused for a day (scope {{ $labels.scope }})",
        description="See who paused it and why, and resume it if the reason is gone.",
        run="status",
    )
    yield Alert(
        name="JobsScheduleLate",
        expr="max by (job_type) (jobs_schedule_oldest_due_age_seconds) > 600",
        wait="5m",
        severity=WARNING,
        summary="A schedule of {{ $labels.job_type }} has been due for {{ $value | humanizeDuration }}",
        description="Schedulers are too few, or enqueuing this type fails. See the reason beside the schedule.",
        run="schedules --job-type {{ $labels.job_type }}",
    )


def _of_runs() -> Iterator[Alert]:
    yield Alert(
        name="JobsFailing",
        expr="""\
sum by (job_type) (rate(jobs_completed_total{outcome="failed"}[15m]))
/ sum by (job_type) (rate(jobs_completed_total{outcome=~"succeeded|failed"}[15m])) > 0.05
and sum by (job_type) (increase(jobs_completed_total{outcome=~"succeeded|failed"}[15m])) > 20""",
        wait="15m",
        severity=WARNING,
        summary="{{ $value | humanizePercentage }} of the runs of {{ $labels.job_type }} fail",
        description="Read the errors, mend what is wrong, then retry the failed runs.",
        run="list --state failed --job-type {{ $labels.job_type }}",
    )
    yield Alert(
        name="JobsOnlyFailing",
        expr="""\
sum by (job_type) (increase(jobs_completed_total{outcome="failed"}[1d])) > 0
unless sum by (job_type) (increase(jobs_completed_total{outcome="succeeded"}[1d])) > 0""",
        wait="5m",
        severity=WARNING,
        summary="{{ $labels.job_type }} failed, and has not succeeded for a day",
        description="It runs seldom, so each run counts. Read its error, mend what is wrong, then retry it.",
        run="list --state failed --job-type {{ $labels.job_type }}",
    )
    yield Alert(
        name="JobsEnqueueErrors",
        expr='sum by (job_type) (increase(jobs_enqueue_attempts_total{outcome="error"}[15m])) > 0',
        wait="5m",
        severity=WARNING,
        summary="Jobs of type {{ $labels.job_type }} cannot be enqueued",
        description="See the log of the schedulers and of the web: the payload may be invalid, or the database away.",
        run="schedules --job-type {{ $labels.job_type }}",
    )
    yield Alert(
        name="JobsLeasesLost",
        expr="sum by (job_type) (increase(jobs_leases_lost_total[15m])) > 3",
        wait="5m",
        severity=WARNING,
        summary="Workers lose their leases on {{ $labels.job_type }}, and it runs again elsewhere",
        description="Workers are killed, frozen or starved of CPU or memory: see their host, and give them more.",
        run="status",
    )
    yield Alert(
        name="JobsStaleRuns",
        expr="max(jobs_stale_runs) > 0",
        wait="15m",
        severity=WARNING,
        summary="{{ $value }} runs stand still",
        description="The command says why each does and what would become of it. Without --dry-run it moves them on.",
        run="reconcile --dry-run",
    )


def _of_the_database() -> Iterator[Alert]:
    yield Alert(
        name="JobsStatsMissing",
        expr="""\
absent(jobs_stats_last_success_timestamp_seconds)
or time() - max(jobs_stats_last_success_timestamp_seconds) > 180""",
        wait="5m",
        severity=CRITICAL,
        summary="Nobody tells how the queues are, so no other alert can be trusted",
        description="See that a scheduler or the web is scraped, and that it reaches the database.",
        run="status",
    )
    yield Alert(
        name="JobsBloat",
        expr="max by (table) (jobs_table_dead_rows) / (max by (table) (jobs_table_live_rows) + 1000) > 2",
        wait="1h",
        severity=WARNING,
        summary="Dead rows pile up in {{ $labels.table }}",
        description="Autovacuum does not keep up, or an old transaction holds it back. End that, or VACUUM the table.",
        run="doctor",
    )
    yield Alert(
        name="JobsOldTransaction",
        expr="max(jobs_oldest_transaction_age_seconds) > 3600",
        wait="10m",
        severity=WARNING,
        summary="A transaction has been open for {{ $value | humanizeDuration }}",
        description="While it is open no dead row can be removed. Find it in pg_stat_activity, and end it.",
        run="doctor",
    )
