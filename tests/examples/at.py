"""`python -m tests.examples.at MOMENT COMMAND ...`: manage.py while the clock that decides what is due stands there."""

from __future__ import annotations

import sys
from datetime import datetime

import django
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    django.setup()
    from jobs_app.lifecycle.database import frozen_clock

    with frozen_clock(datetime.fromisoformat(sys.argv[1])):
        execute_from_command_line(["manage.py", *sys.argv[2:]])
