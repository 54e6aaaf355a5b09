"""Who acts from a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError

from jobs_app import job
from jobs_app.management import acts
from jobs_app.models import ApiToken, ControlEvent, Job, ScheduleState
from tests.lifecycle.rows import T
from tests.management.calling import jobs
from tests.management.ending import ended, user_who_may

MORNING = ("--from", "2026-01-01T09:00:00Z", "--to", "2026-01-01T12:00:00Z")
# Every verb that acted before there were others, with the permission that it asks a user for.
ACTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "trigger": ("trigger_job", ("trigger", "work")),
    "reconcile": ("reconcile_runs", ("reconcile",)),
    "backfill": ("backfill_schedule", ("backfill", "--job-type", "work", *MORNING)),
    "token": ("manage_token", ("token", "create", "bot", "--scopes", "read")),
}


@pytest.fixture
def work() -> None:
    job(name="work")(lambda: None)
    ScheduleState.objects.create(job_type="work", interval_seconds=3600, next_run_at=T)


def test_the_user_of_this_machine_acts_and_is_marked_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    assert acts.default_actor() == "cli:grace"
    assert acts.who_acts(None) == "cli:grace"


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 1000"), OSError(), ImportError("pwd")])
def test_a_user_without_a_name_can_act_too(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise error

    monkeypatch.setattr(acts.getpass, "getuser", nameless)
    assert acts.default_actor() == "cli"


@pytest.mark.parametrize("name", ["cli", "cli:deploy"])
def test_a_name_of_a_shell_is_nobody_of_the_site(name: str) -> None:
    assert acts.who_acts(name) == name


@pytest.mark.django_db
def test_any_other_name_is_a_user_of_the_site() -> None:
    user = User.objects.create_user("ann")
    assert acts.who_acts("ann") == user
    with pytest.raises(CommandError, match=r"--actor bob: this site has no such user.*cli:bob"):
        acts.who_acts("bob")


def test_without_users_a_name_of_the_site_is_refused(settings: Any) -> None:
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name == "jobs_app"]
    with pytest.raises(CommandError, match=r"django.contrib.auth, which is not in INSTALLED_APPS.*cli:ann"):
        acts.who_acts("ann")
    assert acts.who_acts("cli:ann") == "cli:ann"


@pytest.mark.django_db
@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("verb", ACTS)
def test_a_user_needs_the_permission_and_acts_under_their_name(verb: str) -> None:
    permission, arguments = ACTS[verb]
    user = user_who_may()
    refused = ended(*arguments, "--actor", "ann")
    assert (refused.code, refused.data) == (1, "")
    assert f"ann has no permission jobs_app.{permission}" in refused.words
    assert not any(table.objects.exists() for table in (Job, ApiToken, ControlEvent))
    user.delete()
    user_who_may(permission)
    assert ended(*arguments, "--actor", "ann").code == 0
    assert not ControlEvent.objects.exclude(actor="ann").exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("work")
def test_who_is_not_active_may_nothing() -> None:
    User.objects.create_superuser("ann", is_active=False)
    with pytest.raises(CommandError, match=r"ann has no permission jobs_app\.trigger_job"):
        jobs("trigger", "work", "--actor", "ann")


@pytest.mark.django_db
@pytest.mark.usefixtures("work")
def test_a_user_who_is_unknown_changes_nothing() -> None:
    assert ended("trigger", "work", "--actor", "nobody").code == 1
    assert not Job.objects.exists()
