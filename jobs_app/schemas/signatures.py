"""The schema that a handler's own signature gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from jobs_app.errors import DefinitionInvalid
from jobs_app.schemas.annotations import help_in, named_converter, resolve
from jobs_app.schemas.base import Field, NamedFields
from jobs_app.schemas.scalars import Converter

Parameter = inspect.Parameter


def signature_schema(function: Callable[..., Any], *, takes_context: bool) -> NamedFields:
    parameters = payload_parameters(function, takes_context=takes_context)
    hints = _hints(function, parameters)
    converters = {one.name: named_converter(one.name, hints[one.name]) for one in parameters}
    fields = [
        _field(one, hints[one.name], converters[one.name])
        for one in parameters
        if one.kind is not Parameter.VAR_KEYWORD
    ]
    rest = next((converters.pop(one.name) for one in parameters if one.kind is Parameter.VAR_KEYWORD), None)
    return NamedFields(fields, converters, rest=rest)


def payload_parameters(function: Callable[..., Any], *, takes_context: bool) -> list[Parameter]:
    """The parameters that get the payload: all but the context, which comes first."""
    parameters = list(inspect.signature(function).parameters.values())
    if takes_context:
        if not parameters or parameters[0].kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
            raise DefinitionInvalid(f"{_name(function)} takes_context, so its first argument must be the context")
        parameters = parameters[1:]
    for one in parameters:
        if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise DefinitionInvalid(
                f"{_name(function)} takes {one} by position, but a payload is keyword arguments. "
                f"Make {one.name!r} an ordinary argument, a list for *args."
            )
    return parameters


def require_arguments(function: Callable[..., Any], names: Iterable[str], *, takes_context: bool) -> None:
    """Refuse a handler that cannot be called with just these names."""
    parameters = {one.name: one for one in payload_parameters(function, takes_context=takes_context)}
    given = set(names)
    is_open = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    needed = {
        one.name
        for one in parameters.values()
        if one.default is Parameter.empty and one.kind is not Parameter.VAR_KEYWORD
    }
    if lacking := sorted(needed - given):
        raise DefinitionInvalid(f"{_name(function)} needs {', '.join(lacking)}, which its schema does not have")
    if not is_open and (extra := sorted(given - parameters.keys())):
        raise DefinitionInvalid(f"{_name(function)} has no argument {', '.join(extra)}, which its schema gives")


def _hints(function: Callable[..., Any], parameters: list[Parameter]) -> dict[str, Any]:
    # Only what becomes payload is resolved: the annotations of context and result may exist for type checkers only.
    written = {one.name: Any if one.annotation is Parameter.empty else one.annotation for one in parameters}
    namespace = getattr(inspect.unwrap(function), "__globals__", {})
    return resolve(SimpleNamespace(__annotations__=written), owner=_name(function), namespace=namespace)


def _field(parameter: Parameter, annotation: Any, converter: Converter) -> Field:
    required = parameter.default is Parameter.empty
    return Field(
        name=parameter.name,
        annotation=annotation,
        required=required,
        default=None if required else parameter.default,
        choices=converter.choices,
        help=help_in(annotation),
    )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
