"""Rules for single values: each takes what a person wrote, gives what the app uses, or says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.functional import Promise

from jobs_app.errors import as_seconds
from jobs_app.presets import Preset
from jobs_app.presets import get as get_preset
from jobs_app.retry import Backoff

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")
UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters and lone surrogates
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
RATE = re.compile(r"(\d+)\s*/\s*(\w.*)")
MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([MG])B")
LEAST_MEMORY = 64 * 1024**2  # about what a process with Django in it takes
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
ENDS = ("succeeded", "failed", "cancelled")
LONGEST = timedelta(days=36500).total_seconds()  # later moments do not fit every database
YEARS = range(1900, 3000)


def name(value: object) -> str:
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    raise ValueError("use 1 to 120 letters, digits and . _ : - and start with a letter or digit")


def label(value: object) -> str | Promise:
    if isinstance(value, str | Promise):
        return value
    raise ValueError("use text")


def text(value: object, *, longest: int, shortest: int = 0) -> str:
    if not isinstance(value, str) or not shortest <= len(value) <= longest:
        raise ValueError(f"use text of {shortest} to {longest} characters")
    if UNSTORABLE.search(value):
        raise ValueError("use text without control characters and lone surrogates")
    return value


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("use True or False")


def switch(value: Any) -> Any:
    return value if callable(value) else flag(value)


def whole(value: object, *, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise ValueError(f"use a whole number from {low} to {high}")


def choice(value: object, *, of: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in of:
        return value
    raise ValueError(f"use one of {', '.join(of)}")


def seconds(value: object) -> float:
    match = DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    length = float(match[1]) * SECONDS[match[2]] if match else value
    if isinstance(length, bool) or not isinstance(length, int | float | timedelta):
        raise ValueError('use seconds, a timedelta, or text such as "30s", "5m", "1h", "7d"')
    found = as_seconds(length)
    if found is None or found > LONGEST:
        raise ValueError("use at most 100 years")
    return found


def period(value: object) -> float:
    found = seconds(value)
    if found <= 0:
        raise ValueError("use a time above 0")
    return found


def timeout(value: Any) -> Any:
    return value if callable(value) else period(value)


def periods(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value or not all(isinstance(each, str) and each for each in value):
        raise ValueError('use a dict with a time per name, such as {"report": "10m", "export": "2h"}')
    return {each: period(length) for each, length in value.items()}


def retention(value: object) -> dict[str, timedelta]:
    given = value if isinstance(value, Mapping) else dict.fromkeys(ENDS, value)
    if not given or not set(given) <= set(ENDS):
        raise ValueError('use a time such as "30d", or a dict with times for some of ' + ", ".join(ENDS))
    return {state: timedelta(seconds=seconds(length)) for state, length in given.items()}


def rate(value: object) -> tuple[int, float]:
    pair: object = value
    if isinstance(value, str) and (match := RATE.fullmatch(value.strip())):
        pair = (int(match[1]), PERIODS.get(match[2], match[2]))
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError('use text such as "10/minute" or "5/30s", or a pair (10, 60) of number and seconds')
    count, length = pair
    return whole(count, low=1, high=1_000_000_000), period(length)


def memory(value: object) -> int:
    match = MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    size = int(float(match[1]) * 1024 ** {"M": 2, "G": 3}[match[2]]) if match else value
    if isinstance(size, bool) or not isinstance(size, int) or size < LEAST_MEMORY:
        raise ValueError('use bytes, or text such as "512MB" or "2GB", of 64 MB at least')
    return size


def moment(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise ValueError("use a datetime")
    if value.utcoffset() is None:
        raise ValueError("it has no time zone; use timezone.now() + timedelta(...) or timezone.make_aware(...)")
    if value.year not in YEARS:  # at the ends of the calendar no other zone can tell it
        raise ValueError(f"use a year from {YEARS[0]} to {YEARS[-1]}")
    return value


def uuid(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    raise ValueError("use the id of a run, a UUID")


def mapping(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError("use a dict")


def backoff(value: object) -> Backoff:
    if isinstance(value, Backoff):
        return value
    raise ValueError("use a Backoff, such as Backoff(base=60)")


def preset(value: object) -> Preset:
    return value if isinstance(value, Preset) else get_preset(str(value))


def from_payload(value: Any) -> Any:
    if callable(value) or (isinstance(value, str) and value.isidentifier()):
        return value
    raise ValueError("use the name of a payload field, or a callable that gets the payload")


def function(value: Any) -> Any:
    if callable(value):
        return value
    raise ValueError("use a function")


def policy_key(value: Any) -> Any:
    return value if isinstance(value, bool) else from_payload(value)


def errors(value: object) -> tuple[type[BaseException], ...]:
    classes = tuple(value) if isinstance(value, tuple | list) else (value,)
    if all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):
        return classes
    raise ValueError("use an exception class, or a tuple of them")


def permission(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"\w+\.\w+", value):
        return value
    raise ValueError('use "app_label.codename"')
