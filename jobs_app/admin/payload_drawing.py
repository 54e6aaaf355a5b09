"""Which field of a form an annotation asks for, and what an empty box means there."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Literal
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils.duration import duration_iso_string

from jobs_app.admin import payload_fields
from jobs_app.admin.payload_fields import (
    NOTHING,
    ChoiceField,
    JsonField,
    LengthField,
    LinesField,
    MomentField,
    TextField,
    WordField,
)
from jobs_app.redaction import is_secret
from jobs_app.schemas import Field
from jobs_app.schemas.annotations import unwrap

LEFT_OUT: Any = object()  # not stored, so that what code says holds
FLAGS = (True, False)

Make = Callable[..., forms.Field]

SCALARS: Mapping[Any, Make] = {
    str: TextField,
    int: forms.IntegerField,
    float: forms.FloatField,
    Decimal: partial(WordField, example="12.50"),
    date: partial(WordField, kind="date"),
    datetime: partial(MomentField, example="2026-01-31T09:00:00+00:00"),
    time: partial(WordField, example="09:00:00"),
    timedelta: partial(LengthField, example="5m, 1h, PT1H30M"),
    UUID: partial(WordField, example="01234567-89ab-cdef-0123-456789abcdef"),
}
LISTS = (list, tuple, Sequence)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A value of a payload with the field that asks for it."""

    name: str
    field: forms.Field
    blank: Any  # the value that an empty box stands for
    is_secret: bool
    default: Any = LEFT_OUT  # as JSON
    is_raw: bool = False  # a field of the host's own form cleans what was typed when the job runs, too

    def value(self, typed: Any, cleaned: Any) -> Any:
        """What goes into the payload."""
        if typed in NOTHING and not isinstance(self.field, forms.BooleanField):
            return self.blank
        return typed if self.is_raw else as_json(cleaned)

    def shows(self, stored: Any) -> bool:
        """Would this value come back as it is, if nobody changes anything?"""
        if stored is None and self.default is None:
            return True
        typed = self.field.prepare_value(stored)
        try:
            cleaned = self.field.clean(typed)
        except (ValidationError, ValueError, TypeError):
            return False
        return _same(self.value(typed, cleaned), stored)


def draw(field: Field, *, key: str, help_text: str = "") -> Drawn:
    annotation = unwrap(field.annotation)
    if isinstance(annotation, forms.Field):
        return _own(annotation, key, help_text or field.help)
    kind, is_nullable = without_null(annotation)
    secret = is_secret(key)
    make = maker(kind, field.choices, is_nullable=is_nullable)
    default = LEFT_OUT if field.required else as_json(field.default)
    form_field = make(
        required=field.required and not is_nullable and kind is not bool,
        label=key,
        help_text=help_text or field.help,
        initial=None if secret or default is LEFT_OUT else default,
    )
    if isinstance(form_field, JsonField):
        form_field.is_for(key)
    if secret:
        hide(form_field)
    blank = _blank(field, kind, is_nullable=is_nullable, is_secret=secret)
    return Drawn(name=key, field=form_field, blank=blank, is_secret=secret, default=default)


def maker(kind: Any, choices: Sequence[Any] = (), *, is_nullable: bool = False) -> Make:
    """JSON where nothing else fits."""
    if allowed := [each for each in choices or allowed_by(kind) if each is not None]:
        return partial(ChoiceField, allowed)
    if kind is bool:
        return partial(ChoiceField, FLAGS) if is_nullable else forms.BooleanField
    if (scalar := _scalar(kind)) is not None:
        return scalar
    if (item := _item(kind)) is not None:
        return partial(LinesField, item)
    return JsonField


def without_null(annotation: Any) -> tuple[Any, bool]:
    """The type beside None, and whether None is allowed."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation, False
    members = typing.get_args(annotation)
    others = [unwrap(member) for member in members if member not in (None, type(None))]
    is_nullable = len(others) < len(members)
    return (others[0] if len(others) == 1 else annotation), is_nullable


def allowed_by(kind: Any) -> list[Any]:
    """The values of a Literal or an Enum, as JSON."""
    if typing.get_origin(kind) is Literal:
        return list(typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [as_json(member) for member in kind]
    return []


def as_json(value: Any) -> Any:
    """A typed value in its JSON form; what has none is given as it is, for the schema to refuse."""
    if isinstance(value, enum.Enum):
        by_value = all(isinstance(member.value, str | int | float | bool | None) for member in type(value))
        return value.value if by_value else value.name
    if isinstance(value, timedelta):
        return duration_iso_string(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    return _composite(value)


def _composite(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
    if isinstance(value, Mapping):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(inner) for inner in value]
    return value


def hide(field: forms.Field) -> None:
    """Not to be read by who stands behind. What was typed comes back after a mistake; what is stored never does."""
    if isinstance(field.widget, forms.TextInput | forms.NumberInput):
        attributes = {"autocomplete": "new-password", "class": "vTextField"}
        field.widget = forms.PasswordInput(attrs=attributes, render_value=True)


def _blank(field: Field, kind: Any, *, is_nullable: bool, is_secret: bool) -> Any:
    if is_nullable and (field.required or field.default is not None):
        return None
    if not field.required and not is_secret and not is_nullable and kind is str:
        return ""  # its default was shown, and somebody removed it
    if not field.required and not is_nullable and _item(kind) is not None:
        return []
    return LEFT_OUT


def _item(kind: Any) -> forms.Field | None:
    """What a line of a list is; None where it is no list of plain values."""
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) not in LISTS or not arguments:
        return None
    if typing.get_origin(kind) is tuple and arguments[1:] != (Ellipsis,):
        return None
    item = unwrap(arguments[0])
    if allowed := allowed_by(item):
        return ChoiceField(allowed)
    scalar = _scalar(item)
    return None if scalar is None else scalar()


def _scalar(kind: Any) -> Make | None:
    return next((make for known, make in SCALARS.items() if kind is known), None)  # not every annotation has a hash


def _own(given: forms.Field, key: str, help_text: str) -> Drawn:
    """A field of a form that is the schema. Rows to choose from may be millions, so that their keys are typed."""
    secret = is_secret(key)
    if isinstance(given, forms.ModelMultipleChoiceField):
        field: forms.Field = LinesField(WordField(), required=given.required)
    elif isinstance(given, forms.ModelChoiceField):
        field = WordField(required=given.required)
    elif isinstance(given.widget, forms.MultiWidget):
        field = JsonField(required=given.required)
    else:
        field = copy.deepcopy(given)
    field.label, field.help_text = given.label or key, help_text
    if isinstance(field, JsonField):
        field.is_for(key)
    if secret:
        field.initial = None
        hide(field)
    is_raw = not type(field).__module__.startswith(("django.forms", payload_fields.__name__))
    return Drawn(name=key, field=field, blank=LEFT_OUT, is_secret=secret, is_raw=is_raw)


def _same(one: Any, other: Any) -> bool:
    if one is LEFT_OUT:
        return False
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True)
