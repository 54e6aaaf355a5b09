"""`manage.py` in a process of its own, with one schedule declared, and the app's own where a test asks for them."""

from __future__ import annotations

import os
import sys

import django
from django.core.management import call_command

django.setup()

from jobs_app import job  # noqa: E402
from jobs_app.registry import SYSTEM_QUEUE, registry  # noqa: E402

if "CHORES" not in os.environ:
    for job_type in list(registry):
        if job_type.queue == SYSTEM_QUEUE:
            registry.unregister(job_type.name)


@job(name="child-beat", every=0.05)
def beat() -> None: ...


call_command(*sys.argv[1:])
