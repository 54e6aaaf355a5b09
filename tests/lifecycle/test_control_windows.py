"""Maintenance windows by hand: added, changed, at rest, removed, and told."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import OptionInvalid, UnknownJobType
from jobs_app.lifecycle import control
from jobs_app.lifecycle.maintenance import read_windows
from jobs_app.models import ControlEvent, MaintenanceWindow
from jobs_app.windows import Window

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def report() -> None:
    @job(name="report")
    def report() -> None: ...


def add(name: str = "backup", **options: Any) -> control.Acted:
    return control.add_window(name, "ann", "the disk", **{"start": "07:00", "minutes": 20} | options)


def test_a_window_is_there_at_once() -> None:
    assert add(timezone="Europe/Berlin", days=[6, 5], queues=("mail",), job_types={"report"}).moved == ["backup"]
    [found] = read_windows(connection)
    assert found == Window(
        name="backup",
        start=time(7),
        minutes=20,
        timezone="Europe/Berlin",
        days=frozenset({5, 6}),
        queues=frozenset({"mail"}),
        job_types=frozenset({"report"}),
    )


def test_a_name_is_given_once() -> None:
    add()
    assert add(minutes=60).skipped == {"backup": "is there already: change it, or remove it"}
    assert MaintenanceWindow.objects.get().minutes == 20
    assert list(ControlEvent.objects.order_by("pk").values_list("moved", "skipped")) == [(1, 0), (0, 1)]


def test_what_is_not_named_stays_as_it_was() -> None:
    add(queues=["mail"])
    assert control.change_window("backup", "bob", minutes=40, start=time(8, 30))
    [found] = read_windows(connection)
    assert (found.start, found.minutes, found.queues) == (time(8, 30), 40, {"mail"})


def test_it_may_rest() -> None:
    add()
    control.change_window("backup", "bob", enabled=False)
    assert read_windows(connection) == ()
    control.change_window("backup", "bob", enabled=True)
    assert len(read_windows(connection)) == 1


def test_it_may_go(settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "22:00"}
    add()
    assert control.remove_window("backup", "bob").moved == ["backup"]
    assert [window.name for window in read_windows(connection)] == ["22:00 UTC"]
    for name in ("backup", "22:00 UTC"):
        skipped = {name: "is no window that an operator made"}
        assert control.remove_window(name, "bob").skipped == skipped
        assert control.change_window(name, "bob", minutes=5).skipped == skipped


def test_events_tell_what_it_was_and_what_it_is() -> None:
    add()
    control.change_window("backup", "bob", "too short", minutes=40)
    control.remove_window("backup", "cyd")
    added, changed, removed = ControlEvent.objects.order_by("pk")
    row = {"start": "07:00:00", "minutes": 20, "timezone": "UTC", "days": [], "queues": [], "job_types": []}
    told = [(each.action, each.actor, each.target_kind, each.target) for each in (added, changed, removed)]
    assert told == [
        (act, who, "window", "backup") for act, who in (("add", "ann"), ("change", "bob"), ("remove", "cyd"))
    ]
    assert (added.reason, added.detail) == ("the disk", {"window": row})
    assert (changed.reason, changed.detail) == ("too short", {"window": {"minutes": 40}, "before": {"minutes": 20}})
    assert removed.detail == {"before": row | {"minutes": 40, "enabled": True}}


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("", {}, "name=''"),
        ("backup", {"start": "7:00"}, "use a time of day"),
        ("backup", {"minutes": 0}, "from 1 to 1440"),
        ("backup", {"timezone": "Mars/Base"}, "use a time zone"),
        ("backup", {"days": [7]}, "from 0 to 6"),
        ("backup", {"queues": ["jobs.system"]}, "never stopped"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_hint(name: str, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionInvalid, match=complaint):
        add(name, **options)
    assert not MaintenanceWindow.objects.exists()
    assert not ControlEvent.objects.exists()


def test_a_change_names_what_there_is() -> None:
    with pytest.raises(OptionInvalid, match="what shall change"):
        control.change_window("backup", "ann")
    with pytest.raises(OptionInvalid, match="Did you mean 'minutes'"):
        control.change_window("backup", "ann", minute=3)
    with pytest.raises(OptionInvalid, match="use True or False"):
        control.change_window("backup", "ann", enabled="no")


def test_a_job_type_that_is_not_registered_would_stop_nothing() -> None:
    with pytest.raises(UnknownJobType, match="Did you mean 'report'"):
        add(job_types=["reprot"])
