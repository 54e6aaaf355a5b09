"""`manage.py runscheduler`: make jobs of schedules as they come due, until told to stop."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs_app import logs
from jobs_app.conf import get_settings
from jobs_app.management.arguments import LOG_LEVELS, period, positive
from jobs_app.scheduler.metrics import serving
from jobs_app.scheduler.process import run_scheduler, tick_once


class Command(BaseCommand):
    help = "Make jobs of schedules as they come due, until told to stop. However many run, each slot gets one job."

    def add_arguments(self, parser: CommandParser) -> None:
        poll = get_settings().scheduler_poll_seconds
        parser.add_argument("--once", action="store_true", help="tick once and exit, with 4 if a schedule failed")
        parser.add_argument("--poll", type=period, default=poll, help="seconds between looks into code and sources")
        parser.add_argument("--metrics-port", type=positive, metavar="PORT", help="serve the scheduler's metrics there")

    def handle(self, **options: Any) -> None:
        logs.configure(LOG_LEVELS[options["verbosity"]])
        if options["once"] and options["metrics_port"]:
            raise CommandError("--once ends before anybody could read its metrics; leave --metrics-port out")
        code = tick_once() if options["once"] else self._run(options)
        if code:
            sys.exit(code)

    def _run(self, options: dict[str, Any]) -> int:
        with serving(options["metrics_port"]):
            return run_scheduler(poll=options["poll"])
