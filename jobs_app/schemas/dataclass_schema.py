"""Dataclasses as payloads and as values inside payloads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from jobs_app.errors import PayloadInvalid
from jobs_app.schemas.base import NamedFields
from jobs_app.schemas.scalars import Converter, Mismatch

REFUSALS = (ValueError, TypeError, AssertionError, ValidationError)  # how a __post_init__ says no


class DataclassSchema:
    """The fields of a dataclass, and the checks of its `__post_init__`."""

    def __init__(self, cls: type[Any], named: NamedFields) -> None:
        self._cls = cls
        self._named = named
        self.fields = named.fields

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        dumped = self._named.dump(kwargs)
        self.build(dumped)
        return dumped

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return self._values(self.build(payload))

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return self._named.without_defaults(payload)

    def build(self, payload: Mapping[str, Any]) -> Any:
        values = self._named.load(payload)
        try:
            return self._cls(**values)
        except REFUSALS as error:
            raise PayloadInvalid(f"{self._cls.__name__} refuses these values: {_words(error)}") from error

    def as_converter(self) -> Converter:
        return Converter(self._dump_value, self._load_value, frozenset({"object"}))

    def _dump_value(self, value: Any) -> dict[str, Any]:
        try:
            return self._named.dump(self._values(value)) if isinstance(value, self._cls) else self.dump(value)
        except PayloadInvalid as error:
            raise Mismatch(str(error)) from error

    def _load_value(self, value: Any) -> Any:
        try:
            return self.build(value)
        except PayloadInvalid as error:
            raise Mismatch(str(error)) from error

    def _values(self, instance: Any) -> dict[str, Any]:
        return {field.name: getattr(instance, field.name) for field in self.fields}


def default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()


def is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _words(error: Exception) -> str:
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
