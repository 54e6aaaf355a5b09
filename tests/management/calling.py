"""`manage.py jobs ...` as a test calls it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

from django.core.management import call_command


def jobs(*arguments: object) -> tuple[str, str]:
    """What it printed: data, and words about it."""
    data, words = StringIO(), StringIO()
    call_command("jobs", *map(str, arguments), stdout=data, stderr=words)
    return data.getvalue(), words.getvalue()


def jobs_json(*arguments: object) -> Any:
    return json.loads(jobs(*arguments, "--format", "json")[0])
