"""Single values and their JSON forms: each converter checks both ways and never guesses."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.dateparse import parse_duration
from django.utils.duration import duration_iso_string

from jobs_app.redaction import is_secret, redact

Convert = Callable[[Any], Any]


class Mismatch(Exception):
    """A value does not fit its annotation; `path` leads to the part at fault, `found` is what was there."""

    def __init__(self, text: str, path: str = "", found: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.path = path
        self.found = found

    def within(self, step: str) -> Mismatch:
        """Of the value around it. What stands under the name of a secret is not told."""
        fault = self.without_value() if step.startswith("[") and is_secret(step) else self
        return Mismatch(fault.text, step + fault.path, fault.found)

    def without_value(self) -> Mismatch:
        return Mismatch(self.text if self.found else "it does not fit, and is not shown", self.path)

    def __str__(self) -> str:
        told = f"{self.text}, not {self.found}" if self.found else self.text
        return f"at {self.path}: {told}" if self.path else told


class Converter(NamedTuple):
    """`dump` takes the typed value or its JSON form, `load` takes the JSON form; both raise Mismatch."""

    dump: Convert
    load: Convert
    forms: frozenset[str]  # what its JSON can look like; the members of a union must not share any
    choices: tuple[Any, ...] = ()


def unfit(expected: str, value: object) -> Mismatch:
    return Mismatch(f"expected {expected}", found=reprlib.repr(redact(value)))


def to_anything(value: Any) -> Any:
    return value


def to_text(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise unfit("text", value)


def to_whole_number(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise unfit("a whole number", value)


def to_number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise unfit("a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Mismatch("NaN, Infinity and numbers too large for a float have no JSON form")
    return number


def to_flag(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise unfit("true or false", value)


def to_null(value: Any) -> None:
    if value is not None:
        raise unfit("null", value)


def to_decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (Decimal, str, int, float)):
        raise unfit("a decimal number", value)
    try:
        # By way of text a float keeps the digits that were written: 0.1, not 0.1000000000000000055.
        number = value if isinstance(value, Decimal) else Decimal(str(value))
    except (InvalidOperation, ValueError):
        raise unfit("a decimal number", value) from None
    if not number.is_finite():
        raise unfit("a finite decimal number", value)
    return number


def to_date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    parsed: date = _parse(date.fromisoformat, value, "a date like 2026-01-31")
    return parsed


def to_datetime(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    parsed: datetime = _parse(datetime.fromisoformat, value, "a moment like 2026-01-31T09:00:00+00:00")
    return parsed


def to_time(value: Any) -> time:
    if isinstance(value, time):
        return value
    parsed: time = _parse(time.fromisoformat, value, "a time like 09:00:00")
    return parsed


def to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        parsed = parse_duration(value) if isinstance(value, str) else timedelta(seconds=to_number(value))
    except OverflowError:
        parsed = None
    if parsed is None:
        raise unfit("a duration like PT1H30M or a number of seconds", value)
    return parsed


def to_uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    parsed: UUID = _parse(UUID, value, "a UUID")
    return parsed


def _parse(parse: Convert, value: Any, expected: str) -> Any:
    if not isinstance(value, str):
        raise unfit(expected, value)
    try:
        return parse(value)
    except ValueError:
        raise unfit(expected, value) from None


def _own_form(convert: Convert, form: str) -> Converter:
    """A value that is its own JSON form."""
    return Converter(convert, convert, frozenset({form}))


def _as_text(convert: Convert, write: Convert) -> Converter:
    return Converter(lambda value: write(convert(value)), convert, frozenset({"text"}))


ANYTHING = _own_form(to_anything, "anything")

SCALARS: dict[Any, Converter] = {
    Any: ANYTHING,
    object: ANYTHING,
    str: _own_form(to_text, "text"),
    int: _own_form(to_whole_number, "whole number"),
    float: _own_form(to_number, "number"),
    bool: _own_form(to_flag, "flag"),
    None: _own_form(to_null, "null"),
    type(None): _own_form(to_null, "null"),
    Decimal: _as_text(to_decimal, str),
    date: _as_text(to_date, date.isoformat),
    datetime: _as_text(to_datetime, datetime.isoformat),
    time: _as_text(to_time, time.isoformat),
    timedelta: _as_text(to_duration, duration_iso_string),
    UUID: _as_text(to_uuid, str),
}
