"""`manage.py runscheduler`: make jobs of schedules as they come due, until told to stop."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs_app import logs
from jobs_app.conf import get_settings
from jobs_app.management.arguments import LOG_LEVELS, period
from jobs_app.scheduler.process import run_scheduler, tick_once


class Command(BaseCommand):
    help = "Make jobs of schedules as they come due, until told to stop. However many run, each slot gets one job."

    def add_arguments(self, parser: CommandParser) -> None:
        poll = get_settings().scheduler_poll_seconds
        parser.add_argument("--once", action="store_true", help="tick once and exit, with 4 if a schedule failed")
        parser.add_argument("--poll", type=period, default=poll, help="seconds between looks for new schedules")

    def handle(self, **options: Any) -> None:
        logs.configure(LOG_LEVELS[options["verbosity"]])
        code = tick_once() if options["once"] else run_scheduler(poll=options["poll"])
        if code:
            sys.exit(code)
