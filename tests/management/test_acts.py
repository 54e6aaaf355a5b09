"""Who acts from a terminal."""

from __future__ import annotations

import pytest

from jobs_app.management import acts


def test_the_user_of_this_machine_acts_and_is_marked_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    assert acts.default_actor() == "cli:grace"


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 1000"), OSError(), ImportError("pwd")])
def test_a_user_without_a_name_can_act_too(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise error

    monkeypatch.setattr(acts.getpass, "getuser", nameless)
    assert acts.default_actor() == "cli"
