"""End what waits, and stop what runs by force where its job type lets it: by ids, or all that is chosen."""

from __future__ import annotations

from jobs_app.lifecycle import control
from jobs_app.management.run_acts import RunVerb

VERB = RunVerb(name="abort", doing="Aborting", done="aborted", on_ids=control.abort)
add_arguments, handle = VERB.add_arguments, VERB.handle
