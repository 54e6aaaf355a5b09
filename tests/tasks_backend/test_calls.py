"""Arguments by place and by name: stored, read, given to the function, and hidden where they are secrets."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.redaction import redact
from jobs_app.tasks_backend.calls import BY_POSITION, HIDDEN_BY_POSITION, CallSchema, split


def whole(left: int, /, right: int, *rest: int, scale: int = 1, **more: int) -> int: ...


def typed(user_id: int, word: str = "hello") -> None: ...


def sign_in(user: str, password: str) -> None: ...


def unresolved(thing: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821


def schema(function: Any, *, takes_context: bool = False) -> CallSchema:
    return CallSchema(function, takes_context=takes_context)


@pytest.mark.parametrize(
    ("args", "kwargs"), [([], {}), ([1], {}), ([], {"right": 2}), ([1, [2]], {"scale": {"a": None}}), ([[]], {})]
)
def test_a_call_is_stored_and_read_back(args: list[Any], kwargs: dict[str, Any]) -> None:
    call = schema(whole).payload(args, kwargs)
    assert schema(whole).dump(call) == dict(call)
    assert split(call) == (args, kwargs)
    assert schema(whole).load(call) == {"args": args, "kwargs": kwargs}


def test_arguments_by_name_are_plain_fields() -> None:
    assert schema(typed).payload([], {"user_id": 1}) == {"user_id": 1}
    assert schema(typed).payload([1], {"word": "x"}) == {"word": "x", BY_POSITION: [1]}


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({BY_POSITION: [7]}, 7),
        ({"user_id": 8}, 8),
        ({BY_POSITION: [], "user_id": 9}, 9),
        ({}, None),
    ],
)
def test_an_argument_is_found_however_it_was_given(payload: dict[str, Any], found: Any) -> None:
    assert schema(typed).argument("user_id")(payload) == found


def test_an_argument_that_was_not_given_has_its_default() -> None:
    assert schema(typed).argument("word")({BY_POSITION: [7]}) == "hello"
    assert schema(whole).argument("left")({BY_POSITION: [1, 2]}) == 1
    assert schema(whole).argument("scale")({BY_POSITION: [1, 2, 3, 4]}) == 1


def test_only_what_it_takes_can_be_an_argument() -> None:
    with pytest.raises(DefinitionInvalid, match="'user' is no argument of typed"):
        schema(typed).argument("user")
    assert str(schema(whole).argument("anything")) == "anything"


def test_secrets_given_by_place_are_hidden_too() -> None:
    call = schema(sign_in).payload(["ann", "hunter2"], {})
    assert list(call) == [HIDDEN_BY_POSITION]
    assert "hunter2" not in str(redact(dict(call)))
    assert split(call) == (["ann", "hunter2"], {})
    assert "hunter2" not in str(redact(dict(schema(sign_in).payload(["ann"], {"password": "hunter2"}))))


def test_people_are_held_to_the_signature() -> None:
    assert schema(typed).dump({"user_id": 1}) == {"user_id": 1}
    for wrong in ({"user_id": "x"}, {"user": 1}, {}):
        with pytest.raises(PayloadInvalid):
            schema(typed).dump(wrong)


def test_people_may_give_arguments_by_place_where_names_do_not_do() -> None:
    assert schema(whole).dump({BY_POSITION: [1, 2, 3], "scale": 2}) == {BY_POSITION: [1, 2, 3], "scale": 2}
    for wrong in ({}, {BY_POSITION: [1]}, {BY_POSITION: 1}, {"left": 1, "right": 2}):
        with pytest.raises(PayloadInvalid):
            schema(whole).dump(wrong)


def test_annotations_that_name_nothing_are_no_hindrance() -> None:
    (field,) = schema(unresolved).fields
    assert (field.name, field.required) == ("thing", True)
    assert schema(unresolved).dump({"thing": [1]}) == {"thing": [1]}
    with pytest.raises(PayloadInvalid, match="Unsupported type"):
        schema(unresolved).dump({"thing": object()})


def test_the_context_is_no_argument() -> None:
    def with_context(context: Any, word: str) -> None: ...

    assert [field.name for field in schema(with_context, takes_context=True).fields] == ["word"]
