"""`manage.py runworker`: run jobs until told to stop."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs_app import logs
from jobs_app.conf import ON_SHUTDOWN, get_settings, settings_or_defaults
from jobs_app.logs import event
from jobs_app.management.arguments import LOG_LEVELS, add_log_format, names, period, positive, seconds
from jobs_app.management.database import require_tables
from jobs_app.management.exposure import add_exposure_arguments, read_exposure
from jobs_app.metrics import gauges
from jobs_app.runtime.stopping import StopSignals
from jobs_app.scheduler.loop import Scheduler
from jobs_app.serving import Serving
from jobs_app.tasks_backend.discovery import load_urls
from jobs_app.worker.loop import WorkerOptions
from jobs_app.worker.once import OnceReport
from jobs_app.worker.overview import Overview
from jobs_app.worker.process import exit_soon, run_worker
from jobs_app.worker.supervisor import Supervisor

logger = logging.getLogger("jobs_app.worker")

MEGABYTE = 1024 * 1024


class Command(BaseCommand):
    help = "Run jobs until told to stop. The first TERM or INT lets running jobs finish; a later one releases them."

    def add_arguments(self, parser: CommandParser) -> None:
        settings = settings_or_defaults()
        add = parser.add_argument
        add("--queues", type=names, default=(), help="queues or patterns to serve, as mail,sync.*; all if left out")
        add("--exclude", type=names, default=(), help="queues or patterns not to serve")
        add("--concurrency", type=positive, default=settings.worker_concurrency, help="jobs at once in a process")
        add("--processes", type=positive, help="processes, each with its own slots")
        add("--poll", type=period, help="seconds between looks when idle; as the settings say if left out")
        add("--lease", type=period, help="seconds until a silent worker loses a job; likewise")
        add("--grace", type=seconds, help="seconds running jobs get when stopping; likewise")
        add("--on-shutdown", choices=ON_SHUTDOWN, help="what becomes of them after that, whatever their preset says")
        add("--no-listen", action="store_true", help="poll only; for a pooler in transaction mode")
        add("--max-jobs", type=positive, help="stop (a supervisor starts anew) after so many jobs")
        add("--max-rss", type=positive, metavar="MB", help="stop after the job that takes the process above this")
        add("--once", action="store_true", help="work off everything due, print the sum, and exit")
        add("--with-scheduler", action="store_true", help="tick schedules in this process too")
        add_exposure_arguments(parser)
        add("--reload", action="store_true", help="restart when code changes; for development")
        add("--name", default="", help="a name to show beside the worker's id")
        add_log_format(parser)

    def handle(self, **options: Any) -> None:
        signals = StopSignals()
        signals.install()  # before anything else: a stop during start-up counts too
        try:
            code = self._work(options, signals)
        finally:
            if not self._called_from_command_line:  # type: ignore[attr-defined]
                signals.uninstall()
        if self._called_from_command_line:  # type: ignore[attr-defined]
            exit_soon(code)
        if code:
            sys.exit(code)

    def _work(self, options: dict[str, Any], signals: StopSignals) -> int:
        if options["once"] and ((options["processes"] or 1) > 1 or options["reload"]):
            raise CommandError("--once works in one process; leave --processes and --reload out")
        if options["once"] and options["with_scheduler"]:
            raise CommandError("--once works off what is due now; to make that of schedules first, runscheduler --once")
        if options["once"] and options["metrics_port"]:
            raise CommandError("--once ends before anybody could read its metrics; leave --metrics-port out")
        log = logs.Style(LOG_LEVELS[options["verbosity"]], options["log_format"])
        logs.configure(*log)
        if django_settings.DEBUG and not options["once"]:
            text = "settings.DEBUG is on: Django keeps thousands of queries of each connection (jobs_app.W017)"
            logger.warning(text, extra=event("debug_on"))
        require_tables()
        load_urls()
        return self._run(options, worker_options(options), signals, log)

    def _run(self, options: dict[str, Any], worker: WorkerOptions, signals: StopSignals, log: logs.Style) -> int:
        beside = [Scheduler] if options["with_scheduler"] else []
        processes = options["processes"] or (1 if worker.once else get_settings().worker_processes)
        exposure = read_exposure(options, signals)
        if processes > 1 or options["reload"]:
            overview = Overview(exposure, with_scheduler=bool(beside)) if exposure else None
            return Supervisor(worker, processes, signals, log, options["reload"], beside, overview).run()
        if exposure and not beside:
            gauges.leave_out()
        report = OnceReport(self.stdout.write, Serving(worker.queues, worker.excluded)) if worker.once else None
        if report:
            report.begin()
        code = run_worker(worker, signals, beside=[make() for make in beside], shown=exposure.shown)
        if report:
            report.end()
        return code


def worker_options(options: dict[str, Any]) -> WorkerOptions:
    settings = get_settings()
    return WorkerOptions(
        queues=options["queues"],
        excluded=options["exclude"],
        concurrency=options["concurrency"],
        poll=options["poll"],
        lease=options["lease"],
        grace=options["grace"],
        on_shutdown=options["on_shutdown"],
        listen=settings.worker_listen and not options["no_listen"],
        max_jobs=options["max_jobs"],
        max_rss=options["max_rss"] and options["max_rss"] * MEGABYTE,
        name=options["name"],
        once=options["once"],
        counts=options["metrics_port"] is not None,
    )
