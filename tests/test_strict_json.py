"""JSON that PostgreSQL and SQLite store unchanged, and clear words about what they cannot."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.errors import PayloadInvalid
from jobs_app.strict_json import MAX_DEPTH, dumps, loads

ROOM = 1024 * 1024

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
documents = st.recursive(atoms, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(documents)
def test_what_is_accepted_comes_back_unchanged(document: Any) -> None:
    assert loads(dumps(document, limit=ROOM)) == document


@given(documents)
def test_the_size_is_counted_in_bytes_of_utf8(document: Any) -> None:
    size = len(dumps(document, limit=ROOM).encode())
    assert dumps(document, limit=size)
    with pytest.raises(PayloadInvalid):
        dumps(document, limit=size - 1)


def test_output_is_compact_and_readable() -> None:
    assert dumps({"n": 1, "name": "caf\xe9"}, limit=ROOM) == '{"n":1,"name":"caf\xe9"}'


def test_large_whole_numbers_stay_exact() -> None:
    assert loads(dumps(2**53 + 1, limit=ROOM)) == 2**53 + 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"x": math.nan}, r"at \['x'\]: NaN and Infinity"),
        ([-math.inf], r"at \[0\]: NaN and Infinity"),
        ({"rows": ["a", "b\0"]}, r"at \['rows'\]\[1\]: a text holds a NUL"),
        ({"\0": 1}, r"in the key '\\x00', a text holds a NUL"),
        ("\ud800", "half of a surrogate pair"),
        ({"a": {"\udfff": 1}}, r"at \['a'\]: in the key '\\udfff', a text holds half"),
        ({1: "one"}, "the key 1 is not text"),
        ({"deep": [{None: 1}]}, r"at \['deep'\]\[0\]: the key None is not text"),
        ({"day": date(2026, 1, 1)}, r"at \['day'\]: date has no JSON form. Annotate"),
        ({"b": b"bytes"}, "bytes has no JSON form"),
        ({"s": {1, 2}}, "set has no JSON form"),
        ([10**5000], "4300 digits"),
        (nested(MAX_DEPTH + 1), "deeper than 64 levels"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_place(value: Any, words: str) -> None:
    with pytest.raises(PayloadInvalid, match=words):
        dumps(value, limit=ROOM)


def test_the_deepest_allowed_value_is_allowed() -> None:
    assert dumps(nested(MAX_DEPTH), limit=ROOM) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


def test_a_value_that_contains_itself_is_refused_at_once() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(PayloadInvalid, match="contains itself"):
        dumps(loop, limit=ROOM)


def test_more_containers_than_bytes_allowed_are_refused_before_they_are_written() -> None:
    with pytest.raises(PayloadInvalid, match="larger than 10 bytes"):
        dumps([[] for _ in range(11)], limit=10)


def test_an_over_large_value_is_told_its_size() -> None:
    with pytest.raises(PayloadInvalid, match="the result takes 102 bytes as JSON, more than the 100 allowed"):
        dumps("x" * 100, limit=100, what="result")


def test_a_text_that_only_spells_the_escape_of_nul_is_allowed() -> None:
    assert loads(dumps("\\u0000", limit=ROOM)) == "\\u0000"


def test_tuples_and_subclasses_are_written_as_what_they_are() -> None:
    class Name(str):
        pass

    assert json.loads(dumps({Name("a"): (1, Name("b"))}, limit=ROOM)) == {"a": [1, "b"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "NaN is not allowed"),
        ("[-Infinity]", "-Infinity is not allowed"),
        ("[1e999]", "1e999 is too large"),
        ("{", "not JSON"),
        ("", "not JSON"),
        pytest.param("[" * 100_000, "recursion", id="too deep"),
        (b"\xff", "utf-8"),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(PayloadInvalid, match=words):
        loads(text)


def test_bytes_are_read_as_utf8() -> None:
    assert loads('["caf\xe9", 1.5]'.encode()) == ["caf\xe9", 1.5]
