"""A payload that somebody hands in: checked, and what of it names the work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from jobs_app.errors import PayloadInvalid
from jobs_app.strict_json import dumps
from jobs_app.text import clean

if TYPE_CHECKING:
    from jobs_app.registry import JobType

Payload: TypeAlias = Mapping[str, Any]  # as stored
Source: TypeAlias = str | Callable[..., Any] | None


def checked(job_type: JobType, payload: Payload) -> dict[str, Any]:
    """The payload as it will be stored."""
    try:
        return job_type.schema.dump(payload)
    except PayloadInvalid as problem:
        raise PayloadInvalid(f"job {job_type.name!r}: {problem}", problem.errors) from None


def with_defaults(job_type: JobType, payload: Payload) -> dict[str, Any]:
    """The payload with what its handler would have where it says nothing, for a handler that is not here."""
    filled = dict(payload)
    for field in job_type.schema.fields:
        name = field.alias or field.name
        if not field.required and name not in filled:
            with suppress(PayloadInvalid, TypeError, ValueError):  # a default that no payload could hold
                found = job_type.schema.dump({**filled, name: field.default})
                dumps(found, limit=sys.maxsize)
                filled = found
    return filled


def field_of(job_type: JobType, source: Source, payload: Payload) -> Any:
    """The value that `source` names; None where it names none. Raises what the type's own callable raises."""
    if source is None:
        return None
    if callable(source):
        return source(payload)
    if source in payload:
        return payload[source]
    default = next((field.default for field in job_type.schema.fields if field.name == source), None)
    return None if default is None else job_type.schema.dump({**payload, source: default})[source]


def named(job_type: JobType, option: str, payload: Payload) -> Any:
    """The subject or the key of a payload that somebody hands in; one that the type cannot read is refused."""
    try:
        return field_of(job_type, getattr(job_type, option), payload)
    except Exception as error:  # of the host's own callable
        why = f"{type(error).__name__}: {clean(error)}"
        raise PayloadInvalid(f"job {job_type.name!r}: its {option} cannot be told from this payload: {why}") from error
