"""A Django form as the schema of a payload."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.utils.choices import flatten_choices
from django.utils.duration import duration_iso_string

from jobs_app.conf import settings_or_defaults
from jobs_app.errors import DefinitionInvalid
from jobs_app.redaction import is_secret
from jobs_app.schemas.base import Field, misfit, require_mapping, unknown
from jobs_app.strict_json import require_depth


class FormSchema:
    """Values are stored as given and cleaned by the form each time, so a `clean` method never sees its own output."""

    def __init__(self, form: type[forms.Form | forms.ModelForm[Any]]) -> None:
        self._form = form
        self.fields = tuple(_field(name, field) for name, field in form.base_fields.items())
        self._names = frozenset(form.base_fields)

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        self._clean(kwargs)
        return {name: _json_form(value) for name, value in kwargs.items()}

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return self._clean(payload)

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        # To a form, what is left out is empty: `initial` is only what a page shows first.
        fields = self._form.base_fields
        return {name: value for name, value in payload.items() if fields[name].has_changed(None, value)}

    def _clean(self, values: Mapping[str, Any]) -> dict[str, Any]:
        require_mapping(values)
        if strangers := values.keys() - self._names:
            raise misfit({name: unknown(name, self._names) for name in strangers})
        require_depth(dict(values), limit=settings_or_defaults().max_payload_bytes)
        form = self._form(data=dict(values))
        if not form.is_valid():
            raise misfit({name: _told(name, errors) for name, errors in form.errors.items()})
        return {name: value for name, value in form.cleaned_data.items() if name in self._names}


def _told(name: str, errors: Iterable[object]) -> str:
    """Some faults name the value that they are about."""
    return "it does not fit, and is not shown" if is_secret(name) else " ".join(map(str, errors))


def _field(name: str, field: forms.Field) -> Field:
    if isinstance(field, forms.FileField):
        raise DefinitionInvalid(f"{name}: a file has no JSON form. Store it first and pass its name.")
    return Field(
        name=name,
        annotation=field,
        required=field.required,
        default=field.initial,
        choices=_fixed_choices(field),
        help=str(field.help_text),
    )


def _fixed_choices(field: forms.Field) -> tuple[Any, ...]:
    """Choices that are rows or come from a callable are not asked for here: a job is defined without a database."""
    choices = getattr(field, "choices", None)
    return tuple(value for value, _ in flatten_choices(choices)) if isinstance(choices, list) else ()


def _json_form(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return duration_iso_string(value)
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if hasattr(value, "_meta"):  # a row chosen in a ModelChoiceField
        return _json_form(value.pk)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return [_json_form(item) for item in value]
    return value
