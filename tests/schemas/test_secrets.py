"""What does not fit is told; what stands under the name of a secret is not, however deep it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django import forms

from jobs_app.errors import PayloadInvalid
from jobs_app.schemas import schema_for

CANARY = "s3cr3t-canary"


@dataclass
class Login:
    user: int
    password: int


def one(api_token: int) -> None: ...


def inside(logins: dict[str, int]) -> None: ...


def around(settings: list[int]) -> None: ...


def nested(login: Login) -> None: ...


def of_a_secret(credentials: Login) -> None: ...


def either(token: int | list[int]) -> None: ...


@pytest.mark.parametrize(
    ("handler", "payload"),
    [
        (one, {"api_token": CANARY}),
        (inside, {"logins": {"password": CANARY}}),
        (around, {"settings": {"password": CANARY}}),
        (nested, {"login": {"user": 1, "password": CANARY}}),
        (of_a_secret, {"credentials": {"user": CANARY, "password": 1}}),
        (either, {"token": CANARY}),
        (either, {"token": [CANARY]}),
    ],
)
def test_a_fault_does_not_tell_a_secret(handler: Any, payload: dict[str, Any]) -> None:
    schema = schema_for(handler)
    for check in (schema.dump, schema.load):
        with pytest.raises(PayloadInvalid) as refusal:
            check(payload)
        assert CANARY not in f"{refusal.value} {refusal.value.errors}"


def test_what_was_expected_is_told_all_the_same() -> None:
    with pytest.raises(PayloadInvalid, match=r"api_token: expected a whole number$"):
        schema_for(one).load({"api_token": CANARY})


def test_a_form_does_not_repeat_a_secret_either() -> None:
    class Choice(forms.Form):
        token = forms.ChoiceField(choices=[("a", "a")])

    def handler(token: str) -> None: ...

    with pytest.raises(PayloadInvalid) as refusal:
        schema_for(handler, explicit=Choice).dump({"token": CANARY})
    assert CANARY not in str(refusal.value)
