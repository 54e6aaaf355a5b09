"""Arguments that are stored as text: read as values, never run."""

from __future__ import annotations

import ast
import json
from typing import Any

UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def json_arguments(args: object, kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A list and an object, as Celery beat has them."""
    positional, named = _json("args", args, []), _json("kwargs", kwargs, {})
    if not isinstance(positional, list) or not isinstance(named, dict):
        raise ValueError("its args are no list, or its kwargs no object, of JSON")
    return tuple(positional), named


def python_arguments(args: object, kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Python literals, as django-q2 has them: `1, 'a'` or `(1, 'a')`; `{'x': 1}` or `x=1, y=2`."""
    return _positional(str(args or "").strip()), _named(str(kwargs or "").strip())


def _json(name: str, text: object, otherwise: Any) -> Any:
    try:
        return json.loads(str(text)) if text else otherwise
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} are no JSON") from None


def _positional(text: str) -> tuple[Any, ...]:
    if not text:
        return ()
    try:
        found = ast.literal_eval(text)
    except UNREADABLE:
        raise ValueError("its args are no literals of Python") from None
    return found if isinstance(found, tuple) else (found,)


def _named(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = ast.literal_eval(text)
    except UNREADABLE:
        found = _written_as_call(text)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ValueError("its kwargs have no names")
    return found


def _written_as_call(text: str) -> dict[str | None, Any]:
    try:
        call = ast.parse(f"f({text}\n)", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError(text)
        return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except UNREADABLE:
        raise ValueError("its kwargs are no literals of Python") from None
