"""Converters made of converters: choices, unions, lists, tuples and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from jobs_app.schemas.scalars import Convert, Converter, Mismatch, to_text, unfit

FORM_OF_TYPE = {str: "text", int: "whole number", float: "number", bool: "flag", type(None): "null"}
LIST = frozenset({"list"})
OBJECT = frozenset({"object"})

# null and flag take nothing else; int comes before float, and both before types that also take numbers (Decimal),
# so that each value of a union meets its own type first.
STRICTEST_FIRST = ("null", "flag", "whole number", "number", "text", "list", "object")


def choice_of(pairs: Sequence[tuple[Any, Any]]) -> Converter:
    """One of some values, each given with its JSON form."""
    # The type is part of the key, since True and 1 are equal to Python but not to JSON.
    by_form = {(type(form), form): (value, form) for value, form in pairs}
    forms = tuple(form for _, form in pairs)
    expected = "one of " + ", ".join(repr(form) for form in forms)

    def find(value: Any) -> tuple[Any, Any]:
        try:
            return by_form[type(value), value]
        except (KeyError, TypeError):
            raise unfit(expected, value) from None

    kinds = frozenset(FORM_OF_TYPE[type(form)] for form in forms)
    return Converter(lambda value: find(value)[1], lambda value: find(value)[0], kinds, forms)


def enum_of(members: type[Enum], forms: Mapping[Enum, Any]) -> Converter:
    choice = choice_of(list(forms.items()))

    def dump(value: Any) -> Any:
        return forms[value] if isinstance(value, members) and value in forms else choice.dump(value)

    return choice._replace(dump=dump)


def union_of(members: Sequence[Converter]) -> Converter:
    """The first member that takes a value has it; their forms must not overlap."""
    ordered = sorted(members, key=lambda member: min(map(STRICTEST_FIRST.index, member.forms)))
    forms = frozenset[str]().union(*(member.forms for member in ordered))
    real = [member for member in ordered if member.forms != {"null"}]
    return Converter(
        _first([member.dump for member in ordered], forms, alone=len(real) == 1),
        _first([member.load for member in ordered], forms, alone=len(real) == 1),
        forms,
        real[0].choices if len(real) == 1 else (),
    )


def _first(converts: Sequence[Convert], forms: frozenset[str], *, alone: bool) -> Convert:
    expected = " or ".join(sorted(forms, key=STRICTEST_FIRST.index, reverse=True))

    def convert(value: Any) -> Any:
        faults = []
        for one in converts:
            try:
                return one(value)
            except Mismatch as fault:
                faults.append(fault)
        if alone:  # besides null: its own words say most
            raise faults[-1]
        deepest = max(faults, key=lambda fault: len(fault.path))
        if deepest.path:
            raise deepest
        raise unfit(expected, value)

    return convert


def list_of(item: Converter) -> Converter:
    return Converter(_each(item.dump), _each(item.load), LIST)


def tuple_of(item: Converter) -> Converter:
    load = _each(item.load)
    return Converter(_each(item.dump), lambda value: tuple(load(value)), LIST)


def fixed_tuple_of(items: Sequence[Converter]) -> Converter:
    load = _each_own([item.load for item in items])
    return Converter(_each_own([item.dump for item in items]), lambda value: tuple(load(value)), LIST)


def dict_of(item: Converter) -> Converter:
    return Converter(_values(item.dump), _values(item.load), OBJECT)


def _each(convert: Convert) -> Convert:
    def convert_list(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise unfit("a list", value)
        try:
            return [convert(item) for item in value]
        except Mismatch:
            raise _located([(f"[{index}]", convert, item) for index, item in enumerate(value)]) from None

    return convert_list


def _each_own(converts: Sequence[Convert]) -> Convert:
    def convert_parts(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)) or len(value) != len(converts):
            raise unfit(f"a list of {len(converts)}", value)
        try:
            return [convert(item) for convert, item in zip(converts, value, strict=True)]
        except Mismatch:
            steps = [f"[{index}]" for index in range(len(value))]
            raise _located(list(zip(steps, converts, value, strict=True))) from None

    return convert_parts


def _values(convert: Convert) -> Convert:
    def convert_dict(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise unfit("an object", value)
        try:
            return {to_text(key): convert(item) for key, item in value.items()}
        except Mismatch:
            keys = [("key", to_text, key) for key in value]
            raise _located(keys + [(f"[{key!r}]", convert, item) for key, item in value.items()]) from None

    return convert_dict


def _located(parts: Sequence[tuple[str, Convert, Any]]) -> Mismatch:
    """The first fault among the parts, with the step that leads to it. Paths cost time, so only faults pay for them."""
    for step, convert, part in parts:
        try:
            convert(part)
        except Mismatch as fault:
            return fault.within(step)
    raise AssertionError("a part that did not fit does now")  # pragma: no cover
