"""The converter that an annotation asks for."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union

from jobs_app.errors import DefinitionInvalid
from jobs_app.schemas import composites
from jobs_app.schemas.base import Field, NamedFields
from jobs_app.schemas.dataclass_schema import DataclassSchema, default_of, is_required
from jobs_app.schemas.scalars import ANYTHING, SCALARS, Converter

Inside = tuple[type, ...]  # the dataclasses around an annotation, outermost first


def converter_for(annotation: Any, inside: Inside = ()) -> Converter:
    """The converter of an annotation; DefinitionInvalid if it has no JSON form."""
    annotation = unwrap(annotation)
    kind = typing.get_origin(annotation) or annotation
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return dataclass_schema(kind, inside).as_converter()
    for known, build in BUILDERS:
        if kind is known:
            return build(typing.get_args(annotation), inside)
    for known, converter in SCALARS.items():
        if kind is known:
            return converter
    raise DefinitionInvalid(f"{_name(annotation)} has no JSON form: {_advice(annotation)}")


def dataclass_schema(cls: type[Any], inside: Inside = ()) -> DataclassSchema:
    if cls in inside:
        raise DefinitionInvalid(f"the dataclass {cls.__name__} contains itself: use dict for the inner one")
    hints = resolve(cls, owner=f"the dataclass {cls.__name__}")
    fields, converters = [], {}
    for field in dataclasses.fields(cls):
        if field.init:
            converters[field.name] = converter = named_converter(field.name, hints[field.name], (*inside, cls))
            fields.append(
                Field(
                    name=field.name,
                    annotation=hints[field.name],
                    required=is_required(field),
                    default=default_of(field),
                    choices=converter.choices,
                    help=help_in(hints[field.name]),
                )
            )
    return DataclassSchema(cls, NamedFields(fields, converters))


def named_converter(name: str, annotation: Any, inside: Inside = ()) -> Converter:
    try:
        return converter_for(annotation, inside)
    except DefinitionInvalid as error:
        raise DefinitionInvalid(f"{name}: {error}") from None


def resolve(holder: Any, *, owner: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """The annotations of a class or other holder as types, also those that are kept as text."""
    try:
        return typing.get_type_hints(holder, globalns=namespace, include_extras=True)
    except Exception as error:
        raise DefinitionInvalid(
            f"an annotation of {owner} cannot be read: {error}. Names in it must exist in the module at run time, "
            "not only under TYPE_CHECKING or inside a function."
        ) from error


def help_in(annotation: Any) -> str:
    """The text in `Annotated[int, "how many pages"]`."""
    return next((note for note in getattr(annotation, "__metadata__", ()) if isinstance(note, str)), "")


def unwrap(annotation: Any) -> Any:
    """The plain type behind Annotated, NewType and a `type` alias."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # Python 3.12 and newer
            annotation = annotation.__value__
        else:
            return annotation


def _union(members: tuple[Any, ...], inside: Inside) -> Converter:
    converters = [converter_for(member, inside) for member in members]
    if ANYTHING in converters:
        return ANYTHING
    forms = [form for converter in converters for form in converter.forms]
    if len(forms) > len(set(forms)):
        names = " | ".join(_name(member) for member in members)
        raise DefinitionInvalid(f"{names} look alike in JSON, so the right one could not be found again: keep one")
    return composites.union_of(converters)


def _literal(values: tuple[Any, ...], inside: Inside) -> Converter:
    if not all(type(value) in composites.FORM_OF_TYPE for value in values):
        raise DefinitionInvalid("a Literal may hold only str, int, bool and None")
    return composites.choice_of([(value, value) for value in values])


def _enum(members: type[enum.Enum]) -> Converter:
    by_value = all(type(member.value) in composites.FORM_OF_TYPE for member in members)
    return composites.enum_of(members, {member: member.value if by_value else member.name for member in members})


def _list(arguments: tuple[Any, ...], inside: Inside) -> Converter:
    return composites.list_of(converter_for(arguments[0], inside) if arguments else ANYTHING)


def _tuple(arguments: tuple[Any, ...], inside: Inside) -> Converter:
    if not arguments:
        return composites.tuple_of(ANYTHING)
    if arguments[-1] is Ellipsis:
        return composites.tuple_of(converter_for(arguments[0], inside))
    return composites.fixed_tuple_of([converter_for(argument, inside) for argument in arguments])


def _dict(arguments: tuple[Any, ...], inside: Inside) -> Converter:
    if arguments and unwrap(arguments[0]) is not str:
        raise DefinitionInvalid(f"dict[{_name(arguments[0])}, ...] has no JSON form: keys must be str")
    return composites.dict_of(converter_for(arguments[1], inside) if arguments else ANYTHING)


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _advice(annotation: Any) -> str:
    if hasattr(annotation, "_meta"):
        return "pass the primary key and load the row in the handler"
    return "use str, int, float, bool, Decimal, date, datetime, UUID, Literal, Enum, list, dict or a dataclass"


BUILDERS: tuple[tuple[Any, Callable[[tuple[Any, ...], Inside], Converter]], ...] = (
    (Union, _union),
    (types.UnionType, _union),
    (Literal, _literal),
    (list, _list),
    (Sequence, _list),
    (tuple, _tuple),
    (dict, _dict),
    (Mapping, _dict),
)
