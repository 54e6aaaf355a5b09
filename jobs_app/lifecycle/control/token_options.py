"""What an API token may be for: checked before it is made, and never more than whoever makes it may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from jobs_app import values
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act
from jobs_app.options import Reader, did_you_mean, read
from jobs_app.registry import SYSTEM_NAMES, JobType, registry
from jobs_app.schedule_options import optional
from jobs_app.serving import is_among
from jobs_app.tokens import SCOPES

PATTERN = re.compile(r"[A-Za-z0-9._:*?\[\]!-]{1,120}")
WILD = re.compile(r"[*?\[]")
STARTS_JOBS = {"trigger", "operate"}  # the scopes that do


def checked(act: Act, given: Mapping[str, Any]) -> dict[str, Any]:
    """As a row has them; OptionInvalid says what cannot be used, and what can."""
    where = f"API token {given['name']!r}"
    chosen = read(given, READERS, OptionInvalid, where)
    for problem in filter(None, (unregistered(chosen["job_types"]), _beyond(act, chosen))):
        raise OptionInvalid(f"{where}: {problem}")
    return chosen


def unregistered(job_types: Iterable[str]) -> str:
    """What is wrong with the first that is neither known nor a pattern; empty if none is. It would be good for nothing,
    and nobody would notice."""
    known = [each.name for each in _for_tokens()]
    unknown = [name for name in job_types if not WILD.search(name) and name not in known]
    return f"there is no job type {unknown[0]!r}.{did_you_mean(unknown[0], known)}" if unknown else ""


def _beyond(act: Act, chosen: Mapping[str, Any]) -> str:
    """Which job the token could start and whoever makes it could not."""
    if not STARTS_JOBS & set(chosen["scopes"]):
        return ""
    for each in _for_tokens():
        if _is_for(chosen, each) and not act.may(each.permission):
            lacking = f"{each.name} needs the permission {each.permission}, which {act.actor} does not have"
            return f"{lacking}. Name the job types or the queues that it is for."
    return ""


def _for_tokens() -> list[JobType]:
    return [each for each in registry if not each.name.startswith(SYSTEM_NAMES)]


def _is_for(chosen: Mapping[str, Any], job_type: JobType) -> bool:
    return is_among(job_type.name, chosen["job_types"]) and is_among(job_type.queue, chosen["queues"])


def _scopes(value: object) -> list[str]:
    given = _texts(value)
    if not given or not set(given) <= set(SCOPES):
        raise ValueError(f"use one or more of {', '.join(SCOPES)}")
    return [scope for scope in SCOPES if scope in given]


def _patterns(value: object) -> list[str]:
    given = _texts(value)
    for each in given:
        if not PATTERN.fullmatch(each):
            raise ValueError("use names, or patterns such as mail.*, of 1 to 120 characters")
        if each.startswith(SYSTEM_NAMES):
            raise ValueError(f"what begins with {SYSTEM_NAMES} is the app's own, and no token is good for it")
    return list(dict.fromkeys(given))


def _texts(value: object) -> list[str]:
    given = None if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) else list(value)
    if given is None or not all(isinstance(each, str) for each in given):
        raise ValueError("use a list of texts")
    return given


READERS: dict[str, Reader] = {
    "name": partial(values.text, longest=120, shortest=1),
    "scopes": _scopes,
    "queues": _patterns,
    "job_types": _patterns,
    "expires_at": optional(values.moment),
}
