"""`manage.py runscheduler`: make jobs of schedules as they come due, until told to stop."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import logs
from jobs_app.lifecycle.peek import is_due
from jobs_app.lifecycle.presence import is_any_alive
from jobs_app.management.arguments import LOG_LEVELS, add_log_format, period
from jobs_app.management.database import require_tables
from jobs_app.management.exposure import add_exposure_arguments, read_exposure
from jobs_app.models import WorkerKind
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.runtime.identity import Identity
from jobs_app.runtime.stopping import StopSignals
from jobs_app.scheduler.process import run_scheduler, tick_once
from jobs_app.tasks_backend.discovery import load_urls
from jobs_app.worker.reserved_slot import ReservedSlot

CHORES_EVERY_SECONDS = 5.0
LEFT_SECONDS = 10.0  # a worker with a free slot for chores takes one within a second or two


class Command(BaseCommand):
    help = "Make jobs of schedules as they come due, until told to stop. However many run, each slot gets one job."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="tick once and exit, with 4 if a schedule or a source failed"
        )
        told = "seconds between looks into code and sources; as the settings say if left out"
        parser.add_argument("--poll", type=period, help=told)
        add_exposure_arguments(parser)
        add_log_format(parser)

    def handle(self, **options: Any) -> None:
        logs.configure(LOG_LEVELS[options["verbosity"]], options["log_format"])
        if options["once"] and options["metrics_port"]:
            raise CommandError("--once ends before anybody could read its metrics; leave --metrics-port out")
        require_tables()
        load_urls()
        code = self._once() if options["once"] else self._run(options)
        if code:
            sys.exit(code)

    def _once(self) -> int:
        code = tick_once()
        chores_without_worker().work_off()
        return code

    def _run(self, options: dict[str, Any]) -> int:
        signals = StopSignals()
        signals.install()  # before anything else: a stop during start-up counts too
        shown = read_exposure(options, signals).shown
        return run_scheduler(signals, poll=options["poll"], beside=[chores_without_worker()], shown=shown)


def chores_without_worker() -> ReservedSlot:
    """The app's own chores are for workers. While none is alive, or none takes them, they are done here."""
    return ReservedSlot(
        Identity.new("chores"),
        may_take=_are_left,
        look_every=CHORES_EVERY_SECONDS,
    )


def _are_left(connection: BaseDatabaseWrapper) -> bool:
    """A worker may have its slot full of a long one, or only work off what is due and have none."""
    return not is_any_alive(connection, WorkerKind.WORKER) or is_due(connection, SYSTEM_QUEUE, for_seconds=LEFT_SECONDS)
