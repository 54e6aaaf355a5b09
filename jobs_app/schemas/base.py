"""What a payload schema is, and the plain one: named fields, each with its converter."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jobs_app.errors import PayloadInvalid
from jobs_app.redaction import is_secret
from jobs_app.schemas.scalars import Convert, Converter, Mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One named value of a payload, as a person who fills it in needs to know it."""

    name: str
    annotation: Any
    required: bool
    default: Any = None
    choices: tuple[Any, ...] = ()
    help: str = ""
    alias: str = ""  # its name in the payload, where that is another one


class PayloadSchema(Protocol):
    """The border between a handler's keyword arguments and the JSON that is stored for them."""

    @property
    def fields(self) -> tuple[Field, ...]: ...

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Check typed values, or their JSON forms, and give the JSON of what was given; else PayloadInvalid."""
        ...

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Check stored JSON again and give the handler's keyword arguments; else PayloadInvalid."""
        ...

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What `dump` gave, but for values that mean the same when they are left out."""
        ...


class NamedFields:
    """A schema of independent fields. `rest` converts names that no field has; without it they are refused."""

    def __init__(
        self, fields: Sequence[Field], converters: Mapping[str, Converter], *, rest: Converter | None = None
    ) -> None:
        self.fields = tuple(fields)
        self._required = frozenset(field.name for field in fields if field.required)
        self._dumps = {name: converter.dump for name, converter in converters.items()}
        self._loads = {name: converter.load for name, converter in converters.items()}
        self._rest = rest

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return self._convert(kwargs, self._dumps, self._rest and self._rest.dump)

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return self._convert(payload, self._loads, self._rest and self._rest.load)

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        defaults = {field.name: field.default for field in self.fields if not field.required}
        return {
            name: value
            for name, value in payload.items()
            if name not in defaults or not self._is_default(name, value, defaults[name])
        }

    def _is_default(self, name: str, value: Any, default: Any) -> bool:
        try:
            # As text, because Python takes 1 and True for the same.
            return json.dumps(value, sort_keys=True) == json.dumps(self._dumps[name](default), sort_keys=True)
        except (Mismatch, TypeError, ValueError):  # a default that no payload could hold
            return False

    def _convert(
        self, values: Mapping[str, Any], converts: Mapping[str, Convert], rest: Convert | None
    ) -> dict[str, Any]:
        require_mapping(values)
        # Nearly every payload fits, so it is converted in one sweep and looked at field by field only if it does not.
        try:
            converted = {name: converts[name](value) for name, value in values.items()}
        except (KeyError, Mismatch):
            return self._convert_each(values, converts, rest)
        if self._required <= converted.keys():
            return converted
        return self._convert_each(values, converts, rest)

    def _convert_each(
        self, values: Mapping[str, Any], converts: Mapping[str, Convert], rest: Convert | None
    ) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        errors = dict.fromkeys(self._required - values.keys(), "is missing")
        for name, value in values.items():
            convert = converts.get(name, rest)
            if convert is None:
                errors[name] = unknown(name, converts)
                continue
            try:
                converted[name] = convert(value)
            except Mismatch as mismatch:
                errors[name] = str(mismatch.without_value() if is_secret(name) else mismatch)
        if errors:
            raise misfit(errors)
        return converted


def require_mapping(values: object) -> None:
    if not isinstance(values, (dict, Mapping)):
        raise PayloadInvalid(f"a payload is a mapping of names to values, not {type(values).__name__}")


def misfit(errors: Mapping[str, str]) -> PayloadInvalid:
    ordered = {name: errors[name] for name in sorted(errors, key=str)}
    return PayloadInvalid("; ".join(f"{name}: {text}" for name, text in ordered.items()), errors=ordered)


def unknown(name: object, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1)
    if near:
        return f"is unknown. Did you mean {near[0]!r}?"
    return f"is unknown. Known: {', '.join(names)}." if names else "is unknown. This job takes no payload."
