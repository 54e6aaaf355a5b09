"""Make the ready-made groups "jobs viewer", "jobs operator" and "jobs admin", or give them what they lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from jobs_app.management.output import Output

VIEWER = ("view_dashboard", "view_controlevent")
OPERATOR = (
    *VIEWER,
    "view_payload",
    "view_log",
    "trigger_job",
    "retry_run",
    "cancel_run",
    "pause_queue",
    "pause_job_type",
    "pause_subject",
    "pause_schedule",
    "reconcile_runs",
    "drain_worker",
)
GROUPS: Mapping[str, tuple[str, ...] | None] = {
    "jobs viewer": VIEWER,
    "jobs operator": OPERATOR,
    "jobs admin": None,  # everything of the app
}
COLUMNS = ("GROUP", "STATE", "ADDED")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="tell what would change, and change nothing")


def handle(options: dict[str, Any], out: Output) -> None:
    if not apps.is_installed("django.contrib.auth"):
        raise CommandError("groups are of django.contrib.auth, which is not in INSTALLED_APPS.")
    with transaction.atomic():
        found = [_make(name, wanted, is_dry=options["dry_run"]) for name, wanted in GROUPS.items()]
    if out.as_json:
        out.json({"dry_run": options["dry_run"], "groups": found})
        return
    out.table(COLUMNS, [(each["name"], each["state"], len(each["added"])) for each in found])
    for each in found:
        if each["added"]:
            out.line(f"{each['name']}: {', '.join(each['added'])}")
    if options["dry_run"]:
        out.note("Nothing was changed: leave --dry-run out to do it.")


def _make(name: str, wanted: tuple[str, ...] | None, *, is_dry: bool) -> dict[str, Any]:
    """Only ever adds: what a host gave a group besides stays with it."""
    from django.contrib.auth.models import Group

    group = Group.objects.filter(name=name).first()
    had = set() if group is None else set(group.permissions.values_list("pk", flat=True))
    missing = [permission for permission in _permissions(wanted) if permission.pk not in had]
    state = "new" if group is None else "changed" if missing else "as it was"
    if not is_dry:
        group = group or Group.objects.create(name=name)
        group.permissions.add(*missing)
    return {"name": name, "state": state, "added": sorted(permission.codename for permission in missing)}


def _permissions(wanted: tuple[str, ...] | None) -> list[Any]:
    from django.contrib.auth.models import Permission

    found = list(Permission.objects.filter(content_type__app_label="jobs_app"))
    if wanted is None:
        return found
    lacking = set(wanted) - {permission.codename for permission in found}
    if lacking:
        raise CommandError(f"these permissions are missing: {', '.join(sorted(lacking))}. Run manage.py migrate.")
    return [permission for permission in found if permission.codename in wanted]
