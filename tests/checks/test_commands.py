"""A command belongs to the first app that has its name."""

from __future__ import annotations

import pytest

from jobs_app.checks import commands
from tests.checks.looking import found


def test_a_command_of_another_app_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "get_commands", lambda: {"runworker": "channels", "jobs": "jobs_app"})
    message = found()["jobs_app.W001"]
    assert "manage.py runworker is the command of channels" in message.msg
    assert str(message.hint).startswith("Use manage.py jobs worker, which is the same; or put 'jobs_app' above")


@pytest.mark.parametrize(
    ("command", "hint"), [("runscheduler", "Use manage.py jobs scheduler, which"), ("jobs", "Put 'jobs_app' above")]
)
def test_each_command_may_be_owned_by_another_app(command: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "get_commands", lambda: {command: "another"})
    assert str(found()["jobs_app.W001"].hint).startswith(hint)
