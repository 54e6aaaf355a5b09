"""A pydantic model as schema, where pydantic is installed."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.schemas import schema_for

pydantic = pytest.importorskip("pydantic")


class Order(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    number: int = pydantic.Field(gt=0, description="as printed")
    due: date = date(2026, 1, 31)


class Renamed(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    order_number: int = pydantic.Field(alias="orderNumber")


class TwoNames(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    number: int = pydantic.Field(validation_alias="a", serialization_alias="b")


class Open(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    model_config = {"extra": "allow"}
    number: int


def ship(number: int, due: date) -> None: ...


def anything(**values: Any) -> None: ...


def test_only_what_was_given_is_stored_and_the_handler_gets_every_field() -> None:
    schema = schema_for(ship, explicit=Order)
    assert schema.dump({"number": 5}) == {"number": 5}
    assert schema.dump({"number": 5, "due": date(2026, 2, 1)}) == {"number": 5, "due": "2026-02-01"}
    assert schema.load({"number": 5}) == {"number": 5, "due": date(2026, 1, 31)}


def test_faults_are_named_by_field() -> None:
    schema = schema_for(ship, explicit=Order)
    with pytest.raises(PayloadInvalid) as refusal:
        schema.dump({"number": 0, "due": "never"})
    assert set(refusal.value.errors) == {"number", "due"}
    with pytest.raises(PayloadInvalid, match=r"numbr: is unknown\. Did you mean 'number'\?"):
        schema.dump({"numbr": 5})
    with pytest.raises(PayloadInvalid, match="number: Field required"):
        schema.load({})


def test_an_alias_is_kept_in_storage_and_the_handler_gets_the_field_name() -> None:
    schema = schema_for(anything, explicit=Renamed)
    assert schema.dump({"orderNumber": 5}) == {"orderNumber": 5}
    assert schema.load({"orderNumber": 5}) == {"order_number": 5}


def test_a_field_that_is_written_and_read_under_different_names_is_refused() -> None:
    with pytest.raises(DefinitionInvalid, match="number: is written and read under different names"):
        schema_for(anything, explicit=TwoNames)


def test_an_open_model_lets_other_names_through() -> None:
    schema = schema_for(anything, explicit=Open)
    assert schema.load(schema.dump({"number": 5, "more": [1]})) == {"number": 5, "more": [1]}


def test_fields_of_a_model_are_told() -> None:
    number, due = schema_for(ship, explicit=Order).fields
    assert (number.required, number.help) == (True, "as printed")
    assert (due.required, due.default) == (False, date(2026, 1, 31))
