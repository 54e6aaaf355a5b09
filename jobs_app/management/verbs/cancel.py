"""End what waits, and ask what runs to stop: by ids, or all that the options choose."""

from __future__ import annotations

from jobs_app.lifecycle import control
from jobs_app.management.run_acts import RunVerb

VERB = RunVerb(name="cancel", doing="Cancelling", done="cancelled", on_ids=control.cancel)
add_arguments, handle = VERB.add_arguments, VERB.handle
