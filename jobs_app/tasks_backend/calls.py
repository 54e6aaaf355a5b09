"""A call as a payload: keyword arguments under their names, and beside them those that were given by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.redaction import is_secret
from jobs_app.schemas.base import Field, NamedFields, require_mapping
from jobs_app.schemas.signatures import signature_schema
from jobs_app.tasks_backend.library import normalize_json

BY_POSITION = "*args"  # no parameter can have this name
HIDDEN_BY_POSITION = "*secret args"  # the same, of a task one of whose arguments has the name of a secret

Parameter = inspect.Parameter
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Call(dict[str, Any]):
    """A payload that the task API made: stored as it is. As with every backend, a call that cannot be made is told when
    it is made."""


@dataclass(frozen=True, slots=True)
class Argument:
    """Takes one argument out of a payload: what `subject="user_id"` means for a task."""

    name: str
    schema: CallSchema

    def __call__(self, payload: Mapping[str, Any]) -> Any:
        return self.schema.value(self.name, payload)

    def __str__(self) -> str:
        return self.name


class CallSchema:
    """What a task takes. The task API checks no types, and neither does this where it hands in a call; people who fill
    in a form are held to the signature."""

    def __init__(self, function: Callable[..., Any], *, takes_context: bool) -> None:
        self._function = function
        self._takes_context = takes_context
        parameters = list(inspect.signature(function).parameters.values())
        self._parameters = parameters[1:] if takes_context else parameters
        self._names = [one.name for one in self._parameters]
        self._by_position = HIDDEN_BY_POSITION if any(map(is_secret, self._names)) else BY_POSITION
        self._typed: NamedFields | None = None
        self._is_read = False

    def payload(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """What is stored for a call, of JSON values alone."""
        call = Call(kwargs)
        if args:
            call[self._by_position] = list(args)
        return call

    @property
    def fields(self) -> tuple[Field, ...]:
        typed = self._signature()
        if typed is not None:
            return typed.fields
        return tuple(_field(one) for one in self._parameters if one.kind in NAMED)

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        require_mapping(kwargs)
        if isinstance(kwargs, Call):
            return dict(kwargs)
        typed = self._signature()
        if typed is not None and not _positional(kwargs):
            return typed.dump(kwargs)
        self._require_callable(kwargs)
        try:
            normalized: dict[str, Any] = normalize_json(dict(kwargs))
        except (TypeError, ValueError) as error:
            raise PayloadInvalid(str(error)) from None
        return normalized

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        args, kwargs = split(payload)
        return {"args": args, "kwargs": kwargs}

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return dict(payload)

    def value(self, name: str, payload: Mapping[str, Any]) -> Any:
        """The argument of this name, however it was given; None where it was not."""
        if name in payload:
            return payload[name]
        places = [one.name for one in self._parameters if one.kind in BY_PLACE]
        args = _positional(payload)
        if name in places and places.index(name) < len(args):
            return args[places.index(name)]
        default = next((one.default for one in self._parameters if one.name == name), None)
        return None if default is Parameter.empty else default

    def argument(self, name: str) -> Argument:
        if name not in self._names and not any(one.kind is Parameter.VAR_KEYWORD for one in self._parameters):
            raise DefinitionInvalid(f"{name!r} is no argument of {self._function.__qualname__}")
        return Argument(name, self)

    def _signature(self) -> NamedFields | None:
        """The schema of its annotations, read when first asked for: where a task is defined, not all that they name is.
        None where its arguments cannot all be named, or their annotations not be resolved."""
        if not self._is_read:
            try:
                self._typed = signature_schema(self._function, takes_context=self._takes_context)
            except (DefinitionInvalid, NameError, TypeError):
                self._typed = None
            self._is_read = True
        return self._typed

    def _require_callable(self, payload: Mapping[str, Any]) -> None:
        args, kwargs = split(payload)
        signature = inspect.Signature(self._parameters)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise PayloadInvalid(f"it cannot be called with this: {error}") from None
        # Python 3.13.0 takes an argument by name for **kwargs though it may only be given by place, and misses it not.
        needed = {one.name for one in self._parameters if _is_needed_by_place(one)}
        if lacking := sorted(needed - bound.arguments.keys()):
            raise PayloadInvalid(f"it cannot be called with this: {', '.join(lacking)} must be given by position")


def split(payload: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by position and those by name."""
    kwargs = {name: value for name, value in payload.items() if name not in (BY_POSITION, HIDDEN_BY_POSITION)}
    return _positional(payload), kwargs


def _positional(payload: Mapping[str, Any]) -> list[Any]:
    found = payload.get(BY_POSITION) or payload.get(HIDDEN_BY_POSITION) or []
    if not isinstance(found, list):
        raise PayloadInvalid(f"{BY_POSITION} is a list of values, not {type(found).__name__}")
    return found


def _is_needed_by_place(parameter: Parameter) -> bool:
    return parameter.kind is Parameter.POSITIONAL_ONLY and parameter.default is Parameter.empty


def _field(parameter: Parameter) -> Field:
    required = parameter.default is Parameter.empty
    return Field(
        name=parameter.name, annotation=Any, required=required, default=None if required else parameter.default
    )
