"""`manage.py` in a process of its own, which knows the job type of the schedules that a test made."""

from __future__ import annotations

import sys

import django
from django.core.management import call_command

django.setup()

from jobs_app import job  # noqa: E402


@job(name="beat")
def beat() -> None: ...


call_command(*sys.argv[1:])
