"""`manage.py` in a process of its own, with one schedule declared."""

from __future__ import annotations

import sys

import django
from django.core.management import call_command

django.setup()

from jobs_app import job  # noqa: E402


@job(name="child-beat", every=0.05)
def beat() -> None: ...


call_command(*sys.argv[1:])
