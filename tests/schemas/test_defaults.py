"""A default that is spelled out means the same as one that is left out, whatever the schema is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest
from django import forms

from jobs_app.schemas import schema_for

pydantic = pytest.importorskip("pydantic")


def send(order: int, resend: bool = False, on: date = date(2026, 1, 1), note: Any = 0, broken: int = "no") -> None: ...  # type: ignore[assignment]


@dataclass
class SendData:
    order: int
    resend: bool = False
    tags: list[str] = field(default_factory=list)


class SendForm(forms.Form):
    order = forms.IntegerField()
    resend = forms.BooleanField(required=False, initial=True)
    note = forms.CharField(required=False, initial="as usual")


class SendModel(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    order: int
    resend: bool = pydantic.Field(False, alias="again")


def handler(**payload: Any) -> None: ...


@pytest.mark.parametrize(
    ("explicit", "spelled_out", "different"),
    [
        (None, {"resend": False, "on": date(2026, 1, 1), "note": 0}, {"resend": True, "broken": 1}),
        (None, {}, {"note": False}),
        (SendData, {"resend": False, "tags": []}, {"tags": ["a"]}),
        (SendForm, {"resend": False, "note": ""}, {"resend": True, "note": "as usual"}),
        (SendModel, {"again": False}, {"again": True}),
    ],
)
def test_only_what_differs_from_the_defaults_is_left(
    explicit: Any, spelled_out: dict[str, Any], different: dict[str, Any]
) -> None:
    schema = schema_for(send if explicit is None else handler, explicit=explicit)
    assert schema.without_defaults(schema.dump({"order": 1, **spelled_out})) == {"order": 1}
    assert schema.without_defaults(schema.dump({"order": 1, **different})) == {"order": 1, **different}
