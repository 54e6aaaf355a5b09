"""Choices, unions, containers and dataclasses, by annotation."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypeVar, Union
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import TextChoices

from jobs_app.errors import DefinitionInvalid
from jobs_app.schemas.annotations import converter_for, help_in
from jobs_app.schemas.scalars import Mismatch

UserId = NewType("UserId", int)
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(enum.Enum):
    ORIGIN = (0, 0)
    ONE = (1, 1)


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Plan(TextChoices):
    FREE = "free", "Free of charge"
    PAID = "paid", "Paid"


@dataclass
class Address:
    street: str
    since: date
    tags: list[str] = field(default_factory=list)
    country: str = "CH"
    shown: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if not self.street:
            raise ValueError("a street has a name")


@dataclass
class Tree:
    left: Tree | None = None


@dataclass
class Box(Generic[T]):
    content: T


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (Literal["a", 1, None], "a", "a"),
        (Literal["a", 1, None], 1, 1),
        (Literal["a", 1, None], None, None),
        (Colour, Colour.RED, "red"),
        (Level, Level.HIGH, 2),
        (Point, Point.ONE, "ONE"),
        (Plan, Plan.PAID, "paid"),
        (Right, Right.WRITE, 2),
        (Optional[int], None, None),  # noqa: UP045
        (Optional[int], 5, 5),  # noqa: UP045
        (int | str, "5", "5"),
        (Union[date, int, None], date(2026, 1, 31), "2026-01-31"),  # noqa: UP007
        (Decimal | int, 5, 5),
        (Decimal | int, Decimal("5"), "5"),
        (Decimal | float | int, 5, 5),
        (float | timedelta, 1.5, 1.5),
        (list[date], [date(2026, 1, 31)], ["2026-01-31"]),
        (list, [1, "a", None], [1, "a", None]),
        (list[list[int]], [[1], []], [[1], []]),
        (Sequence[int], [1, 2], [1, 2]),
        (tuple[int, ...], (1, 2, 3), [1, 2, 3]),
        (tuple[int, date], (1, date(2026, 1, 31)), [1, "2026-01-31"]),
        (tuple, (1, "a"), [1, "a"]),
        (dict[str, Decimal], {"chf": Decimal("1.50")}, {"chf": "1.50"}),
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        (dict, {"a": [1]}, {"a": [1]}),
        (UserId, 7, 7),
        (Annotated[int, "how many"], 7, 7),
        (Any, [1], [1]),
        (object, "x", "x"),
        (Any | None, {"a": 1}, {"a": 1}),
        (
            Address,
            Address("High Street", date(2026, 1, 31), ["home"]),
            {"street": "High Street", "since": "2026-01-31", "tags": ["home"], "country": "CH"},
        ),
    ],
)
def test_a_value_is_stored_as_json_and_comes_back_as_itself(annotation: Any, value: Any, stored: Any) -> None:
    converter = converter_for(annotation)
    assert converter.dump(value) == stored
    loaded = converter.load(stored)
    assert loaded == value
    assert type(loaded) is type(value)
    assert converter.dump(stored) == stored


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (Literal["a", 1], True, "expected one of 'a', 1, not True"),
        (Literal["a"], ["a"], "expected one of 'a'"),
        (Colour, "RED", "expected one of 'red', 'blue', not 'RED'"),
        (Colour, Level.LOW, "expected one of 'red', 'blue'"),
        (Level, True, "expected one of 1, 2, not True"),
        (Right, Right.READ | Right.WRITE, "expected one of 1, 2"),
        (int | None, "5", "expected a whole number, not '5'"),
        (int | str, 1.5, "expected text or whole number, not 1.5"),
        (int | list[int], [1, "2"], r"at \[1\]: expected a whole number, not '2'"),
        (list[int], "12", "expected a list, not '12'"),
        (list[int], [1, "2"], r"at \[1\]: expected a whole number, not '2'"),
        (list[list[int]], [[1], [1, None]], r"at \[1\]\[1\]: expected a whole number, not None"),
        (tuple[int, str], [1], "expected a list of 2"),
        (tuple[int, str], [1, 2], r"at \[1\]: expected text, not 2"),
        (dict[str, int], [1], "expected an object"),
        (dict[str, int], {"a": "b"}, r"at \['a'\]: expected a whole number"),
        (dict[str, int], {1: 1}, "at key: expected text, not 1"),
        (Address, {"street": "High Street"}, "since: is missing"),
        (Address, {"street": "", "since": "2026-01-31"}, "Address refuses these values: a street has a name"),
        (Address, {"street": "x", "since": "2026-01-31", "stret": 1}, "Did you mean 'street'"),
        (Address, "High Street", "a payload is a mapping"),
        (list[Address], [{"street": "x", "since": "never"}], r"at \[0\]: since: expected a date"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(annotation: Any, value: Any, words: str) -> None:
    with pytest.raises(Mismatch, match=words):
        converter_for(annotation).dump(value)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (User, "User has no JSON form: pass the primary key"),
        (bytes, "bytes has no JSON form: use str"),
        (set[int], r"set\[int\] has no JSON form"),
        (dict[int, str], r"dict\[int, \.\.\.\] has no JSON form: keys must be str"),
        (str | date, "look alike in JSON"),
        (UUID | Colour, "look alike in JSON"),
        (list[int] | tuple[int, ...], "look alike in JSON"),
        (Literal[b"a"], "a Literal may hold only"),
        (Tree, "left: the dataclass Tree contains itself"),
        (Box[int], "content: ~T has no JSON form"),
        ([int], "has no JSON form"),
        (3, "3 has no JSON form"),
    ],
)
def test_what_has_no_json_form_is_refused_when_it_is_defined(annotation: Any, words: str) -> None:
    with pytest.raises(DefinitionInvalid, match=words):
        converter_for(annotation)


def test_a_dataclass_given_as_a_mapping_is_stored_without_its_defaults() -> None:
    given = {"street": "High Street", "since": "2026-01-31"}
    assert converter_for(Address).dump(given) == given
    assert converter_for(Address).load(given) == Address("High Street", date(2026, 1, 31))


def test_choices_are_offered_as_they_are_stored() -> None:
    assert converter_for(Plan).choices == ("free", "paid")
    assert converter_for(Plan | None).choices == ("free", "paid")
    assert converter_for(Literal["a", "b"]).choices == ("a", "b")
    assert converter_for(int | str).choices == ()


def test_help_is_the_text_beside_the_type() -> None:
    assert help_in(Annotated[int, 5, "how many pages"]) == "how many pages"
    assert help_in(int) == ""
