"""Forms, dataclasses and pydantic models as schemas; the handler gets their fields as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django import forms
from django.contrib.auth.models import Group

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.schemas import schema_for

ID = UUID("01a1e755-e736-77b1-8fa2-b6a171cfff9f")


class PaymentForm(forms.Form):
    amount = forms.DecimalField(min_value=1, help_text="in francs")
    due = forms.DateField()
    at = forms.DateTimeField(required=False)
    method = forms.ChoiceField(choices=[("card", "Card"), ("Bank", [("iban", "IBAN")])], required=False)
    rounds = forms.IntegerField(required=False)

    def clean_rounds(self) -> int:
        return (self.cleaned_data["rounds"] or 0) + 1

    def clean(self) -> None:
        if self.cleaned_data.get("method") == "iban" and self.cleaned_data.get("amount", 0) > 1000:
            raise forms.ValidationError("too much for a bank")


class EveryForm(forms.Form):
    flag = forms.BooleanField(required=False)
    span = forms.DurationField()
    key = forms.UUIDField()
    several = forms.TypedMultipleChoiceField(choices=[(1, "one"), (2, "two")], coerce=int)
    data = forms.JSONField()


class GroupForm(forms.Form):
    group = forms.ModelChoiceField(queryset=Group.objects.all())


class AnyForm(forms.Form):
    chosen = forms.Field()


class JsonForm(forms.Form):
    value = forms.JSONField()


class FileForm(forms.Form):
    upload = forms.FileField()


@dataclass
class Period:
    start: date
    end: date
    step: int = 1

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("the end is before the start")


def pay(amount: Decimal, due: date, at: datetime | None, method: str, rounds: int) -> None: ...


def anything(**values: Any) -> None: ...


def walk(start: date, end: date, step: int) -> None: ...


# Forms


def test_a_form_checks_and_cleans() -> None:
    schema = schema_for(pay, explicit=PaymentForm)
    stored = schema.dump({"amount": Decimal("12.50"), "due": date(2026, 1, 31)})
    assert stored == {"amount": "12.50", "due": "2026-01-31"}
    assert schema.load(stored) == {
        "amount": Decimal("12.50"),
        "due": date(2026, 1, 31),
        "at": None,
        "method": "",
        "rounds": 1,
    }


def test_a_form_cleans_once_what_is_stored_as_given() -> None:
    schema = schema_for(pay, explicit=PaymentForm)
    stored = schema.dump({"amount": "2", "due": "2026-01-31", "rounds": 5})
    assert stored["rounds"] == 5
    assert schema.load(stored)["rounds"] == 6


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"amount": "0", "due": "2026-01-31"}, "amount"),
        ({"amount": "5"}, "due"),
        ({"amount": "5000", "due": "2026-01-31", "method": "iban"}, "__all__"),
        ({"amount": "5", "due": "2026-01-31", "methd": "card"}, "methd"),
    ],
)
def test_a_form_refuses_by_field(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(PayloadInvalid) as refusal:
        schema_for(pay, explicit=PaymentForm).dump(wrong)
    assert list(refusal.value.errors) == [name]


def test_typed_values_pass_through_a_form() -> None:
    schema = schema_for(anything, explicit=EveryForm)
    given = {"flag": True, "span": timedelta(hours=1), "key": ID, "several": [1, 2], "data": {"a": [1]}}
    stored = schema.dump(given)
    assert stored == {
        "flag": True,
        "span": "P0DT01H00M00S",
        "key": str(ID),
        "several": [1, 2],
        "data": {"a": [1]},
    }
    assert schema.load(stored) == given


def test_a_moment_keeps_its_instant_in_a_form() -> None:
    schema = schema_for(pay, explicit=PaymentForm)
    at = datetime(2026, 1, 31, 9, tzinfo=UTC)
    stored = schema.dump({"amount": "5", "due": "2026-01-31", "at": at})
    assert stored["at"] == "2026-01-31T09:00:00+00:00"
    assert schema.load(stored)["at"] == at


def test_fields_of_a_form_are_told() -> None:
    fields = {field.name: field for field in schema_for(pay, explicit=PaymentForm).fields}
    assert fields["amount"].required
    assert fields["amount"].help == "in francs"
    assert fields["method"].choices == ("card", "iban")


def test_defining_a_job_asks_no_rows_for_choices() -> None:
    assert schema_for(anything, explicit=GroupForm).fields[0].choices == ()


def test_a_form_with_a_file_is_refused() -> None:
    with pytest.raises(DefinitionInvalid, match="upload: a file has no JSON form"):
        schema_for(anything, explicit=FileForm)


def test_a_row_given_to_a_form_is_stored_by_its_key() -> None:
    assert schema_for(anything, explicit=AnyForm).dump({"chosen": [Group(pk=3), Group(pk=4)]}) == {"chosen": [3, 4]}


# Dataclasses


def test_a_dataclass_gives_its_fields_with_defaults_to_the_handler() -> None:
    schema = schema_for(walk, explicit=Period)
    stored = schema.dump({"start": date(2026, 1, 1), "end": "2026-01-31"})
    assert stored == {"start": "2026-01-01", "end": "2026-01-31"}
    assert schema.load(stored) == {"start": date(2026, 1, 1), "end": date(2026, 1, 31), "step": 1}


def test_a_dataclass_may_refuse_in_post_init() -> None:
    schema = schema_for(walk, explicit=Period)
    with pytest.raises(PayloadInvalid, match="Period refuses these values: the end is before the start"):
        schema.dump({"start": "2026-01-31", "end": "2026-01-01"})
    with pytest.raises(PayloadInvalid, match="end: is missing"):
        schema.dump({"start": "2026-01-31"})


# Any explicit schema


def test_a_handler_that_cannot_take_the_fields_is_refused() -> None:
    def short(start: date) -> None: ...

    def long(start: date, end: date, step: int, other: int) -> None: ...

    with pytest.raises(DefinitionInvalid, match="short has no argument end, step, which its schema gives"):
        schema_for(short, explicit=Period)
    with pytest.raises(DefinitionInvalid, match="long needs other, which its schema does not have"):
        schema_for(long, explicit=Period)


@pytest.mark.parametrize("wrong", [dict, Period(date.min, date.max), "PaymentForm", 5])
def test_what_is_no_schema_is_refused(wrong: object) -> None:
    with pytest.raises(DefinitionInvalid, match="schema must be a Form, a dataclass or a pydantic model"):
        schema_for(walk, explicit=wrong)


@pytest.mark.parametrize("act", ["dump", "load"])
def test_what_is_nested_too_deep_for_a_form_is_refused(act: str) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    schema = schema_for(lambda value: None, explicit=JsonForm)
    for value in (deep, endless):
        with pytest.raises(PayloadInvalid, match="nested deeper than 64 levels"):
            getattr(schema, act)({"value": value})
    assert schema.load({"value": {"a": [1]}}) == {"value": {"a": [1]}}
