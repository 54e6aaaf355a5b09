"""Run again what has ended, as a new run, and start now what waits for later: by ids, or all that options choose."""

from __future__ import annotations

from jobs_app.lifecycle import control
from jobs_app.management.run_acts import RunVerb

VERB = RunVerb(name="retry", doing="Retrying", done="retried", on_ids=control.retry)
add_arguments, handle = VERB.add_arguments, VERB.handle
