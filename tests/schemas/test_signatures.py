"""A handler's signature is the schema of its payload."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.schemas import Field, schema_for

if TYPE_CHECKING:
    from somewhere import Context, Unknown  # type: ignore[import-not-found]


def welcome(user_id: int, resend: bool = False, *, on: date | None = None) -> None: ...


def untyped(a, b=1): ...  # type: ignore[no-untyped-def]


def open_ended(n: int, **more: float) -> None: ...


def with_context(job: Context, n: int) -> Unknown: ...


def report(pages: Annotated[int, "how many"], size: Literal["a4", "a5"] = "a4") -> None: ...


def test_only_what_was_given_is_stored() -> None:
    schema = schema_for(welcome)
    assert schema.dump({"user_id": 7}) == {"user_id": 7}
    assert schema.dump({"user_id": 7, "on": date(2026, 1, 31)}) == {"user_id": 7, "on": "2026-01-31"}


def test_the_handler_gets_typed_arguments_again() -> None:
    assert schema_for(welcome).load({"user_id": 7, "on": "2026-01-31"}) == {"user_id": 7, "on": date(2026, 1, 31)}


def test_every_fault_is_named_by_field() -> None:
    with pytest.raises(PayloadInvalid) as refusal:
        schema_for(welcome).dump({"resend": "yes", "user": 1})
    assert refusal.value.errors == {
        "resend": "expected true or false, not 'yes'",
        "user": "is unknown. Did you mean 'user_id'?",
        "user_id": "is missing",
    }
    assert str(refusal.value).startswith("resend: expected true or false, not 'yes'; user: is unknown.")


def test_a_stored_payload_that_no_longer_fits_is_refused() -> None:
    with pytest.raises(PayloadInvalid, match="user_id: is missing"):
        schema_for(welcome).load({"user": 7})
    with pytest.raises(PayloadInvalid, match="a payload is a mapping of names to values, not list"):
        schema_for(welcome).load([7])  # type: ignore[arg-type]


def test_a_handler_without_arguments_takes_nothing() -> None:
    schema = schema_for(lambda: None)
    assert schema.dump({}) == {}
    with pytest.raises(PayloadInvalid, match=r"n: is unknown\. This job takes no payload\."):
        schema.dump({"n": 1})


def test_arguments_without_annotation_take_any_json() -> None:
    assert schema_for(untyped).dump({"a": [1, None]}) == {"a": [1, None]}
    with pytest.raises(PayloadInvalid, match="a: is missing"):
        schema_for(untyped).dump({"b": 1})


def test_an_open_handler_takes_other_names_too() -> None:
    schema = schema_for(open_ended)
    assert schema.dump({"n": 1, "x": 2}) == {"n": 1, "x": 2.0}
    assert schema.load({"n": 1, "x": 2}) == {"n": 1, "x": 2.0}
    with pytest.raises(PayloadInvalid, match="x: expected a number"):
        schema.dump({"n": 1, "x": "y"})
    with pytest.raises(PayloadInvalid, match="n: is missing"):
        schema.dump({"x": 2})
    assert [field.name for field in schema.fields] == ["n"]


def test_names_of_the_payload_may_be_those_of_the_schema_itself() -> None:
    def awkward(self: int, kwargs: int, payload: int, more: int) -> None: ...

    payload = {"self": 1, "kwargs": 2, "payload": 3, "more": 4}
    assert schema_for(awkward).dump(payload) == payload


def test_context_and_result_are_no_part_of_the_payload_and_need_not_exist_at_run_time() -> None:
    schema = schema_for(with_context, takes_context=True)
    assert [field.name for field in schema.fields] == ["n"]
    assert schema.dump({"n": 1}) == {"n": 1}


def test_a_wrapped_handler_shows_its_own_signature() -> None:
    @functools.wraps(welcome)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    assert [field.name for field in schema_for(wrapper).fields] == ["user_id", "resend", "on"]


def test_fields_say_what_a_person_must_know() -> None:
    pages, size = schema_for(report).fields
    assert pages == Field(name="pages", annotation=Annotated[int, "how many"], required=True, help="how many")
    assert (size.required, size.default, size.choices) == (False, "a4", ("a4", "a5"))


def by_position(a: int, /) -> None: ...


def any_number(*rows: int) -> None: ...


def nothing() -> None: ...


def unreadable(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def unstorable(a: bytes) -> None: ...


@pytest.mark.parametrize(
    ("handler", "takes_context", "words"),
    [
        (by_position, False, "by_position takes a: 'int' by position, but a payload is keyword arguments"),
        (any_number, False, r"any_number takes \*rows: 'int' by position"),
        (nothing, True, "nothing takes_context, so its first argument must be the context"),
        (unreadable, False, "an annotation of unreadable cannot be read: name 'Missing' is not defined"),
        (unstorable, False, "a: bytes has no JSON form"),
    ],
)
def test_a_handler_that_cannot_work_is_refused(handler: Callable[..., Any], takes_context: bool, words: str) -> None:
    with pytest.raises(DefinitionInvalid, match=words):
        schema_for(handler, takes_context=takes_context)
