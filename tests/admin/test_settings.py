"""The page of settings: what is in force, and changing it with a range, a preview and a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages

from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, RuntimeSetting
from tests.admin.conftest import Visitor

pytestmark = pytest.mark.django_db

Url = Callable[..., str]


def row_of(page: str, setting: str) -> str:
    """What the table says of one setting, without its tags."""
    [row] = [row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if f"<code>{setting}</code>" in row]
    return " ".join(re.sub(r"<[^>]*>", " ", row).split())


@pytest.mark.spec("S1.25")
def test_each_knob_shows_its_value_its_range_code_and_who_changed_it(visitor: Visitor, page_url: Url) -> None:
    control.change_setting("lease_seconds", 90, actor="ann", reason="slow <network>")
    page = visitor().get(page_url("runtimesetting_changelist")).content.decode()
    told = row_of(page, "LEASE_SECONDS")
    assert "1m 30s" in told
    assert "30s 5s to 1h" in told
    assert "ann" in told
    assert "slow &lt;network&gt;" in told
    assert "overridden" in told
    assert "overridden" not in row_of(page, "MAX_ATTEMPTS")
    assert "5 5 1 to 1000" in row_of(page, "MAX_ATTEMPTS")
    assert "<dt><code>WORKER_CONCURRENCY</code></dt><dd>10</dd>" in page


def test_who_may_not_change_sees_no_button(visitor: Visitor, page_url: Url) -> None:
    edit = page_url("runtimesetting_edit", "lease_seconds")
    assert edit not in visitor().get(page_url("runtimesetting_changelist")).content.decode()
    assert edit in visitor("change_setting").get(page_url("runtimesetting_changelist")).content.decode()


@pytest.mark.spec("S1.25")
def test_a_change_is_stored_with_its_reason_and_told(visitor: Visitor, page_url: Url) -> None:
    client = visitor("change_setting")
    answer = client.post(
        page_url("runtimesetting_edit", "lease_seconds"), {"value": "2m", "reason": "slow network"}, follow=True
    )
    assert answer.redirect_chain == [(page_url("runtimesetting_changelist"), 302)]
    assert [str(message) for message in get_messages(answer.wsgi_request)] == ["1 setting changed."]
    assert dict(RuntimeSetting.objects.values_list("name", "value")) == {"lease_seconds": 120}
    assert ControlEvent.objects.get().reason == "slow network"
    assert LogEntry.objects.get().object_repr == "LEASE_SECONDS"


@pytest.mark.spec("S1.25")
@pytest.mark.parametrize(
    ("name", "typed", "told"),
    [
        ("lease_seconds", "4s", "use seconds from 5 to 3600"),
        ("lease_seconds", "soon", "Use a time such as 30s"),
        ("max_attempts", "0", "Ensure this value is greater than or equal to 1"),
        ("backoff_max_seconds", "1s", "must not be below BACKOFF_BASE_SECONDS"),
        ("retention_days", "-1", "Ensure this value is greater than or equal to 0"),
    ],
)
def test_what_is_out_of_range_is_told_beside_the_field(
    name: str, typed: str, told: str, visitor: Visitor, page_url: Url
) -> None:
    answer = visitor("change_setting").post(page_url("runtimesetting_edit", name), {"value": typed})
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not RuntimeSetting.objects.exists()


def test_a_preview_tells_the_effect_and_changes_nothing(visitor: Visitor, page_url: Url) -> None:
    client = visitor("change_setting")
    data = {"value": "3", "preview": "1"}
    page = client.post(page_url("runtimesetting_edit", "max_attempts"), data).content.decode()
    assert "It would be 3." in page
    assert "fails for good after 3 attempts" in page
    assert "It waits 1m, 2m in between, each up to 20% longer." in page
    data = {"value": "7", "preview": "1"}
    page = client.post(page_url("runtimesetting_edit", "retention_days"), data).content.decode()
    assert "is deleted, and cannot be brought back" in page
    assert not RuntimeSetting.objects.exists()
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize(
    ("name", "data", "stored"),
    [
        ("auto_recover", {}, False),
        ("auto_recover", {"value": "on"}, True),
        ("reconcile_applies", {"value": ["stuck", "expired"]}, ["expired", "stuck"]),
        ("reconcile_applies", {}, []),
        ("max_timeout_seconds", {"value": ""}, "none"),
        ("max_timeout_seconds", {"value": "1h"}, 3600),
        ("retention_days", {"value": "0.5"}, 0.5),
    ],
)
def test_each_kind_of_knob_has_its_field(
    name: str, data: dict[str, Any], stored: Any, visitor: Visitor, page_url: Url
) -> None:
    client = visitor("change_setting")
    assert client.get(page_url("runtimesetting_edit", name)).status_code == 200
    assert client.post(page_url("runtimesetting_edit", name), data).status_code == 302
    assert RuntimeSetting.objects.get().value == stored


def test_a_reset_tells_what_code_says_and_forgets_the_override(visitor: Visitor, page_url: Url) -> None:
    control.change_setting("max_attempts", 9, actor="ann")
    client, url = visitor("change_setting"), page_url("runtimesetting_reset", "max_attempts")
    assert "It would be 5." in client.get(url).content.decode()
    assert client.post(url, {"reason": "over"}).status_code == 302
    assert not RuntimeSetting.objects.exists()


def test_what_is_set_in_code_has_no_page(visitor: Visitor, page_url: Url) -> None:
    client = visitor("change_setting")
    for name in ("eager", "dance"):
        assert client.get(page_url("runtimesetting_edit", name)).status_code == 404


def test_a_broken_row_is_shown_and_breaks_nothing(visitor: Visitor, page_url: Url) -> None:
    RuntimeSetting.objects.create(name="max_attempts", value={"<b>": 1})
    client = visitor("change_setting")
    told = row_of(client.get(page_url("runtimesetting_changelist")).content.decode(), "MAX_ATTEMPTS")
    assert "override left out" in told
    assert "&lt;b&gt;" in told
    assert client.post(page_url("runtimesetting_edit", "max_attempts"), {"value": "7"}).status_code == 302
    assert RuntimeSetting.objects.get().value == 7
