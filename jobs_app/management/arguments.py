"""How words on the command line are read."""

from __future__ import annotations

import argparse
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import CommandParser

from jobs_app import values
from jobs_app.capacity import Demand
from jobs_app.logs import FORMATTERS

LOG_LEVELS = {0: logging.ERROR, 1: logging.INFO, 2: logging.DEBUG, 3: logging.DEBUG}  # by --verbosity
LAST_PORT = 65535
FORMATS = ("table", "json")


def add_common_arguments(parser: CommandParser, *, formats: bool = True) -> None:
    """What may stand behind each verb, and behind what a verb is told to do: also Django's own options, where people
    write them. None has a default, which would undo what was said further to the left."""
    unsaid: Any = {"default": argparse.SUPPRESS}
    hidden: Any = {**unsaid, "help": argparse.SUPPRESS}
    if formats:
        told = "for people, or for programs; table if left out"
        parser.add_argument("--format", choices=FORMATS, help=told, **unsaid)
    for name in ("--settings", "--pythonpath"):
        parser.add_argument(name, **hidden)
    parser.add_argument("-v", "--verbosity", type=int, choices=range(4), **hidden)
    for name in ("--traceback", "--no-color", "--force-color"):
        parser.add_argument(name, action="store_true", **hidden)


def add_log_format(parser: CommandParser) -> None:
    """Of a process that works until it is stopped."""
    told = "the form of log lines where the project's LOGGING says nothing; text if left out"
    parser.add_argument("--log-format", choices=list(FORMATTERS), default="text", help=told)


def seconds(text: str) -> float:
    """A number of seconds, or `30s`, `5m`, `1h`, `7d`."""
    try:
        return values.seconds(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"use seconds, or a time such as 30s, 5m, 2h or 7d, not {text!r}") from None


def period(text: str) -> float:
    """Seconds, more than none."""
    if (found := seconds(text)) > 0:
        return found
    raise argparse.ArgumentTypeError("use a time above 0")


def moment(text: str) -> datetime:
    """An ISO date, or a date and a time, of UTC unless it has a zone."""
    try:
        at = datetime.fromisoformat(text)
        return values.moment(at if at.utcoffset() is not None else at.replace(tzinfo=UTC))
    except ValueError:
        raise argparse.ArgumentTypeError(f"use a date and a time, as 2026-01-31T09:00:00Z, not {text!r}") from None


def since(text: str) -> datetime | timedelta:
    """A date, or a date and a time, of UTC unless it has a zone; or a time ago, as `2h`."""
    if values.DURATION.fullmatch(text):
        return timedelta(seconds=seconds(text))
    try:
        return moment(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"use a time ago, as 2h, or a moment, as 2026-01-31T09:00:00Z, not {text!r}"
        ) from None


def names(text: str) -> tuple[str, ...]:
    """Several names, as `mail,sync`."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def positive(text: str) -> int:
    """A whole number above 0."""
    if text.isdecimal() and (number := int(text)) > 0:
        return number
    raise argparse.ArgumentTypeError(f"use a whole number above 0, not {text!r}")


def port(text: str) -> int:
    if (number := positive(text)) <= LAST_PORT:
        return number
    raise argparse.ArgumentTypeError(f"use a port from 1 to {LAST_PORT}, not {text}")


def demand(text: str) -> Demand:
    """A job type, its jobs an hour and the time of each, as `deal:4:5m`. A name may have colons too."""
    name, *rest = text.rsplit(":", 2)
    if not name or len(rest) != 2 or not rest[0].replace(".", "", 1).isdecimal():
        raise argparse.ArgumentTypeError(f"use a name, jobs an hour and a time, as deal:4:5m, not {text!r}")
    return Demand(name, float(rest[0]), seconds(rest[1]) / 60)
