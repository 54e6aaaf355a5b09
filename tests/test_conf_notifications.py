"""Settings of notifications: what can be said, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.conf import parse
from jobs_app.errors import SettingsInvalid


def test_administrators_are_told_every_five_minutes_where_nothing_is_said() -> None:
    settings = parse({})
    assert (settings.notify_admins, settings.notify_every_seconds, settings.site_url) == (True, 300, "")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"NOTIFY_EVERY_SECONDS": 0}, r"\['NOTIFY_EVERY_SECONDS'\] must be above 0"),
        ({"NOTIFY_ADMINS": "yes"}, r"\['NOTIFY_ADMINS'\] must be bool"),
        ({"SITE_URL": "example.com"}, r"\['SITE_URL'\] must begin with http:// or https://"),
    ],
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsInvalid, match=told):
        parse(given)
