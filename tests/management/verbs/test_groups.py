"""`jobs groups`."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import CommandError

from tests.management.calling import jobs, jobs_json

pytestmark = pytest.mark.django_db

VIEWER = {"view_dashboard", "view_controlevent"}
FORCE = {"abort_run", "fail_run", "pause_all", "change_setting", "manage_token", "prune_history", "scale_queue"}


def permissions(name: str) -> set[str]:
    return set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))


def test_three_groups_with_what_each_needs() -> None:
    data, _ = jobs("groups")
    assert permissions("jobs viewer") == VIEWER
    operator, everything = permissions("jobs operator"), permissions("jobs admin")
    assert VIEWER < operator < everything
    assert {"retry_run", "cancel_run", "reconcile_runs", "drain_worker", "view_payload"} <= operator
    assert not operator & FORCE
    of_app = Permission.objects.filter(content_type__app_label="jobs_app")
    assert everything == set(of_app.values_list("codename", flat=True)) >= FORCE
    assert "jobs viewer: view_controlevent, view_dashboard" in data


def test_again_it_changes_nothing_and_what_the_host_gave_stays() -> None:
    jobs("groups")
    viewer = Group.objects.get(name="jobs viewer")
    viewer.permissions.add(Permission.objects.get(codename="view_user"))
    viewer.permissions.remove(Permission.objects.get(codename="view_dashboard"))
    told = {each["name"]: each for each in jobs_json("groups")["groups"]}
    assert told["jobs viewer"] == {"name": "jobs viewer", "state": "changed", "added": ["view_dashboard"]}
    assert told["jobs admin"] == {"name": "jobs admin", "state": "as it was", "added": []}
    assert permissions("jobs viewer") == VIEWER | {"view_user"}
    assert Group.objects.count() == 3


def test_a_dry_run_tells_and_changes_nothing() -> None:
    data, words = jobs("groups", "--dry-run")
    assert not Group.objects.exists()
    assert "jobs operator" in data
    assert "Nothing was changed" in words


def test_permissions_that_are_not_there_yet_are_named() -> None:
    Permission.objects.filter(codename="view_log").delete()
    with pytest.raises(CommandError, match=r"these permissions are missing: view_log\. Run manage.py migrate"):
        jobs("groups")
    assert not Group.objects.exists()
