"""JSON that both databases store and give back unchanged, or a refusal that says why."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any, NoReturn

from jobs_app.errors import PayloadInvalid

MAX_DEPTH = 64  # lists and objects within each other

ATOMS = frozenset({str, int, float, bool, type(None)})


def dumps(value: Any, *, limit: int, what: str = "payload") -> str:
    """Compact JSON of at most `limit` bytes; PayloadInvalid for what JSON, UTF-8 or jsonb cannot hold."""
    try:
        _check_shape(value, limit)
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError) as error:
        raise PayloadInvalid(f"the {what} cannot be stored as JSON: {_fault_in(value) or error}") from None
    if size > limit:
        raise PayloadInvalid(
            f"the {what} takes {size} bytes as JSON, more than the {limit} allowed. Store it elsewhere, pass its key."
        )
    # The escape may also be spelled out in harmless text; only a look at the strings themselves can tell.
    if "\\u0000" in text and (fault := _fault_in(value)):
        raise PayloadInvalid(f"the {what} cannot be stored as JSON: {fault}")
    return text


def require_depth(value: Any, *, limit: int, what: str = "payload") -> None:
    """PayloadInvalid for what would exhaust the stack of whoever walks through it."""
    try:
        _check_shape(value, limit)
    except (TypeError, ValueError) as error:
        raise PayloadInvalid(f"the {what} cannot be stored as JSON: {error}") from None


def loads(text: str | bytes, *, what: str = "payload") -> Any:
    """Read JSON as the standard has it: no NaN, no Infinity, no number that a float cannot hold."""
    try:
        return _decode(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise PayloadInvalid(f"the {what} is not JSON: {error}") from None


def _check_shape(value: Any, limit: int) -> None:
    """Refuse what the encoder would let pass: keys that it turns into text, and endless depth."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer) if item.__class__ not in ATOMS]
        if not level:
            return
        if len(level) > limit:  # a cycle can double at each level, and each of these takes a byte at least
            break
    raise ValueError(f"it is larger than {limit} bytes or nested deeper than {MAX_DEPTH} levels")


def _items(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError("a key is not text")
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _fault_in(value: Any, path: str = "", depth: int = 0) -> str | None:
    """What is wrong with a value that was refused, and where."""
    if isinstance(value, (dict, list, tuple)):
        return _fault_inside(value, path, depth + 1)
    fault = _fault_of_atom(value)
    return fault and (f"at {path}: {fault}" if path else fault)


def _fault_inside(value: Any, path: str, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} levels, or contains itself"
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        if isinstance(value, dict) and (fault := _fault_of_key(key)):
            return f"at {path}: {fault}" if path else fault
        if fault := _fault_in(item, f"{path}[{key!r}]", depth):
            return fault
    return None


def _fault_of_key(key: Any) -> str | None:
    if not isinstance(key, str):
        return f"the key {key!r} is not text. Use str({key!r})."
    fault = _fault_of_atom(key)
    return fault and f"in the key {key!r}, {fault}"


def _fault_of_atom(value: Any) -> str | None:
    if isinstance(value, str):
        if "\0" in value:
            return "a text holds a NUL character, which PostgreSQL cannot store. Remove it."
        return None if _is_utf8(value) else "a text holds half of a surrogate pair. Decode it with errors='replace'."
    if isinstance(value, float):
        return None if math.isfinite(value) else "NaN and Infinity are not JSON. Use None or a text."
    if value is None or isinstance(value, int):
        return None
    return f"{type(value).__name__} has no JSON form. Annotate the argument with its type, or pass text or an id."


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large for a number")
    return number


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).decode
