"""Webhooks in the settings: what can be said, and that what is wrong is told without the secret."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.conf import Settings, parse
from jobs_app.errors import SettingsInvalid
from jobs_app.registry import SYSTEM_NAMES
from jobs_app.webhook_rules import OWN_NAMES, Webhook, from_settings

SECRET = "a secret that nobody sees"
URL = "https://example.com/hooks/a-path-that-nobody-sees"
ENDS = {"succeeded", "failed", "cancelled"}


def given(**changes: Any) -> dict[str, Any]:
    return {"name": "ops", "url": URL, "secret": SECRET} | changes


def read(**changes: Any) -> Webhook:
    [webhook] = from_settings([given(**changes)])
    return webhook


def test_one_that_names_nothing_is_told_of_every_end() -> None:
    webhook = read()
    assert (webhook.name, webhook.url, webhook.secrets, webhook.host) == ("ops", URL, (SECRET,), "example.com")
    assert (webhook.states, webhook.job_types, webhook.queues) == (ENDS, set(), set())
    assert all(webhook.wants(state=state, job_type="work", queue="default") for state in ENDS)
    assert read(states=[]).states == ENDS


@pytest.mark.parametrize(
    ("state", "job_type", "queue", "wanted"),
    [
        ("failed", "charge", "money", True),
        ("succeeded", "charge", "money", False),
        ("failed", "mail", "money", False),
        ("failed", "charge", "default", False),
    ],
)
def test_what_it_names_must_all_fit(state: str, job_type: str, queue: str, wanted: bool) -> None:
    webhook = read(states=["failed"], job_types=["charge", "refund"], queues=("money",))
    assert webhook.wants(state=state, job_type=job_type, queue=queue) is wanted


def test_the_apps_own_jobs_are_never_told() -> None:
    assert OWN_NAMES == SYSTEM_NAMES
    assert not any(read().wants(state=state, job_type="jobs.webhook", queue="webhooks") for state in ENDS)
    with pytest.raises(SettingsInvalid, match="the app's own job types cannot be chosen"):
        read(job_types=["jobs.prune"])


def test_one_that_groups_is_told_of_failures_only_and_of_the_apps_own_too() -> None:
    webhook = read(grouped=True, queues=["money", "jobs.system"])
    assert (webhook.grouped, webhook.states) == (True, {"failed"})
    assert read(grouped=True, states=["failed"]) == read(grouped=True)
    found = [("charge", "money"), ("charge", "default"), ("jobs.prune", "jobs.system"), ("jobs.webhook", "money")]
    wanted = [webhook.wants(state="failed", job_type=job_type, queue=queue) for job_type, queue in found]
    assert wanted == [True, False, True, False]
    assert not read(grouped=False).grouped


def test_a_secret_may_be_replaced_by_another_one() -> None:
    assert read(secret=[SECRET, SECRET[::-1]]).secrets == (SECRET, SECRET[::-1])


def test_the_settings_have_none_unless_they_name_some() -> None:
    assert (parse({}).webhooks, parse({}).webhook_private_addresses) == ((), False)
    settings = parse({"WEBHOOKS": [given(), given(name="other")], "WEBHOOK_PRIVATE_ADDRESSES": True})
    assert [webhook.name for webhook in settings.webhooks] == ["ops", "other"]
    assert settings.webhook_private_addresses


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"name": "with blank"}, "WEBHOOKS'][0]: name='with blank' cannot be used: use 1 to 120 letters"),
        ({"name": None}, "name=None cannot be used"),
        ({"states": ["done"]}, "use one of succeeded, failed, cancelled"),
        ({"states": "failed"}, "use a list of some of succeeded, failed, cancelled"),
        ({"job_types": "charge"}, "use a list of names"),
        ({"grouped": "yes"}, "grouped='yes' cannot be used: use True or False"),
        (
            {"grouped": True, "states": ["failed", "cancelled"]},
            "only failures are grouped. Leave out states, or grouped",
        ),
        ({"queues": [7]}, "use 1 to 120 letters"),
        (
            {"secret": "fifteen letters"},
            "secret cannot be used: use text of 16 to 1000 characters; make one",
        ),
        ({"secret": [SECRET] * 3}, "use one secret, or a list of two"),
        ({"secret": []}, "use one secret, or a list of two"),
        ({"secret": SECRET.encode()}, "use text of 16 to 1000"),
        ({"secret": None}, "use text of 16 to 1000"),
        ({"secrets": [SECRET]}, "there is no option 'secrets'. Did you mean 'secret'?"),
        ({"state": ["failed"]}, "there is no option 'state'. Did you mean 'states'?"),
        ({7: SECRET}, "there is no option '7'"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write_instead(wrong: Any, told: str) -> None:
    with pytest.raises(SettingsInvalid) as problem:
        parse({"WEBHOOKS": [given() | wrong]})
    assert told in str(problem.value)


@pytest.mark.parametrize(
    "url",
    [
        "example.com/hooks",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://:443/",
        "http://user@example.com/",
        "http://user:password@example.com/",
        "http://example.com@127.0.0.1/",
        "http://@example.com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:port/",
        "http://exa mple.com/",
        "http://example.com/with blank",
        "http://example.com/line\nfeed",
        "http://example.com\\@127.0.0.1/",
        "http://münchen.example/",
        "http://example..com/",
        f"http://{'a' * 64}.example/",
        "http://[::1/",
        "http://[::g]/",
        "http://exam%70le.com/",
        b"http://example.com/",
        None,
    ],
)
def test_urls_that_lead_nowhere_are_refused_at_start(url: Any) -> None:
    with pytest.raises(SettingsInvalid, match=r"WEBHOOKS'\]\[0\]: url cannot be used"):
        read(url=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com:8443/hooks?team=ops&x=%20",
        "http://10.0.0.7/",
        "http://[2001:db8::1]:8080/",
        "https://xn--mnchen-3ya.example/",
        "http://under_score.internal/",
        "HTTPS://EXAMPLE.COM/",
    ],
)
def test_urls_of_every_usual_form_are_taken(url: str) -> None:
    assert read(url=url).url == url


@pytest.mark.parametrize("missing", ["name", "url", "secret"])
def test_name_url_and_secret_are_needed(missing: str) -> None:
    rest = {name: value for name, value in given().items() if name != missing}
    with pytest.raises(SettingsInvalid, match=f"has no {missing}: give name, url, secret"):
        parse({"WEBHOOKS": [rest]})


def test_two_may_not_share_a_name() -> None:
    with pytest.raises(SettingsInvalid, match=r"WEBHOOKS'\]\[1\]: there are two named 'ops'"):
        parse({"WEBHOOKS": [given(), given(url="https://other.example/")]})


@pytest.mark.parametrize("wrong", [given(), SECRET, [SECRET], [[SECRET]], None, True, 7])
def test_whatever_is_in_its_place_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingsInvalid, match="WEBHOOKS"):
        parse({"WEBHOOKS": wrong})


MISTAKES: list[Any] = [
    given(),
    [SECRET],
    [given(secret=[SECRET, "short"])],
    [given(secret={SECRET: SECRET})],
    [given(secrets=SECRET)],
    [given(name="?")],
    [given(url=URL + " ")],
    [given(), given()],
    [given(url=[URL])],
]


@pytest.mark.parametrize("wrong", MISTAKES)
def test_no_mistake_shows_the_secret_or_the_path(wrong: Any) -> None:
    with pytest.raises(SettingsInvalid) as problem:
        parse({"WEBHOOKS": wrong})
    assert "nobody sees" not in str(problem.value)
    assert "nobody-sees" not in str(problem.value)


def test_neither_is_shown_by_what_was_read() -> None:
    settings = parse({"WEBHOOKS": [given(secret=[SECRET, SECRET[::-1]])]})
    assert isinstance(settings, Settings)
    for shown in (repr(settings), str(settings.webhooks), f"{settings.webhooks[0]}"):
        assert "ops" in shown
        assert not any(hidden in shown for hidden in (SECRET, SECRET[::-1], "nobody-sees"))
