"""Secrets are hidden by the names they stand under."""

from __future__ import annotations

import pytest

from jobs_app.redaction import HIDDEN, is_secret, redact, redact_text


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "PASSWORD",
        "db_passwd",
        "user-password-2",
        "passphrase",
        "client_secret",
        "clientSecret",
        "token",
        "accessToken",
        "refresh_tokens",
        "key",
        "api_key",
        "apiKey",
        "APIKEY",
        "X-API-Key",
        "ssh.keys",
        "Authorization",
        "auth",
        "credentials",
        "Set-Cookie",
        "pin",
        "cvv",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["", "user_id", "monkey", "keyboard", "author", "pinned", "passenger", "compass"])
def test_other_names_are_not(name: str) -> None:
    assert not is_secret(name)


def test_values_are_hidden_at_any_depth_and_all_else_stays() -> None:
    payload = {
        "user": 7,
        "login": {"name": "ada", "password": "hunter2"},
        "targets": [{"url": "https://example.org", "headers": {"Authorization": "Bearer x"}}, "plain", None],
        "api_key": {"id": 1},
    }
    assert redact(payload) == {
        "user": 7,
        "login": {"name": "ada", "password": HIDDEN},
        "targets": [{"url": "https://example.org", "headers": {"Authorization": HIDDEN}}, "plain", None],
        "api_key": HIDDEN,
    }
    assert payload["login"] == {"name": "ada", "password": "hunter2"}


def test_what_was_given_wrongly_may_have_any_key() -> None:
    assert redact({1: {"token": "x"}, None: 2}) == {1: {"token": HIDDEN}, None: 2}


def test_a_secret_that_is_not_set_is_shown_as_such() -> None:
    assert redact({"token": None, "password": ""}) == {"token": None, "password": HIDDEN}


@pytest.mark.parametrize("value", [None, 7, "text", True, [], {}])
def test_what_has_no_names_is_given_back(value: object) -> None:
    assert redact(value) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token=abc123, next", "token=[hidden], next"),
        ("{'password': 'hunter2', 'a': 1}", "{'password': [hidden], 'a': 1}"),
        ('{"apiKey":"x y","b":2}', '{"apiKey":[hidden],"b":2}'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [hidden]"),
        ("https://ada:pw@host/db?token=abc&b=1 gave 404", "https://[hidden]@host/db?token=[hidden]&b=1 gave 404"),
        ('login(secret="half of it and no en', "login(secret=[hidden]"),
        (r"token='it\'s', a='b'", "token=[hidden], a='b'"),
        ("at 12:00:01 it said: pin = 4711", "at 12:00:01 it said: pin = [hidden]"),
        ("password=b'hunter2' x", "password=[hidden] x"),
        ("passwords=['a1', 'b2'] and more\nnext", "passwords=[hidden]\nnext"),
        ('{"token": {"value": "abc"}}', '{"token": [hidden]'),
        ("token=Secret('abc')", "token=[hidden]"),
        ("postgres://u:p/w@h/db", "postgres://[hidden]@h/db"),
        ("sent Bearer abc.def to it", "sent [hidden] to it"),
    ],
)
def test_secrets_in_text_are_hidden_where_their_name_is_told(text: str, shown: str) -> None:
    assert redact_text(text) == shown


@pytest.mark.parametrize("text", ["", "KeyError: 'amount'", "the token expired", "see https://host/a:b", "code=7: no"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text
