"""Where `migrate` was forgotten, every page says so in the frame of the admin; other errors stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.urls import reverse

from jobs_app.admin import unmigrated
from jobs_app.admin.menu import PAGES
from jobs_app.management.database import require_tables
from jobs_app.models import Pause
from tests.admin.conftest import Visitor
from tests.admin.samples import SAMPLES
from tests.admin.world import make_world, register_shop

# They read nothing, or lead on; or they are files, whose first bytes are sent before anything is read.
READS_NO_TABLE = {"schedulestate_add", "maintenancewindow_add", "apitoken_add", "run_change"}
FILES = {"run_export", "controlevent_export"}
DASHBOARD = "admin:jobs_app_dashboard_changelist"


@pytest.fixture
def tables_again(transactional_db: None) -> Iterator[None]:
    """Whatever happens, the next test finds the tables."""
    yield
    call_command("migrate", verbosity=0)


@pytest.fixture
def addresses(tables_again: None) -> dict[str, str]:
    """Of every page, as they were before the tables went."""
    register_shop()
    world = make_world()
    return {name: SAMPLES[name].url(name, world) for name in PAGES if name in SAMPLES}


@pytest.fixture
def unmigrated_at(addresses: dict[str, str]) -> dict[str, str]:
    call_command("migrate", "jobs_app", "zero", verbosity=0)
    return addresses


def said_by_commands() -> list[str]:
    with pytest.raises(CommandError) as refused:
        require_tables()
    return str(refused.value).splitlines()


def test_every_page_says_what_commands_say(
    visitor: Visitor, unmigrated_at: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    client = visitor(everything=True)
    answers = {name: client.get(address) for name, address in unmigrated_at.items() if name not in FILES}
    assert {name for name, answer in answers.items() if answer.status_code != 503} == READS_NO_TABLE
    sentence, advice = said_by_commands()
    shown = answers["dashboard_changelist"]
    assert "lacks migrations of jobs_app: 0001_initial" in sentence
    assert (shown.templates[0].name, sentence in shown.text, advice in shown.text) == (
        "admin/jobs_app/unmigrated.html",
        True,
        True,
    )
    (line, *_) = [record for record in caplog.records if getattr(record, "event", "") == "tables_missing"]
    assert "jobs_app_" in line.error  # the table itself


def test_an_act_says_so_too(visitor: Visitor, unmigrated_at: dict[str, str]) -> None:
    answer = visitor(everything=True).post(unmigrated_at["dashboard_pause_all"], {"reason": "a test"})
    assert answer.status_code == 503


def test_a_request_in_a_transaction_of_its_own_is_answered_and_rolled_back(
    visitor: Visitor, unmigrated_at: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = visitor(everything=True)
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    assert client.get(unmigrated_at["dashboard_changelist"]).status_code == 503
    assert client.get(unmigrated_at["run_changelist"]).status_code == 503


def failing(text: str) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise OperationalError(text)

    return fail


@pytest.mark.django_db
def test_a_database_that_fails_with_all_its_tables_is_an_error_as_before(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pause.objects, "using", failing("disk I/O error"))
    with pytest.raises(OperationalError, match="disk"):
        visitor(everything=True).get(reverse(DASHBOARD))


@pytest.mark.django_db
def test_who_cannot_tell_whether_tables_are_missing_lets_the_error_be(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pause.objects, "using", failing("the server is away"))
    monkeypatch.setattr(unmigrated, "unmigrated", failing("the server is away"))
    with pytest.raises(OperationalError, match="away"):
        visitor(everything=True).get(reverse(DASHBOARD))


@pytest.mark.django_db
def test_a_page_that_goes_well_looks_for_nothing(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unmigrated, "unmigrated", lambda connection: pytest.fail("looked"))
    assert visitor(everything=True).get(reverse(DASHBOARD)).status_code == 200
