"""Every act of an operator, as Python calls it. Whatever face an operator has calls these and nothing else.

Each takes who acts (a user, whose permission it checks before anything changes, or the name under which code acts) and
why, writes a control event in the transaction that does it, and gives back what moved, what was skipped, and why.
"""

from jobs_app.lifecycle.control.acting import Acted
from jobs_app.lifecycle.control.again import retry
from jobs_app.lifecycle.control.backfill import Backfilled, backfill
from jobs_app.lifecycle.control.bulk import Bulked, bulk, bulk_part
from jobs_app.lifecycle.control.drain import drain
from jobs_app.lifecycle.control.lost import fail, requeue
from jobs_app.lifecycle.control.pausing import pause, resume
from jobs_app.lifecycle.control.planning import add_schedule, change_schedule
from jobs_app.lifecycle.control.pruning import prune_history
from jobs_app.lifecycle.control.queues import limit_queue, unlimit_queue
from jobs_app.lifecycle.control.reconciling import Reconciled, reconcile
from jobs_app.lifecycle.control.schedule_rows import schedules_of
from jobs_app.lifecycle.control.schedules import (
    delete_schedule,
    pause_schedule,
    restore_schedule,
    resume_schedule,
    trigger_schedule,
)
from jobs_app.lifecycle.control.settings import change_setting, reset_setting
from jobs_app.lifecycle.control.stop import abort, cancel
from jobs_app.lifecycle.control.tokens import Created, create_token, revoke_token
from jobs_app.lifecycle.control.windows import add_window, change_window, remove_window

__all__ = [
    "Acted",
    "Backfilled",
    "Bulked",
    "Created",
    "Reconciled",
    "abort",
    "add_schedule",
    "add_window",
    "backfill",
    "bulk",
    "bulk_part",
    "cancel",
    "change_schedule",
    "change_setting",
    "change_window",
    "create_token",
    "delete_schedule",
    "drain",
    "fail",
    "limit_queue",
    "pause",
    "pause_schedule",
    "prune_history",
    "reconcile",
    "remove_window",
    "requeue",
    "reset_setting",
    "restore_schedule",
    "resume",
    "resume_schedule",
    "retry",
    "revoke_token",
    "schedules_of",
    "trigger_schedule",
    "unlimit_queue",
]
