"""Arguments that are stored as text."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.importing.literals import json_arguments, python_arguments


@pytest.mark.parametrize(
    ("args", "kwargs", "read"),
    [
        ('["a", 1]', '{"x": null}', (("a", 1), {"x": None})),
        ("", "", ((), {})),
        (None, None, ((), {})),
        ("[]", "{}", ((), {})),
    ],
)
def test_json(args: Any, kwargs: Any, read: Any) -> None:
    assert json_arguments(args, kwargs) == read


@pytest.mark.parametrize(("args", "kwargs"), [("[", "{}"), ("[]", "nope"), ("{}", "{}"), ("[]", "[]")])
def test_what_is_no_json_of_arguments_is_refused(args: str, kwargs: str) -> None:
    with pytest.raises(ValueError, match=r"its (args|kwargs)"):
        json_arguments(args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "read"),
    [
        ("1, 2, 'John'", "x=1, name='John'", ((1, 2, "John"), {"x": 1, "name": "John"})),
        ("(1,)", "{'x': [1, None]}", ((1,), {"x": [1, None]})),
        ("'one'", "", (("one",), {})),
        ("[1, 2]", None, (([1, 2],), {})),
        (None, "x=-1,", ((), {"x": -1})),
    ],
)
def test_python(args: Any, kwargs: Any, read: Any) -> None:
    assert python_arguments(args, kwargs) == read


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ("open('x')", ""),
        ("1 +", ""),
        ("(" * 500, ""),
        ("", "x=open('x')"),
        ("", "x=1) or f(y=2"),
        ("", "1, x=2"),
        ("", "**{'x': 1}"),
        ("", "[1]"),
        ("", "{1: 2}"),
    ],
)
def test_code_is_never_run_and_what_is_no_literal_is_refused(args: str, kwargs: str) -> None:
    with pytest.raises(ValueError, match=r"its (args|kwargs)"):
        python_arguments(args, kwargs)
