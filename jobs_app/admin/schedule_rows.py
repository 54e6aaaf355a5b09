"""A schedule as pages meet it: found or gone, and which acts make sense for it and for who looks."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from jobs_app.admin.visits import Visit
from jobs_app.insights import one_schedule
from jobs_app.lifecycle.control.schedules import WHY_NOT_DELETED
from jobs_app.models import ScheduleState
from jobs_app.registry import registry


def schedule_or_404(visit: Visit, pk: int) -> ScheduleState:
    row = one_schedule.get(visit.connection, pk)
    if row is None:
        raise Http404(_("There is no such schedule: it was deleted, or its subject is gone."))
    return row


def may_plan(visit: Visit, job_type: str) -> bool:
    """Whether the job type's own permission lets this person trigger and change it. One that is gone has none."""
    known = registry.find(job_type)
    return known is None or known.permission is None or bool(visit.user.has_perm(known.permission))


def require_may_plan(visit: Visit, job_type: str) -> None:
    if not may_plan(visit, job_type):
        raise PermissionDenied


def permitted(visit: Visit, row: ScheduleState) -> dict[str, bool]:
    """Which acts make sense for this row and this person; that they may at all, each button knows."""
    is_known, is_ours = row.job_type in registry, may_plan(visit, row.job_type)
    return {
        "is_known": is_known,
        "can_plan": is_known and is_ours,
        "can_pause": not row.paused and not row.retired,
        "can_resume": row.paused or row.disabled,
        "can_trigger": is_known and is_ours and not row.retired and row.next_run_at is not None,
        "can_restore": is_ours and bool(row.overrides),
        "can_delete": is_ours and (row.retired or row.origin not in WHY_NOT_DELETED),
        "can_backfill": is_known and is_ours,
    }
