"""Move on the runs that stand still, and tell why each does and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from jobs_app import durations
from jobs_app.conf import RECONCILABLE, get_settings, settings_or_defaults
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.lifecycle.stale import Stale
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.exit_codes import PARTLY_DONE
from jobs_app.management.output import Output

KEPT = "kept"
MOVED = {"requeue": "queued again", "fail": "failed", "cancel": "cancelled"}


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only tell")
    usual = ", ".join(settings_or_defaults().reconcile_applies) or "none"
    add("--kind", action="append", choices=RECONCILABLE, help=f"move on these; {usual} if left out")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    kinds = options["kind"] or get_settings().reconcile_applies
    done = control.reconcile(options["actor"], options["reason"], apply=kinds, dry_run=options["dry_run"])
    now, moved = database_now(jobs_connection()), set(done.moved)
    if out.as_json:
        stale = [_data(one, moved) | {"why": _why(one, done.skipped)} for one in done.found]
        out.json({"moved": done.moved, "dry_run": options["dry_run"], "stale": stale})
    else:
        _tell(done, now, out)
    left = [one for one in done.found if one.kind in kinds and one.job.pk not in moved]
    if left and not options["dry_run"]:
        raise CommandError(_left_text(left, done.skipped), returncode=PARTLY_DONE)


def _tell(done: control.Reconciled, now: datetime, out: Output) -> None:
    moved = set(done.moved)
    rows = [
        (
            one.job.pk,
            one.job.job_type,
            one.kind,
            durations.rough((now - one.since).total_seconds()),
            one.verdict,
            MOVED[one.verdict] if one.job.pk in moved else KEPT,
            _why(one, done.skipped),
        )
        for one in done.found
    ]
    if rows:
        out.table(("RUN", "JOB TYPE", "KIND", "SINCE", "VERDICT", "NOW", "WHY"), rows)
    out.note(f"{len(done.found)} stale, {len(done.moved)} moved on.")


def _left_text(left: Sequence[Stale], skipped: Mapping[UUID, str]) -> str:
    reasons = Counter(skipped.get(one.job.pk, one.reason) for one in left)
    return f"{len(left)} skipped: {'; '.join(f'{count} {why}' for why, count in reasons.most_common())}."


def _data(stale: Stale, moved: Set[UUID]) -> dict[str, Any]:
    return {
        "id": stale.job.pk,
        "job_type": stale.job.job_type,
        "queue": stale.job.queue,
        "kind": stale.kind,
        "verdict": stale.verdict,
        "since": stale.since,
        "moved": stale.job.pk in moved,
    }


def _why(stale: Stale, skipped_runs: Mapping[UUID, str]) -> str:
    """Why it stands still; and where it should have moved and did not, why not."""
    skipped = skipped_runs.get(stale.job.pk, stale.reason)
    return stale.reason if skipped == stale.reason else f"{stale.reason}; {skipped}"
